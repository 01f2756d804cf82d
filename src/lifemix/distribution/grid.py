"""Distributions given by curves at fixed times, such as those of Cox regression and random forests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .._types import FloatArray, IntArray
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
        self._last = times[-1]
        self._incidence_curves = incidences
        self._nets = nets
        self._tail = tail
        self._survival = (1.0 - incidences.sum(1)).clamp(min=0.0)  # [rows, times]
        self._survival_to_last = self._survival[:, -1:]
        heights = (self._survival[:, 1:] + self._survival[:, :-1]) / 2
        areas = heights * torch.diff(times)
        self._areas = pad(areas.cumsum(1), (1, 0))  # [rows, times]

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
            survival = (1.0 - rising.sum(1, keepdim=True)).clamp(min=0.0)
            hazards = torch.diff(rising) / survival[..., :-1]
            hazards = hazards.nan_to_num(0.0).clamp(max=1.0)
            net = (1.0 - hazards).cumprod(-1)
            net = pad(net, (1, 0), value=1.0)
        else:
            net = pad(by_row(nets), (1, 0), value=1.0)
            net = net.cummin(-1).values
        grid = pad(torch.as_tensor(times, dtype=torch.float64), (1, 0))
        if tail is None:
            tail = _constant_hazards(grid[-1], net[..., -1])
        return cls(grid, rising, net, tail)

    def __len__(self) -> int:
        return self._incidence_curves.shape[0]

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._incidence_curves.shape[1]

    def _net(self, event: int) -> GridDistribution:
        net = self._nets[:, event - 1 : event]
        tail = self._tail.net(event)
        return GridDistribution(self._times, 1.0 - net, net, tail, self._survived_to)

    def _incidences(self, times: Tensor) -> Tensor:
        start = self._start()
        inside = torch.maximum(times, start).clamp(max=self._last)
        at_inside = self._interpolate(self._incidence_curves, inside)
        at_start = self._interpolate(self._incidence_curves, start.clamp(max=self._last))
        incidences = at_inside - at_start  # [rows, events, times]
        is_late = times > self._last
        if is_late.any():
            begin = start.clamp(min=self._last)
            tail = self._tail_given(begin)._incidences(times[is_late])
            survival = torch.exp(self._log_survival(begin))  # [rows, 1]
            incidences[..., is_late] += survival[..., None] * tail
        survival_to_start = torch.exp(self._log_survival_at_start())
        return incidences / survival_to_start[..., None]

    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        log_s = -torch.as_tensor(rng.standard_exponential((len(self), n)))
        times = self._invert(log_s + self._log_survival_at_start())
        times = torch.maximum(times, self._start())
        if self.n_events == 1:
            return times.numpy(), np.ones(times.shape, dtype=np.int64)
        panel = self._panel(times, side="left")[:, None]
        panel = panel.expand(-1, self.n_events, -1)
        mass = torch.diff(self._incidence_curves).gather(2, panel)  # [rows, events, n]
        upper_ends = mass.cumsum(1)
        uniform = torch.as_tensor(rng.random((len(self), 1, n)))
        is_later = uniform * upper_ends[:, -1:] > upper_ends
        events = is_later.sum(1).clamp(max=self.n_events - 1).numpy() + 1
        is_late = times > self._last
        if is_late.any():
            tail = self._tail_given(self._start().clamp(min=self._last))
            tail_rng = np.random.default_rng(rng.integers(2**63))
            late_times, late_events = tail._sample(n, tail_rng)
            times = torch.where(is_late, torch.as_tensor(late_times), times)
            events = np.where(is_late, late_events, events)
        return times.numpy(), events

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        curves, nets = self._incidence_curves[rows], self._nets[rows]
        tail = self._tail._select(rows, None)
        return type(self)(self._times, curves, nets, tail, survived_to)

    def _tail_given(self, begin: Tensor) -> SurvivalDistribution:
        """Return the tail given survival to ``begin``, ``[rows, 1]``."""
        return self._tail._select(slice(None), begin[:, 0])

    def _panel(self, t: Tensor, side: str = "right") -> Tensor:
        """Return the index of the grid time at which each time's panel begins."""
        index = torch.searchsorted(self._times, t.contiguous(), side=side) - 1
        return index.clamp(0, len(self._times) - 2)

    def _interpolate(self, curves: Tensor, t: Tensor) -> Tensor:
        """Return curves ``[rows, ..., grid]`` at times ``[rows, times]`` up to the last one."""
        panel = self._panel(t)
        begin, end = self._times[panel], self._times[panel + 1]
        share = ((t - begin) / (end - begin)).clamp(0.0, 1.0)
        if curves.dim() == 3:
            panel = panel[:, None].expand(-1, curves.shape[1], -1)
            share = share[:, None]
        at_begin = curves.gather(-1, panel)
        at_end = curves.gather(-1, panel + 1)
        return torch.lerp(at_begin, at_end, share)

    def _beyond(self, log_tail: Callable[[Tensor], Tensor], t: Tensor) -> Tensor:
        """Return a log function of the tail behind the last time, among all from the origin on."""
        at_last = self._tail._log_survival(self._last.expand(len(self), 1))
        log_beyond = log_tail(t.clamp(min=self._last)) - at_last
        return torch.log(self._survival_to_last) + log_beyond

    def _log_survival(self, t: Tensor) -> Tensor:
        inside = torch.log(self._interpolate(self._survival, t))
        beyond = self._beyond(self._tail._log_survival, t)
        return torch.where(t > self._last, beyond, inside)

    def _log_cdf(self, t: Tensor) -> Tensor:
        inside = torch.log(self._interpolate(1.0 - self._survival, t))
        log_survival = self._beyond(self._tail._log_survival, t)
        beyond = torch.log(-torch.expm1(log_survival))
        return torch.where(t > self._last, beyond, inside)

    def _log_pdf(self, t: Tensor) -> Tensor:
        density = -torch.diff(self._survival) / torch.diff(self._times)  # [rows, panels]
        inside = torch.log(density.gather(1, self._panel(t)))
        beyond = self._beyond(self._tail._log_pdf, t)
        return torch.where(t > self._last, beyond, inside)

    def _invert(self, log_s: Tensor) -> Tensor:
        level = torch.exp(log_s)
        ascending = self._survival.flip(1).contiguous()
        n_above = torch.searchsorted(ascending, level.contiguous(), side="right")
        n_panels = len(self._times) - 1
        panel = (n_panels - n_above).clamp(0, n_panels - 1)
        begin = self._survival.gather(1, panel)
        end = self._survival.gather(1, panel + 1)
        share = (begin - level) / (begin - end)
        share = share.nan_to_num(1.0).clamp(0.0, 1.0)
        inside = torch.lerp(self._times[panel], self._times[panel + 1], share)
        is_late = level < self._survival_to_last
        if not is_late.any():
            return inside
        at_last = self._tail._log_survival(self._last.expand(len(self), 1))
        log_tail = log_s - torch.log(self._survival_to_last) + at_last
        log_tail = torch.where(is_late, log_tail, -1.0)
        beyond = self._tail._invert(log_tail).clamp(min=self._last)
        return torch.where(is_late, beyond, inside)

    def _area(self, t: Tensor) -> Tensor:
        """Return the integral of S from 0 to t, ``[rows, times]``."""
        inside = t.clamp(max=self._last)
        panel = self._panel(inside)
        width = inside - self._times[panel]
        at_end = self._interpolate(self._survival, inside)
        height = (self._survival.gather(1, panel) + at_end) / 2
        area = self._areas.gather(1, panel) + width * height
        if not (t > self._last).any():
            return area
        tail = self._tail_given(self._last.expand(len(self), 1))
        beyond = tail._rmst(t.clamp(min=self._last)) - self._last
        return area + self._survival_to_last * beyond

    def _rmst(self, t: Tensor) -> Tensor:
        start = self._start()
        area = self._area(torch.maximum(t, start)) - self._area(start)
        return torch.minimum(t, start) + area / torch.exp(self._log_survival_at_start())

    def _mean(self) -> Tensor:
        begin = self._start().clamp(min=self._last)
        beyond = self._tail_given(begin)._mean() - begin
        survival = torch.exp(self._log_survival(begin) - self._log_survival_at_start())
        return self._rmst(begin) + torch.where(survival > 0, survival * beyond, 0.0)


def _constant_hazards(last: Tensor, net: Tensor) -> SurvivalDistribution:
    """Return exponential distributions with the mean hazards up to the last time; net survival ``[rows, events]``."""
    cumulative_hazard = -torch.log(net.clamp(min=1e-12))
    hazard = cumulative_hazard.clamp(min=1e-6) / last
    zero, log_scale = torch.zeros_like(hazard), -torch.log(hazard)
    mixture = Mixture(zero, Weibull(zero, log_scale))
    if net.shape[1] == 1:
        return MixtureDistribution(mixture)
    return CompetingDistribution(mixture.map(lambda values: values[None, ..., None]))
