"""A mixture of primitives with weights that differ from row to row; the last axis is the component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .base import Primitive
from .stable import log_mean_of_survivors

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False)
class Mixture:
    """``S(t) = sum_k w_k S_k(t)``; times have the shape of the weights without their last axis.

    Parameters
    ----------
    log_weights : Tensor
        Logarithms of the weights, ``[..., k]``; the weights add up to 1 in the last axis.
    components : Primitive
        The components, parameters ``[..., k]``.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Mixture, Weibull
    >>> halves = torch.tensor([0.5, 0.5]).log()
    >>> mixture = Mixture(halves, Weibull(log_shape=torch.zeros(2), log_scale=torch.tensor([0.0, 1.0])))
    >>> mixture.log_survival(torch.tensor(1.0)).exp()
    tensor(0.5300)
    """

    log_weights: Tensor  # [..., k], sums to 1 in the last axis
    components: Primitive  # [..., k]

    def map(self, function: Any) -> Self:
        """Return the mixture with a function applied to weights and parameters.

        Parameters
        ----------
        function : callable
            An index, a reshape, a cast.

        Returns
        -------
        Mixture
            A new one.
        """
        return type(self)(function(self.log_weights), self.components.map(function))

    def log_pdf(self, t: Tensor) -> Tensor:
        """``log sum_k w_k f_k(t)``.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log density.
        """
        return self.log_mix(self.components.log_pdf(t[..., None]))

    def log_survival(self, t: Tensor) -> Tensor:
        """``log sum_k w_k S_k(t)``.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log survival probability.
        """
        return self.log_mix(self.components.log_survival(t[..., None]))

    def log_cdf(self, t: Tensor) -> Tensor:
        """``log sum_k w_k F_k(t)``.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log distribution function.
        """
        return self.log_mix(self.components.log_cdf(t[..., None]))

    def log_hazard(self, t: Tensor) -> Tensor:
        """``log f(t) / S(t)``: the mean of the components' hazards among those who survived.

        Parameters
        ----------
        t : Tensor
            Times, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log hazard, without the difference of two large numbers.
        """
        survived = self.log_weights + self.components.log_survival(t[..., None])
        return log_mean_of_survivors(survived, self.components.log_hazard(t[..., None]), dim=-1)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log sum_k w_k P_k(lower < T <= upper)``.

        Parameters
        ----------
        lower, upper : Tensor
            The ends of the intervals, of the shape of the weights without their last axis.

        Returns
        -------
        Tensor
            The log probability.
        """
        return self.log_mix(self.components.log_interval(lower[..., None], upper[..., None]))

    def log_mix(self, values: Tensor) -> Tensor:
        """``log sum_k w_k exp(values_k)``: the exact likelihood.

        Parameters
        ----------
        values : Tensor
            One per component, ``[..., k]``.

        Returns
        -------
        Tensor
            The logarithm of the mean.
        """
        return torch.logsumexp(self.log_weights + values, dim=-1)

    def expect(self, values: Tensor) -> Tensor:
        """``sum_k w_k values_k``: the paper's lower bound, by Jensen's inequality.

        Parameters
        ----------
        values : Tensor
            One per component, ``[..., k]``.

        Returns
        -------
        Tensor
            The mean.
        """
        return (self.log_weights.exp() * values).sum(-1)

    def given(self, log_survival: Tensor) -> Self:
        """Return the mixture with the weights of those who survived: ``w_k S_k / sum_j w_j S_j``.

        Parameters
        ----------
        log_survival : Tensor
            ``log S_k`` of every component, ``[..., k]``.

        Returns
        -------
        Mixture
            The same components with other weights.
        """
        return type(self)(
            torch.log_softmax(self.log_weights + log_survival, dim=-1), self.components
        )
