"""The joint distribution of competing events: independent latent times given the covariates, and their minimum.

An ensemble averages the joint distributions of its members, ``S = mean_a prod_j S_aj`` and ``F_m = mean_a F_am``;
incidences are never rebuilt from averaged net curves.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..checks import Seed, Whole, check_event, check_times
from ..primitives import Mixture
from .base import SurvivalDistribution
from .quadrature import integrate
from .single import MixtureDistribution

__all__ = ["CompetingDistribution"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9  # of one panel of an incidence
_NEGLIGIBLE = -32.0  # log probability that is left out at the beginning of an integral


class CompetingDistribution(SurvivalDistribution):
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
            survived = self._by_event("log_survival", self._since_column())[..., 0]  # [members, rows, events]
            log_member = torch.log_softmax(survived.sum(-1), dim=0) - survived[..., event - 1]
            log_weights = log_weights + log_member[..., None]
        flat = Mixture(log_weights, own.components).map(lambda values: values.transpose(0, 1).flatten(1))
        return MixtureDistribution(Mixture(torch.log_softmax(flat.log_weights, dim=-1), flat.components), self._since)

    def cumulative_incidence(self, t: ArrayLike, event: int = 1) -> Floats:
        """Return ``F_m(t)``, the probability that the event m comes first and by time t.

        The integral of ``f_m(s) prod_{j != m} S_j(s)``. With all events, ``sum_m F_m(t) + S(t) = 1``.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.
        event : int, default 1
            The event type m, from 1 on.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Probabilities.
        """
        event = check_event(event, self.n_events)
        return self.cumulative_incidences(t)[event - 1]

    def cumulative_incidences(self, t: ArrayLike) -> Floats:
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
        n_values = len(times) * self.n_events
        flat = self._by_chunk(lambda part: part._incidences(torch.as_tensor(times)).flatten(1), n_values)
        return np.moveaxis(flat.reshape(len(self), len(times), self.n_events), 2, 0)

    @torch.no_grad()
    def sample(self, n: int, random_state: int | None = None) -> tuple[Floats, NDArray[np.int64]]:
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
        drawn = torch.searchsorted(share.cumsum(-1), torch.as_tensor(rng.random((len(self), n)))).clamp(max=members - 1)
        rows = torch.arange(len(self))[:, None]
        chosen = self._mixtures.map(lambda values: values[drawn, rows])  # [rows, n, events, k]
        since = None if self._since is None else self._since.repeat_interleave(n)
        latent = [
            MixtureDistribution(chosen.map(lambda values, e=event: values[:, :, e].flatten(0, 1)), since).sample(
                1, int(rng.integers(2**63))
            )
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
        mixtures = self._mixtures.map(lambda values: values[:, :, :, None])  # [members, rows, events, 1, k]
        result: Tensor = getattr(mixtures, name)(t[None, :, None])
        return result

    def _average(self, by_member: Tensor) -> Tensor:
        return torch.logsumexp(by_member, dim=0) - np.log(by_member.shape[0])

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._average(self._by_event("log_survival", t).sum(2))

    def _log_cdf(self, t: Tensor) -> Tensor:
        return torch.log(-torch.expm1(self._log_survival(t)))

    def _log_pdf(self, t: Tensor) -> Tensor:
        survival, pdf = self._by_event("log_survival", t), self._by_event("log_pdf", t)
        return self._average(survival.sum(2) + torch.logsumexp(pdf - survival, dim=2))

    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        # One member: all events have S_j above the share below, so the minimum is later; and it is earlier than the
        # latest component of any one event. The average of the members lies between the earliest and the latest.
        components = self._mixtures.components.map(lambda values: values[:, :, :, None])
        levels = log_s[None, :, None, :, None]
        early = torch.log(components.inverse_log_survival(levels / self.n_events)).amin(dim=(0, 2, 4))
        late = torch.log(components.inverse_log_survival(levels)).amax(-1).amin(2).amax(0)
        return early - 1e-6, late + 1e-6

    def _incidences(self, times: Tensor) -> Tensor:
        """Return ``[rows, times, events]``, given survival to ``since``.

        Every member is integrated by itself, over panels between the times asked for and the components' medians, and
        relative to the probability of survival to ``since``, however small that is.
        """
        members, n_rows, n_events, _ = self._mixtures.log_weights.shape
        mixtures = self._mixtures.map(lambda values: values.flatten(0, 1))  # [members x rows, events, k]
        log_t = torch.log(self._no_earlier(times[None].expand(n_rows, -1))).repeat(members, 1)
        since = torch.log(self._since_column()).repeat(members, 1)
        base = self._log_survival_at_since()[:, 0].repeat(members)
        edges, place = _panels(mixtures, log_t, since)

        def integrand(rows: Tensor, x: Tensor) -> Tensor:
            log_survival, hazard = _survival_and_hazard(mixtures, rows, x.T)
            together = torch.exp(log_survival.sum(0) - base[rows])
            return (hazard * together).permute(2, 1, 0)

        def mass(rows: Tensor, low: Tensor, high: Tensor) -> Tensor:
            here = mixtures.map(lambda values: values[rows][:, :, None])  # [p, events, 1, k]
            at = torch.exp(torch.stack([low, high], -1))[:, None].expand(-1, n_events, -1)
            log_s = here.log_survival(at).sum(1)
            return torch.exp(log_s[:, 0] - base[rows]) * -torch.expm1(log_s[:, 1] - log_s[:, 0])

        parts = integrate(integrand, edges[:, :-1], edges[:, 1:], _TOLERANCE, mass)
        cumulative = torch.cat([torch.zeros_like(parts[:, :1]), parts.cumsum(1)], dim=1)  # [., edges, events]
        found = cumulative.gather(1, place[..., None].expand(-1, -1, n_events))
        return found.view(members, n_rows, len(times), n_events).mean(0)

    def _rmst(self, t: Tensor) -> Tensor:
        return self._integrated_survival(t)

    def _integrated_survival(self, t: Tensor) -> Tensor:
        """Integrate S from 0 to the times, ``[rows, times]``."""
        mixtures = self._mixtures.map(
            lambda values: values.transpose(0, 1).flatten(1, 2)
        )  # [rows, members x events, k]
        edges, place = _panels(mixtures, torch.log(t), torch.full_like(t[:, :1], -torch.inf))

        def integrand(rows: Tensor, x: Tensor) -> Tensor:
            part = self._take(rows)
            return torch.exp(part._log_survival(torch.exp(x)) + x)[..., None]

        half = mixtures.components.inverse_log_survival(torch.full_like(mixtures.log_weights, np.log(0.5)))
        tolerance = 1e-10 * torch.minimum(t.amax(1), half.amin(-1).amin(-1)).clamp(min=1e-300)
        parts = integrate(integrand, edges[:, :-1], edges[:, 1:], tolerance)[..., 0]
        start = torch.exp(edges[:, :1])  # S is 1 up to the first edge
        return torch.cat([torch.zeros_like(start), parts.cumsum(1)], dim=1).gather(1, place) + torch.minimum(start, t)

    def _tail_index(self) -> Tensor:
        return self._mixtures.components.tail_index().amin(-1).sum(-1).amin(0)[:, None]  # of the slowest member

    def _mean_beyond(self, t: Tensor) -> Tensor:
        """Integrate S to where only its power-law tail is left, if it has one, and add that."""
        components = self._mixtures.components
        index = components.tail_index().amin(-1).sum(-1)[..., None]  # [members, rows, 1]
        far = components.inverse_log_survival(torch.full_like(self._mixtures.log_weights, -600.0))
        last = torch.maximum(far.amax(dim=(0, 2, 3))[:, None], 10 * t).clamp(max=1e300)
        stops = [t, last]
        if bool(torch.isfinite(index).any()):  # a long way to the end, on which the panels must find where S is
            stops = [t, torch.minimum(torch.maximum(self._conditional_quantiles(), t), last), last]
        inside = self._integrated_survival(torch.cat(stops, dim=1))
        tail = (last * torch.exp(self._by_event("log_survival", last).sum(2)) / (index - 1)).mean(0)
        return torch.where(index.amin(0) > 1, inside[:, -1:] - inside[:, :1] + tail, torch.inf)


def _panels(mixtures: Mixture, log_t: Tensor, since: Tensor) -> tuple[Tensor, Tensor]:
    """Return the edges of the panels in log time, ``[rows, edges]``, and where the times stand among them.

    mixtures: ``[rows, events, k]``; log_t: ``[rows, times]``; since: ``[rows, 1]``. The edges are the times, the
    components' medians as far as they lie before the last time, and a beginning: ``since``, or where nothing has
    happened yet.
    """
    levels = torch.full_like(mixtures.log_weights, np.log(0.5))
    medians = torch.log(mixtures.components.inverse_log_survival(levels)).flatten(1)
    nothing = torch.log(
        mixtures.components.inverse_log_survival(torch.full_like(levels, -np.exp(_NEGLIGIBLE)))
    ).flatten(1)
    last = log_t.amax(1, keepdim=True).clamp(min=-700)
    start = torch.minimum(torch.maximum(nothing.amin(1, keepdim=True), since), last)
    inner = torch.minimum(torch.maximum(medians, start), last)
    ends = torch.maximum(log_t, start)
    edges = torch.cat([start, inner, ends], dim=1).sort(dim=1).values
    return edges, torch.searchsorted(edges, ends)


def _survival_and_hazard(mixtures: Mixture, rows: Tensor, log_t: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``log S`` and the hazard on the axis of log time of each event type by itself, ``[events, nodes, p]``.

    The slope of a component's log survival in z is minus its hazard, so one pass gives both. The rows ``[p]`` are the
    last axis, as that of the log times ``[nodes, p]``: sums over components run along memory.
    """
    log_weights, *parameters = (
        values[rows].permute(1, 2, 0)[:, :, None]  # [events, k, 1, p]
        for values in (mixtures.log_weights, *mixtures.components.parameters)
    )
    log_survival, slope = type(mixtures.components)(*parameters).log_survival_and_slope(log_t)
    joint = log_survival.add_(log_weights)
    total = torch.logsumexp(joint, dim=1)
    share = joint.sub_(total[:, None]).exp_()
    return total, share.mul_(slope).sum(1).neg_()
