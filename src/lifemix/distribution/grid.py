"""Distributions known at some times only: the curves of Cox regression, forests and boosted trees."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray
from ..checks import Seed, Whole, check_event, check_times
from ..primitives import Mixture, Weibull
from .base import SurvivalDistribution
from .competing import CompetingDistribution
from .single import MixtureDistribution

__all__ = ["GridDistribution"]


class GridDistribution(SurvivalDistribution):
    """Cumulative incidences at some times, linear in between; beyond the last time the tail of another distribution.

    ``F_m(t) = F_m(T) + S(T) P(the tail has event m in (T, t] | it survives T)`` beyond the last time T, so that
    incidences and survival add up to 1 at all times.

    Parameters
    ----------
    times : Tensor
        0 and ascending times, ``[times]``.
    incidences : Tensor
        Cumulative incidences at the times, 0 at first, ``[rows, events, times]``.
    nets : Tensor
        Net survival at the times, 1 at first, ``[rows, events, times]``.
    tail : SurvivalDistribution
        Of the same rows and event types.
    since : Tensor, optional
        The times to which the rows are known to have survived, ``[rows]``; None for everyone from the origin.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.distribution import GridDistribution
    >>> half = GridDistribution.of(np.array([1.0, 2.0]), np.array([[[0.25, 0.5]]]))
    >>> half.survival([0.5, 1.5, 2.0])
    array([[0.875, 0.625, 0.5  ]])
    >>> half.given(1.0).quantile(0.2).round(3)
    array([[1.6]])
    """

    def __init__(
        self,
        times: Tensor,
        incidences: Tensor,
        nets: Tensor,
        tail: SurvivalDistribution,
        since: Tensor | None = None,
    ) -> None:
        super().__init__(since)
        self._times = times
        self._incidences = incidences
        self._nets = nets
        self._tail = tail
        self._curve = (1.0 - incidences.sum(1)).clamp(min=0.0)  # [rows, times]
        areas = (self._curve[:, 1:] + self._curve[:, :-1]) / 2 * torch.diff(times)
        self._areas = torch.cat([torch.zeros_like(self._curve[:, :1]), areas.cumsum(1)], dim=1)

    @classmethod
    def of(
        cls,
        times: FloatArray,
        incidences: FloatArray,
        nets: FloatArray | None = None,
        tail: SurvivalDistribution | None = None,
    ) -> GridDistribution:
        """Return the distributions with curves given at positive times.

        Parameters
        ----------
        times : array of shape (n_times,)
            Ascending, above 0.
        incidences : array of shape (n_events, n_rows, n_times)
            Cumulative incidences.
        nets : array of shape (n_events, n_rows, n_times), optional
            Net survival; None for what the incidences imply: ``prod (1 - dF_m / S)`` over the times.
        tail : SurvivalDistribution, optional
            What follows the last time; None for constant hazards, the mean ones up to there.

        Returns
        -------
        GridDistribution
            One per row.
        """
        known = torch.as_tensor(
            np.ascontiguousarray(np.moveaxis(incidences, 0, 1)), dtype=torch.float64
        )
        known = torch.cat([torch.zeros_like(known[..., :1]), known], dim=-1).cummax(-1).values
        if nets is None:
            left = (1.0 - known.sum(1, keepdim=True)).clamp(min=0.0)[..., :-1]
            hazards = (torch.diff(known) / left).nan_to_num(0.0).clamp(max=1.0)
            net = torch.cat([torch.ones_like(known[..., :1]), (1.0 - hazards).cumprod(-1)], dim=-1)
        else:
            net = torch.as_tensor(
                np.ascontiguousarray(np.moveaxis(nets, 0, 1)), dtype=torch.float64
            )
            net = torch.cat([torch.ones_like(net[..., :1]), net], dim=-1).cummin(-1).values
        grid = torch.cat(
            [torch.zeros(1, dtype=torch.float64), torch.as_tensor(times, dtype=torch.float64)]
        )
        return cls(
            grid, known, net, _constant_hazards(grid[-1], net[..., -1]) if tail is None else tail
        )

    def __len__(self) -> int:
        return self._incidences.shape[0]

    def __repr__(self) -> str:
        return f"<{len(self)} distributions given at {len(self._times) - 1} times>"

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._incidences.shape[1]

    def net(self, event: int = 1) -> GridDistribution:
        """Return the distribution of one event type by itself, as if the others did not exist.

        Parameters
        ----------
        event : int, default 1
            The event type, from 1 on.

        Returns
        -------
        GridDistribution
            The net distribution.
        """
        event = check_event(event, self.n_events)
        if self.n_events == 1:
            return self
        own = self._nets[:, event - 1 : event]
        return GridDistribution(self._times, 1.0 - own, own, self._tail.net(event), self._since)

    @torch.no_grad()
    def cumulative_incidences(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type.

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
        last = float(self._times[-1])
        inside = np.minimum(times, last)
        since = self._since_column()
        at = torch.maximum(
            torch.as_tensor(inside)[None].expand(len(self), -1), since.clamp(max=last)
        )
        known = self._at(self._incidences, at[:, None]) - self._at(
            self._incidences, since.clamp(max=last)[:, None]
        )
        left = torch.exp(self._log_survival_at_since())[:, None]
        found = known / left
        late = times > last
        if late.any():
            begin = since.clamp(min=last)
            tail = self._tail.given(begin[:, 0].numpy())
            beyond = torch.as_tensor(np.moveaxis(tail.cumulative_incidences(times[late]), 0, 1))
            found[..., torch.as_tensor(late)] += (
                beyond * torch.exp(self._log_survival(begin))[:, None] / left
            )
        return np.moveaxis(found.numpy(), 1, 0)

    @torch.no_grad()
    def sample(self, n: int, random_state: int | None = None) -> Any:
        """Draw times, and event types where there are several.

        Parameters
        ----------
        n : int
            How many for each row.
        random_state : int, optional
            The random seed; None for a fresh one.

        Returns
        -------
        ndarray of shape (n_rows, n), or a pair of such arrays
            Times, and event types.
        """
        n, rng = Whole(0)("n", n), np.random.default_rng(Seed()("random_state", random_state))
        log_s = (
            -torch.as_tensor(rng.standard_exponential((len(self), n)))
            + self._log_survival_at_since()
        )
        times = self._no_earlier(self._invert(log_s))
        if self.n_events == 1:
            return times.numpy()
        inside = torch.searchsorted(self._times, times.contiguous(), side="left").clamp(
            1, len(self._times) - 1
        )
        mass = torch.diff(self._incidences, dim=-1)  # [rows, events, panels]
        share = mass.gather(2, (inside - 1)[:, None].expand(-1, self.n_events, -1)).cumsum(1)
        drawn = torch.as_tensor(rng.random((len(self), 1, n))) * share[:, -1:]
        events = (drawn > share).sum(1).clamp(max=self.n_events - 1).numpy() + 1
        beyond = times > self._times[-1]
        if bool(beyond.any()):
            begin = self._since_column().clamp(min=float(self._times[-1]))[:, 0].numpy()
            late_times, late_events = self._tail.given(begin).sample(n, int(rng.integers(2**63)))
            times = torch.where(beyond, torch.as_tensor(late_times), times)
            events = np.where(beyond.numpy(), late_events, events)
        return times.numpy(), events

    @property
    def _width(self) -> int:
        return 4 + self._tail._width

    def _take(self, rows: Any) -> Self:
        since = None if self._since is None else self._since[rows]
        return type(self)(
            self._times, self._incidences[rows], self._nets[rows], self._tail._take(rows), since
        )

    def _with_since(self, since: Tensor) -> Self:
        return type(self)(self._times, self._incidences, self._nets, self._tail, since)

    def _at(self, values: Tensor, t: Tensor) -> Tensor:
        """Interpolate ``values``, ``[..., grid]``, at times up to the last one, ``[..., times]``."""
        right = torch.searchsorted(self._times, t.contiguous(), side="right").clamp(
            1, len(self._times) - 1
        )
        right = right.expand(*values.shape[:-1], right.shape[-1])
        share = (
            (t - self._times[right - 1]) / (self._times[right] - self._times[right - 1])
        ).clamp(0.0, 1.0)
        return torch.lerp(values.gather(-1, right - 1), values.gather(-1, right), share)

    def _beyond(self, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return which times lie beyond the last one, those times (others are the last one), and log S there."""
        last = self._times[-1]
        late = t > last
        end = torch.log(self._curve[:, -1:]) - self._tail._log_survival(last.expand(len(self), 1))
        return late, torch.where(late, t, last), end

    def _log_survival(self, t: Tensor) -> Tensor:
        late, at, end = self._beyond(t)
        inside = torch.log(self._at(self._curve, t))
        return (
            torch.where(late, end + self._tail._log_survival(at), inside)
            if bool(late.any())
            else inside
        )

    def _log_cdf(self, t: Tensor) -> Tensor:
        late = t > self._times[-1]
        inside = torch.log(self._at(1.0 - self._curve, t))
        return torch.where(late, torch.log(-torch.expm1(self._log_survival(t))), inside)

    def _log_pdf(self, t: Tensor) -> Tensor:
        late, at, end = self._beyond(t)
        right = torch.searchsorted(self._times, t.contiguous(), side="right").clamp(
            1, len(self._times) - 1
        )
        slope = -torch.diff(self._curve, dim=1) / torch.diff(self._times)
        inside = torch.log(slope.gather(1, right - 1))
        return torch.where(late, end + self._tail._log_pdf(at), inside)

    def _log_hazard(self, t: Tensor) -> Tensor:
        return self._log_pdf(t) - self._log_survival(t)

    def _invert(self, log_s: Tensor) -> Tensor:
        level = torch.exp(log_s)
        falling = self._curve.flip(1).contiguous()  # ascending
        place = (
            falling.shape[1] - torch.searchsorted(falling, level.contiguous(), side="right")
        ).clamp(1, falling.shape[1] - 1)
        before, after = self._curve.gather(1, place - 1), self._curve.gather(1, place)
        share = ((before - level) / (before - after)).nan_to_num(1.0).clamp(0.0, 1.0)
        inside = torch.lerp(self._times[place - 1], self._times[place], share)
        late = level < self._curve[:, -1:]
        if not bool(late.any()):
            return inside
        last = self._times[-1].expand(len(self), 1)
        moved = log_s - torch.log(self._curve[:, -1:]) + self._tail._log_survival(last)
        beyond = torch.maximum(self._tail._invert(torch.where(late, moved, -1.0)), last)
        return torch.where(late, beyond, inside)

    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        at = torch.log(self._invert(log_s))
        return at - 1e-6, at + 1e-6

    def _area(self, t: Tensor) -> Tensor:
        """Return the integral of S from 0 to t, ``[rows, times]``."""
        last = self._times[-1]
        early = t.clamp(max=float(last))
        right = torch.searchsorted(self._times, early.contiguous(), side="right").clamp(
            1, len(self._times) - 1
        )
        begin = self._times[right - 1]
        mean_height = (self._curve.gather(1, right - 1) + self._at(self._curve, early)) / 2
        inside = self._areas.gather(1, right - 1) + (early - begin) * mean_height
        if not bool((t > last).any()):
            return inside
        tail = self._tail._with_since(last.expand(len(self)))
        return inside + self._curve[:, -1:] * (tail._rmst(t.clamp(min=float(last))) - last)

    def _rmst(self, t: Tensor) -> Tensor:
        if self._since is None:
            return self._area(t)
        since = self._since_column()
        gained = (self._area(torch.maximum(t, since)) - self._area(since)) / torch.exp(
            self._log_survival(since)
        )
        return torch.minimum(t, since) + gained

    def _mean(self) -> Tensor:
        last = self._times[-1].expand(len(self), 1)
        begin = torch.maximum(last, self._since_column())
        rest = self._tail._with_since(begin[:, 0])._mean() - begin
        gone = torch.exp(self._log_survival(begin) - self._log_survival_at_since())
        return self._rmst(begin) + torch.where(gone > 0, gone * rest, 0.0)


def _constant_hazards(last: Tensor, net: Tensor) -> SurvivalDistribution:
    """Return exponential distributions with the mean hazards up to the last time; net survival ``[rows, events]``."""
    hazard = (-torch.log(net.clamp(min=1e-12))).clamp(min=1e-6) / last
    parameters = torch.zeros_like(hazard), -torch.log(hazard)
    if net.shape[1] == 1:
        return MixtureDistribution(Mixture(torch.zeros_like(hazard), Weibull(*parameters)))
    wide = [value[None, ..., None] for value in parameters]
    return CompetingDistribution(Mixture(torch.zeros_like(wide[0]), Weibull(*wide)))
