"""A mixture of primitives with weights that differ from row to row; the last axis is the component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .base import Primitive

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """``S(t) = sum_k w_k S_k(t)``; times have the shape of the weights without their last axis."""

    log_weights: Tensor  # [..., k], sums to 1 in the last axis
    components: Primitive  # [..., k]

    def map(self, function: Any) -> Self:
        """Return the mixture with a function applied to weights and parameters (an index, a cast)."""
        return type(self)(function(self.log_weights), self.components.map(function))

    def log_pdf(self, t: Tensor) -> Tensor:
        """``log sum_k w_k f_k(t)``."""
        return self.log_mix(self.components.log_pdf(t[..., None]))

    def log_survival(self, t: Tensor) -> Tensor:
        """``log sum_k w_k S_k(t)``."""
        return self.log_mix(self.components.log_survival(t[..., None]))

    def log_cdf(self, t: Tensor) -> Tensor:
        """``log sum_k w_k F_k(t)``."""
        return self.log_mix(self.components.log_cdf(t[..., None]))

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log sum_k w_k P_k(lower < T <= upper)``."""
        return self.log_mix(self.components.log_interval(lower[..., None], upper[..., None]))

    def log_mix(self, values: Tensor) -> Tensor:
        """``log sum_k w_k exp(values_k)``: the exact likelihood."""
        return torch.logsumexp(self.log_weights + values, dim=-1)

    def expect(self, values: Tensor) -> Tensor:
        """``sum_k w_k values_k``: the paper's lower bound, by Jensen's inequality."""
        return (self.log_weights.exp() * values).sum(-1)

    def given(self, log_survival: Tensor) -> Self:
        """Return the mixture with the weights of those who survived: ``w_k S_k / sum_j w_j S_j``."""
        return type(self)(torch.log_softmax(self.log_weights + log_survival, dim=-1), self.components)
