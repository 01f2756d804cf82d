"""The distribution of the time to one event type: a mixture of primitives."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray
from ..checks import Seed, Whole, check_event, check_times
from ..primitives import Mixture, Primitive
from .components import ComponentDistribution

__all__ = ["MixtureDistribution"]

_FAST_CHUNK = 1 << 17  # numbers that stay in the processor's cache


class MixtureDistribution(ComponentDistribution):
    """``S(t) = sum_k w_k S_k(t)`` for each row; the members of an ensemble are components side by side.

    Parameters
    ----------
    mixture : Mixture
        Weights and components, ``[rows, k]``, in double precision.
    since : Tensor, optional
        The times to which the rows are known to have survived, ``[rows]``; None for everyone from the origin.

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

    def __init__(self, mixture: Mixture, since: Tensor | None = None) -> None:
        super().__init__(since)
        self._mixture = mixture  # [rows, k]

    def __len__(self) -> int:
        return self._mixture.log_weights.shape[0]

    def __repr__(self) -> str:
        primitive = type(self._mixture.components).__name__
        return f"<{len(self)} mixtures of {self._width} {primitive} components>"

    @property
    def n_events(self) -> int:
        """The number of event types, which is one."""
        return 1

    @property
    def weights(self) -> FloatArray:
        """The weights of the components, ``(n_rows, k)``; after ``given(s)``, among those who survived to s."""
        if self._since is None:
            return self._mixture.log_weights.exp().numpy()
        at_since = self._mixture.components.log_survival(self._since_column())
        return self._mixture.given(at_since).log_weights.exp().numpy()

    @property
    def components(self) -> Primitive:
        """The primitives, parameters ``(n_rows, k)`` in the user's unit of time."""
        return self._mixture.components

    def net(self, event: int = 1) -> MixtureDistribution:
        """Return the distribution of one event type by itself: with one event type, this one.

        Parameters
        ----------
        event : int, default 1
            The event type, which must be 1.

        Returns
        -------
        MixtureDistribution
            The same distribution.
        """
        check_event(event, 1)
        return self

    def cumulative_incidence(self, t: ArrayLike, event: int = 1) -> FloatArray:
        """Return the probability of the event up to t: ``1 - S(t)``.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.
        event : int, default 1
            The event type, which must be 1.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Probabilities.
        """
        self.net(event)

        def incidence(part: Self, times: Tensor) -> Tensor:
            return -torch.expm1(part._log_survival_since(times))

        return self._by_time(t, incidence)

    def cumulative_incidences(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type, which is one.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (1, n_rows, n_times)
            Probabilities.
        """
        return self.cumulative_incidence(t)[None]

    @torch.no_grad()
    def sample(self, n: int, random_state: int | None = None) -> FloatArray:
        """Draw times.

        Parameters
        ----------
        n : int
            How many for each row.
        random_state : int, optional
            The random seed; None for a fresh one.

        Returns
        -------
        ndarray of shape (n_rows, n)
            Times.
        """
        n, rng = Whole(0)("n", n), np.random.default_rng(Seed()("random_state", random_state))
        weights = torch.as_tensor(self.weights)
        uniform = torch.as_tensor(rng.random((len(self), n)))
        k = torch.searchsorted(weights.cumsum(-1), uniform).clamp(max=self._width - 1)
        drawn = self._mixture.components.map(
            lambda p: torch.broadcast_to(p, weights.shape).gather(1, k)
        )
        log_s = -torch.as_tensor(rng.standard_exponential((len(self), n)))
        if self._since is not None:
            log_s = log_s + drawn.log_survival(self._since_column())
        return self._no_earlier(drawn.inverse_log_survival(log_s)).numpy()

    @property
    def _width(self) -> int:
        return self._mixture.log_weights.shape[-1]

    def _take(self, rows: Any) -> Self:
        since = None if self._since is None else self._since[rows]
        return type(self)(self._mixture.map(lambda values: values[rows]), since)

    def _with_since(self, since: Tensor) -> Self:
        return type(self)(self._mixture, since)

    def _over_times(self) -> Mixture:
        return self._mixture.map(lambda values: values[:, None])  # [rows, 1, k]

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._over_times().log_survival(t)

    def _log_cdf(self, t: Tensor) -> Tensor:
        return self._over_times().log_cdf(t)

    def _log_pdf(self, t: Tensor) -> Tensor:
        return self._over_times().log_pdf(t)

    def _log_hazard(self, t: Tensor) -> Tensor:
        return self._over_times().log_hazard(t)

    def _log_survival_at(self, x: Tensor) -> Tensor:
        mixture = self._over_times()
        return mixture.log_mix(mixture.components.log_survival_and_slope(x[..., None])[0])

    @torch.no_grad()
    def survival(self, t: ArrayLike) -> FloatArray:  # noqa: D102, inherited
        if self._since is not None:
            return super().survival(t)
        times = check_times(t, "t")
        result = np.empty((len(self), len(times)))
        with np.errstate(divide="ignore"):
            self._mix(torch.as_tensor(np.log(times)), torch.as_tensor(result))
        result[:, times == 0] = 1.0
        return result

    def _mix(self, log_times: Tensor, result: Tensor) -> None:
        """Write the curves into the result, a few rows at a time, so that what lies between stays in the cache."""
        weights = self._mixture.log_weights.exp()[:, None]
        components = self._mixture.components.map(
            lambda parameter: parameter[..., None]
        )  # [rows, k, 1]
        size = max(1, _FAST_CHUNK // max(1, len(log_times) * self._width))
        space = torch.empty(min(size, len(self)), self._width, len(log_times), dtype=torch.float64)
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            own = result[rows]
            here = components
            if size < len(self):
                here = components.map(lambda parameter: parameter[rows])  # noqa: B023
            curves = here.survival_curve(log_times, space[: len(own)])
            torch.bmm(weights[rows], curves, out=own[:, None])
            own.clamp_(max=1.0)

    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        log_t = torch.log(self._over_times().components.inverse_log_survival(log_s[..., None]))
        return log_t.amin(-1) - 1e-6, log_t.amax(-1) + 1e-6

    def _all_components(self) -> Primitive:
        return self._mixture.components

    def _by_member_and_event(self) -> tuple[Mixture, int]:
        return self._mixture.map(lambda values: values[None]), 1

    def _rmst(self, t: Tensor) -> Tensor:
        if self._since is not None:
            return super()._rmst(t)
        mixture = self._over_times()
        return mixture.expect(mixture.components.rmst(t[..., None]))

    def _cured(self) -> Tensor:
        return self._mixture.expect(self._mixture.components.cure_fraction())[:, None]

    def _tail_index(self) -> Tensor:
        return self._mixture.components.tail_index().amin(-1, keepdim=True)

    def _mean(self) -> Tensor:
        if self._since is not None:
            return super()._mean()
        return self._mixture.expect(self._mixture.components.mean())[:, None]
