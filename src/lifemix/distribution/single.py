"""The distribution of the time to one event type: a mixture of primitives."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray, IntArray
from ..incidence import joint_survival, means, restricted_means
from ..primitives import Mixture, Primitive
from .base import SurvivalDistribution, choose

__all__ = ["MixtureDistribution"]


class MixtureDistribution(SurvivalDistribution):
    """``S(t) = sum_k w_k S_k(t)`` for each row; the members of an ensemble are components side by side.

    Parameters
    ----------
    mixture : Mixture
        Weights and components, ``[rows, k]``, in double precision.
    survived_to : Tensor, optional
        The times to which the rows survived, ``[rows]``; None for 0.

    Examples
    --------
    >>> import torch
    >>> from lifemix.distribution import MixtureDistribution
    >>> from lifemix.primitives import Mixture, Weibull
    >>> zero = torch.zeros(1, 1, dtype=torch.float64)
    >>> exponential = MixtureDistribution(Mixture(zero, Weibull(log_shape=zero, log_scale=zero)))
    >>> exponential.survival([0.0, 1.0]).round(4)
    array([[1.    , 0.3679]])
    >>> exponential.given(3.0).mean()  # it has no memory
    array([4.])
    """

    def __init__(self, mixture: Mixture, survived_to: Tensor | None = None) -> None:
        super().__init__(len(mixture.log_weights), survived_to)
        self._mixture = mixture  # [rows, k]

    @property
    def n_events(self) -> int:
        """The number of event types, which is one."""
        return 1

    @property
    def weights(self) -> FloatArray:
        """The weights of the components, ``(n_rows, k)``; after ``given(s)``, among those who survived to s."""
        log_survival = self.components.log_survival(self._start)
        return self._mixture.given(log_survival).log_weights.exp().numpy()

    @property
    def components(self) -> Primitive:
        """The primitives, parameters ``(n_rows, k)`` in the user's unit of time."""
        return self._mixture.components

    def _net(self, event: int) -> Self:
        return self

    def _incidences(self, times: Tensor) -> Tensor:
        def incidence(block: Self) -> Tensor:
            return -torch.expm1(block._log_conditional_survival(times))

        return torch.as_tensor(self._by_block(incidence, len(times)))[:, None]

    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        weights = torch.as_tensor(self.weights)
        n_rows, n_components = weights.shape
        component = choose(weights, n, rng)
        drawn = self.components.map(
            lambda values: values.expand(n_rows, n_components).gather(1, component)
        )
        log_s = drawn.log_survival(self._start)
        log_s = log_s - torch.as_tensor(rng.standard_exponential((n_rows, n)))
        times = drawn.inverse_log_survival(log_s)
        times = torch.maximum(times, self._start)
        return times.numpy(), np.ones((n_rows, n), dtype=np.int64)

    def _survival(self, t: Tensor) -> Tensor:
        return joint_survival(self._columns(), t, self._survived_to)

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        return type(self)(self._mixture.map(lambda values: values[rows]), survived_to)

    def _columns(self) -> Mixture:
        return self._mixture.map(lambda values: values[:, None])  # [rows, 1, k]

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._columns().log_survival(t)

    def _log_cdf(self, t: Tensor) -> Tensor:
        return self._columns().log_cdf(t)

    def _log_pdf(self, t: Tensor) -> Tensor:
        return self._columns().log_pdf(t)

    def _rmst(self, t: Tensor) -> Tensor:
        beyond = restricted_means(self._columns(), t, self._survived_to)
        return torch.minimum(t, self._start) + beyond

    def _mean(self) -> Tensor:
        return self._start + means(self._columns(), self._survived_to)
