"""Distributions given by curves at fixed times, such as those of Cox regression and random forests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import pad

from .._types import FloatArray
from ..checks import Seed, Whole, check_event, check_times
from ..primitives import Mixture, Weibull
from .base import SurvivalDistribution
from .competing import CompetingDistribution
from .single import MixtureDistribution

__all__ = ["GridDistribution"]


class GridDistribution(SurvivalDistribution):
    """Cumulative incidences at fixed times, linear in between; beyond the last time the tail of another distribution.

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
    survived_to : Tensor, optional
        The times to which the rows survived, ``[rows]``; None if nothing is known.

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
        survived_to: Tensor | None = None,
    ) -> None:
        super().__init__(survived_to)
        self._times = times
        self._incidences = incidences
        self._nets = nets
        self._tail = tail
        self._survival = (1.0 - incidences.sum(1)).clamp(min=0.0)  # [rows, times]
        areas = (self._survival[:, 1:] + self._survival[:, :-1]) / 2 * torch.diff(times)
        self._areas = pad(areas.cumsum(1), (1, 0))

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

        def by_row(curves: FloatArray) -> Tensor:
            """Return ``[rows, events, times]``."""
            return torch.as_tensor(np.moveaxis(curves, 0, 1).copy(), dtype=torch.float64)

        rising = pad(by_row(incidences), (1, 0)).cummax(-1).values
        if nets is None:
            survival = (1.0 - rising.sum(1, keepdim=True)).clamp(min=0.0)[..., :-1]
            hazards = (torch.diff(rising) / survival).nan_to_num(0.0).clamp(max=1.0)
            net = pad((1.0 - hazards).cumprod(-1), (1, 0), value=1.0)
        else:
            net = pad(by_row(nets), (1, 0), value=1.0).cummin(-1).values
        grid = pad(torch.as_tensor(times, dtype=torch.float64), (1, 0))
        if tail is None:
            tail = _constant_hazards(grid[-1], net[..., -1])
        return cls(grid, rising, net, tail)

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
        net = self._nets[:, event - 1 : event]
        tail = self._tail.net(event)
        return GridDistribution(self._times, 1.0 - net, net, tail, self._survived_to)

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
        times = torch.as_tensor(check_times(t, "t"))
        last, start = self._times[-1], self._start()
        inside = torch.maximum(times, start).clamp(max=last)
        before = self._interpolate(self._incidences, start.clamp(max=last))
        incidences = self._interpolate(self._incidences, inside) - before  # [rows, events, times]
        is_late = times > last
        if is_late.any():
            begin = start.clamp(min=last)
            tail = self._tail.given(begin[:, 0].numpy()).cumulative_incidences(times[is_late])
            survival = torch.exp(self._log_survival(begin))[..., None]
            incidences[..., is_late] += survival * torch.as_tensor(tail).transpose(0, 1)
        incidences /= torch.exp(self._log_survival_at_start())[..., None]
        return incidences.transpose(0, 1).contiguous().numpy()

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
        log_s = -torch.as_tensor(rng.standard_exponential((len(self), n)))
        times = self._invert(log_s + self._log_survival_at_start())
        times = torch.maximum(times, self._start())
        if self.n_events == 1:
            return times.numpy()
        panel = self._panel(times, side="left")
        mass = torch.diff(self._incidences)  # [rows, events, panels]
        share = mass.gather(2, panel[:, None].expand(-1, self.n_events, -1)).cumsum(1)
        drawn = torch.as_tensor(rng.random((len(self), 1, n))) * share[:, -1:]
        events = (drawn > share).sum(1).clamp(max=self.n_events - 1).numpy() + 1
        is_late = times > self._times[-1]
        if is_late.any():
            begin = self._start().clamp(min=self._times[-1])[:, 0].numpy()
            late_times, late_events = self._tail.given(begin).sample(n, int(rng.integers(2**63)))
            times = torch.where(is_late, torch.as_tensor(late_times), times)
            events = np.where(is_late, late_events, events)
        return times.numpy(), events

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        incidences, nets = self._incidences[rows], self._nets[rows]
        tail = self._tail._select(rows, None)
        return type(self)(self._times, incidences, nets, tail, survived_to)

    def _panel(self, t: Tensor, side: str = "right") -> Tensor:
        """Return the index of the grid time at which each time's panel begins."""
        return (
            torch.searchsorted(self._times, t.contiguous(), side=side).clamp(
                1, len(self._times) - 1
            )
            - 1
        )

    def _interpolate(self, curves: Tensor, t: Tensor) -> Tensor:
        """Return curves ``[rows, ..., grid]`` at times ``[rows, times]`` up to the last one."""
        panel = self._panel(t)
        share = (t - self._times[panel]) / (self._times[panel + 1] - self._times[panel])
        if curves.dim() == 3:
            panel = panel[:, None].expand(-1, curves.shape[1], -1)
            share = share[:, None]
        before, after = curves.gather(-1, panel), curves.gather(-1, panel + 1)
        return torch.lerp(before, after, share.clamp(0.0, 1.0))

    def _beyond(self, log_tail: Callable[[Tensor], Tensor], t: Tensor) -> Tensor:
        """Return a log function of the tail behind the last time, among all from the origin on."""
        last = self._times[-1]
        at_last = self._tail._log_survival(last.expand(len(self), 1))
        return torch.log(self._survival[:, -1:]) + log_tail(t.clamp(min=last)) - at_last

    def _log_survival(self, t: Tensor) -> Tensor:
        inside = torch.log(self._interpolate(self._survival, t))
        beyond = self._beyond(self._tail._log_survival, t)
        return torch.where(t > self._times[-1], beyond, inside)

    def _log_cdf(self, t: Tensor) -> Tensor:
        inside = torch.log(self._interpolate(1.0 - self._survival, t))
        beyond = torch.log(-torch.expm1(self._beyond(self._tail._log_survival, t)))
        return torch.where(t > self._times[-1], beyond, inside)

    def _log_pdf(self, t: Tensor) -> Tensor:
        slope = -torch.diff(self._survival) / torch.diff(self._times)
        inside = torch.log(slope.gather(1, self._panel(t)))
        return torch.where(t > self._times[-1], self._beyond(self._tail._log_pdf, t), inside)

    def _invert(self, log_s: Tensor) -> Tensor:
        level = torch.exp(log_s)
        rising = self._survival.flip(1).contiguous()
        panel = rising.shape[1] - torch.searchsorted(rising, level.contiguous(), side="right")
        panel = panel.clamp(1, rising.shape[1] - 1) - 1
        before, after = self._survival.gather(1, panel), self._survival.gather(1, panel + 1)
        share = ((before - level) / (before - after)).nan_to_num(1.0).clamp(0.0, 1.0)
        inside = torch.lerp(self._times[panel], self._times[panel + 1], share)
        is_late = level < self._survival[:, -1:]
        if not is_late.any():
            return inside
        last = self._times[-1]
        log_tail = log_s - torch.log(self._survival[:, -1:])
        log_tail = log_tail + self._tail._log_survival(last.expand(len(self), 1))
        beyond = self._tail._invert(torch.where(is_late, log_tail, -1.0)).clamp(min=last)
        return torch.where(is_late, beyond, inside)

    def _area(self, t: Tensor) -> Tensor:
        """Return the integral of S from 0 to t, ``[rows, times]``."""
        last = self._times[-1]
        inside = t.clamp(max=last)
        panel = self._panel(inside)
        height = (self._survival.gather(1, panel) + self._interpolate(self._survival, inside)) / 2
        area = self._areas.gather(1, panel) + (inside - self._times[panel]) * height
        if not (t > last).any():
            return area
        tail = self._tail._select(slice(None), last.expand(len(self)))
        return area + self._survival[:, -1:] * (tail._rmst(t.clamp(min=last)) - last)

    def _rmst(self, t: Tensor) -> Tensor:
        start = self._start()
        area = self._area(torch.maximum(t, start)) - self._area(start)
        return torch.minimum(t, start) + area / torch.exp(self._log_survival_at_start())

    def _mean(self) -> Tensor:
        begin = self._start().clamp(min=self._times[-1])
        beyond = self._tail._select(slice(None), begin[:, 0])._mean() - begin
        survival = torch.exp(self._log_survival(begin) - self._log_survival_at_start())
        return self._rmst(begin) + torch.where(survival > 0, survival * beyond, 0.0)


def _constant_hazards(last: Tensor, net: Tensor) -> SurvivalDistribution:
    """Return exponential distributions with the mean hazards up to the last time; net survival ``[rows, events]``."""
    hazard = (-torch.log(net.clamp(min=1e-12))).clamp(min=1e-6) / last
    parameters = torch.zeros_like(hazard), -torch.log(hazard)
    if net.shape[1] == 1:
        return MixtureDistribution(Mixture(torch.zeros_like(hazard), Weibull(*parameters)))
    wide = [value[None, ..., None] for value in parameters]
    return CompetingDistribution(Mixture(torch.zeros_like(wide[0]), Weibull(*wide)))
