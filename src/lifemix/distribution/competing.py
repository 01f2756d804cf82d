"""The joint distribution of competing events: independent latent times given the covariates, and their minimum.

An ensemble averages the joint distributions of its members, ``S = mean_a prod_j S_aj`` and ``F_m = mean_a F_am``;
incidences are never rebuilt from averaged net curves.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray, IntArray
from ..checks import Seed, Whole, check_event, check_times
from ..errors import InputError
from ..primitives import Mixture, Primitive
from ..primitives.stable import log_mean_of_survivors
from .components import ComponentDistribution
from .incidence import adaptive_incidence
from .incidence_grid import incidences_at, net_survivals
from .incidence_panel import product_of
from .net_curves import NetCurves
from .scales import Scales
from .single import MixtureDistribution

__all__ = ["CompetingDistribution"]

_CHUNK = 1 << 20  # numbers of all events, members and times in one pass
_MORE_POINTS = 64  # than times, at which the curves are looked at
_FAST_CHUNK = 1 << 17  # numbers that stay in the processor's cache
_ORIGIN = -1e5  # stands for the logarithm of 0


class CompetingDistribution(ComponentDistribution):
    """The distribution of the time and the type of the first of several events, for each row.

    Parameters
    ----------
    mixtures : Mixture
        Weights and components of every member and event type, ``[members, rows, events, k]``, in double precision.
    since : Tensor, optional
        The times to which the rows are known to have survived, ``[rows]``; None for everyone from the origin.

    Examples
    --------
    >>> import torch
    >>> from lifemix.distribution import CompetingDistribution
    >>> from lifemix.primitives import Mixture, Weibull
    >>> zero = torch.zeros(1, 1, 2, 1, dtype=torch.float64)
    >>> two_exponentials = CompetingDistribution(Mixture(zero, Weibull(log_shape=zero, log_scale=zero)))
    >>> two_exponentials.cumulative_incidence([0.5, 100.0], event=1).round(4)
    array([[0.3161, 0.5   ]])
    >>> two_exponentials.net(1).survival(1.0).round(4)
    array([[0.3679]])
    """

    def __init__(self, mixtures: Mixture, since: Tensor | None = None) -> None:
        super().__init__(since)
        self._mixtures = mixtures  # [members, rows, events, k]

    def __len__(self) -> int:
        return self._mixtures.log_weights.shape[1]

    def __repr__(self) -> str:
        members, rows, events, k = self._mixtures.log_weights.shape
        primitive = type(self._mixtures.components).__name__
        return f"<{rows} distributions of {events} competing events, {members} x {k} {primitive} components each>"

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._mixtures.log_weights.shape[2]

    def net(self, event: int) -> MixtureDistribution:
        """Return the distribution of one event type by itself, as if the others did not exist (what the paper reports).

        The mean of the members' net distributions, each member weighted by its probability of survival to ``since``.

        Parameters
        ----------
        event : int
            The event type, from 1 on.

        Returns
        -------
        MixtureDistribution
            The net distribution.
        """
        event = check_event(event, self.n_events)
        own = self._mixtures.map(lambda values: values[:, :, event - 1])  # [members, rows, k]
        log_weights = own.log_weights
        if self._since is not None:
            survived = self._by_event("log_survival", self._since_column())[
                ..., 0
            ]  # [members, rows, events]
            log_member = torch.log_softmax(survived.sum(-1), dim=0) - survived[..., event - 1]
            log_weights = log_weights + log_member[..., None]
        flat = Mixture(log_weights, own.components).map(
            lambda values: values.transpose(0, 1).flatten(1)
        )
        return MixtureDistribution(
            Mixture(torch.log_softmax(flat.log_weights, dim=-1), flat.components), self._since
        )

    @torch.no_grad()
    def cumulative_incidences(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type, for the cost of one.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_events, n_rows, n_times)
            Probabilities.
        """
        times = check_times(t, "t")
        result = np.empty((self.n_events, len(self), len(times)))
        size = self._rows_at_once(len(times))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            result[:, rows] = self._take(rows)._incidences(times).numpy()
        return result

    @torch.no_grad()
    def own_incidences(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type at times of its own.

        Of many event types that is far less work than all of them at all of these times; the result is the same to
        1e-6.

        Parameters
        ----------
        t : array-like of shape (n_events, n_times)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_events, n_rows, n_times)
            Probabilities.

        Raises
        ------
        InputError
            If there is not one row of times for each event type.
        """
        times = np.asarray(t, dtype=np.float64)
        if times.ndim != 2 or len(times) != self.n_events:
            raise InputError(
                f"t must have shape ({self.n_events}, n_times), one row for each event type; got {times.shape}. "
                "Use cumulative_incidences for times that all event types share."
            )
        check_times(times.ravel(), "t")
        if self._since is not None or not (times > 0).any():
            return np.stack(
                [self.cumulative_incidence(own, event) for event, own in enumerate(times, 1)]
            )
        later = np.where(times > 0, times, times[times > 0].min())
        result = np.empty((self.n_events, len(self), times.shape[1]))
        members = len(self._mixtures.log_weights)
        size = self._rows_at_once(times.shape[1])
        for start in range(0, len(self), size):
            part = self._take(slice(start, start + size))
            found = (
                incidences_at(later, part._by_member_and_row())
                .unflatten(1, (members, len(part)))
                .mean(1)
            )
            result[:, start : start + size] = found.numpy()
        return np.where(times[:, None] > 0, result, 0.0)

    def _rows_at_once(self, n_times: int) -> int:
        return max(
            1,
            _CHUNK // ((n_times + _MORE_POINTS) * self.n_events * len(self._mixtures.log_weights)),
        )

    @torch.no_grad()
    def survival(self, t: ArrayLike) -> FloatArray:  # noqa: D102, inherited
        if self._since is not None:
            return super().survival(t)
        times = check_times(t, "t")
        log_times = torch.log(torch.as_tensor(times)).clamp(min=_ORIGIN)
        members, rows, events, k = self._mixtures.log_weights.shape
        result = torch.empty(rows, len(times), dtype=torch.float64)
        size = max(1, _FAST_CHUNK // max(1, len(times) * members * events * k))
        space = torch.empty(min(size, rows) * events * members, k, len(times), dtype=torch.float64)
        for start in range(0, rows, size):
            at = slice(start, start + size)
            own = self._mixtures.map(lambda values: values[:, at].movedim(2, 0).flatten(1, 2))  # noqa: B023
            together = product_of(net_survivals(own, log_times, space))  # [members x rows, times]
            torch.mean(together.view(members, -1, len(times)), dim=0, out=result[at])
        result[:, torch.as_tensor(times == 0)] = 1.0
        return result.numpy()

    @torch.no_grad()
    def sample(self, n: int, random_state: int | None = None) -> tuple[FloatArray, IntArray]:
        """Draw first events.

        Parameters
        ----------
        n : int
            How many for each row.
        random_state : int, optional
            The random seed; None for a fresh one.

        Returns
        -------
        tuple of ndarray of shape (n_rows, n)
            Times, and event types.
        """
        n, rng = Whole(0)("n", n), np.random.default_rng(Seed()("random_state", random_state))
        members = self._mixtures.log_weights.shape[0]
        if self._since is None:
            share = torch.full((len(self), members), 1 / members, dtype=torch.float64)
        else:
            survived = self._by_event("log_survival", self._since_column())[..., 0].sum(-1)
            share = torch.softmax(survived, dim=0).T
        drawn = torch.searchsorted(
            share.cumsum(-1), torch.as_tensor(rng.random((len(self), n)))
        ).clamp(max=members - 1)
        rows = torch.arange(len(self))[:, None]
        chosen = self._mixtures.map(lambda values: values[drawn, rows])  # [rows, n, events, k]
        since = None if self._since is None else self._since.repeat_interleave(n)
        latent = [
            MixtureDistribution(
                chosen.map(lambda values, e=event: values[:, :, e].flatten(0, 1)), since
            ).sample(1, int(rng.integers(2**63)))
            for event in range(self.n_events)
        ]
        times = np.concatenate(latent, axis=1).reshape(len(self), n, self.n_events)
        return times.min(-1), times.argmin(-1) + 1

    @property
    def _width(self) -> int:
        return int(np.prod(self._mixtures.log_weights.shape)) // max(1, len(self))

    def _take(self, rows: Any) -> Self:
        since = None if self._since is None else self._since[rows]
        return type(self)(self._mixtures.map(lambda values: values[:, rows]), since)

    def _with_since(self, since: Tensor) -> Self:
        return type(self)(self._mixtures, since)

    def _by_event(self, name: str, t: Tensor) -> Tensor:
        """Return a log function of every member and event type by itself, ``[members, rows, events, times]``."""
        mixtures = self._mixtures.map(
            lambda values: values[:, :, :, None]
        )  # [members, rows, events, 1, k]
        result: Tensor = getattr(mixtures, name)(t[None, :, None])
        return result

    def _average(self, by_member: Tensor) -> Tensor:
        return torch.logsumexp(by_member, dim=0) - np.log(by_member.shape[0])

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._average(self._by_event("log_survival", t).sum(2))

    def _log_cdf(self, t: Tensor) -> Tensor:
        survival, cdf = self._by_event("log_survival", t), self._by_event("log_cdf", t)
        cumulative_hazard = torch.where(cdf < -1.0, -torch.log1p(-torch.exp(cdf)), -survival).sum(2)
        return torch.log((-torch.expm1(-cumulative_hazard)).mean(0))

    def _log_pdf(self, t: Tensor) -> Tensor:
        survival, pdf = self._by_event("log_survival", t), self._by_event("log_pdf", t)
        return self._average(survival.sum(2) + torch.logsumexp(pdf - survival, dim=2))

    def _log_hazard(self, t: Tensor) -> Tensor:
        survival, hazard = self._by_event("log_survival", t), self._by_event("log_hazard", t)
        return log_mean_of_survivors(survival.sum(2), torch.logsumexp(hazard, dim=2), dim=0)

    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        # One member: all events have S_j above the share below, so the minimum is later; and it is earlier than the
        # latest component of any one event. The average of the members lies between the earliest and the latest.
        components = self._mixtures.components.map(lambda values: values[:, :, :, None])
        levels = log_s[None, :, None, :, None]
        early = torch.log(components.inverse_log_survival(levels / self.n_events)).amin(
            dim=(0, 2, 4)
        )
        late = torch.log(components.inverse_log_survival(levels)).amax(-1).amin(2).amax(0)
        return early - 1e-6, late + 1e-6

    def _by_member_and_row(self) -> Mixture:
        """Return the mixtures ``[events, members x rows, k]``."""
        return self._mixtures.map(lambda values: values.flatten(0, 1).transpose(0, 1).contiguous())

    def _incidences(self, times: FloatArray) -> Tensor:
        """Return ``[events, rows, times]``, given survival to ``since``."""
        if self._since is not None:
            return self._adaptive_incidences(torch.as_tensor(times))
        members, n_rows, n_events, _ = self._mixtures.log_weights.shape
        distinct, place = np.unique(times, return_inverse=True)
        later = distinct[distinct > 0]
        if len(later) == 0 or n_rows == 0:
            return torch.zeros(n_events, n_rows, len(times), dtype=torch.float64)
        found = incidences_at(later, self._by_member_and_row())
        found = found.unflatten(1, (members, n_rows)).mean(1) if members > 1 else found
        if len(later) < len(distinct):
            found = torch.nn.functional.pad(found, (1, 0))  # at the origin
        return (
            found
            if np.array_equal(place, np.arange(len(times)))
            else found[..., torch.from_numpy(place)]
        )

    def _adaptive_incidences(self, times: Tensor) -> Tensor:
        """Return ``[events, rows, times]``, given survival to ``since``, every member integrated by itself.

        Relative to the probability of survival to ``since``, however small that is. The first panel ends where the
        first component begins.
        """
        members, n_rows, n_events, _ = self._mixtures.log_weights.shape
        mixtures = self._by_member_and_row()
        scales = Scales.of(
            mixtures.components.map(lambda values: values.transpose(0, 1).flatten(1))
        )
        since = torch.log(self._since_column()).clamp(min=_ORIGIN).repeat(members, 1)
        base = self._log_survival_at_since()[:, 0].repeat(members)
        log_t = torch.log(self._no_earlier(times[None].expand(n_rows, -1))).clamp(min=_ORIGIN)
        ends, order = log_t.repeat(members, 1).sort(dim=1)
        begin = torch.minimum(torch.maximum(scales.start[:, None], since), ends[:, :1])
        edges = torch.cat([since, begin, ends], dim=1)
        rows = torch.arange(members * n_rows).repeat_interleave(edges.shape[1] - 1)
        lower, upper = edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1)
        seen = scales if self._since is None else scales.without_end()
        parts = adaptive_incidence(NetCurves(mixtures), seen, base, rows, lower, upper)
        sums = parts.view(members * n_rows, -1, n_events).cumsum(1)[:, 1:]
        found = torch.empty_like(sums).scatter_(1, order[..., None].expand_as(sums), sums)
        return found.view(members, n_rows, len(times), n_events).mean(0).permute(2, 0, 1)

    def _all_components(self) -> Primitive:
        return self._mixtures.components.map(lambda values: values.transpose(0, 1).flatten(1))

    def _log_survival_at(self, x: Tensor) -> Tensor:
        mixtures = self._mixtures.map(
            lambda values: values[:, :, :, None]
        )  # [members, rows, events, 1, k]
        of_components = mixtures.components.log_survival_and_slope(x[None, :, None, :, None])[0]
        return self._average(mixtures.log_mix(of_components).sum(2))

    def _cured(self) -> Tensor:
        return (
            self._mixtures.expect(self._mixtures.components.cure_fraction())
            .prod(2)
            .mean(0)[:, None]
        )

    def _by_member_and_event(self) -> tuple[Mixture, int]:
        joined = self._mixtures.map(lambda values: values.transpose(1, 2).flatten(0, 1))
        return joined, len(self._mixtures.log_weights)

    def _tail_index(self) -> Tensor:
        return (
            self._mixtures.components.tail_index().amin(-1).sum(-1).amin(0)[:, None]
        )  # of the slowest member
