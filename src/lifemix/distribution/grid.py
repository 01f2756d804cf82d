"""Distributions given by curves at fixed times, such as those of Cox regression and random forests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .._types import FloatArray, IntArray
from ..primitives import Exponential, Mixture
from .base import SurvivalDistribution, choose
from .competing import CompetingDistribution

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
        The times to which the rows survived, ``[rows]``; None for 0.

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
        super().__init__(len(incidences), survived_to)
        self._times = times
        self._last = times[-1]
        self._incidence_curves = incidences
        self._nets = nets
        # The tail counts from the last time, or from ``survived_to`` if that is later.
        self._late_start = self._start.clamp(min=self._last)
        self._tail = tail._given(self._late_start[:, 0])
        survival = self._grid_survival(times.expand(len(self), -1))
        areas = torch.cumulative_trapezoid(survival, times)
        self._areas = pad(areas, (1, 0))  # [rows, times]

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

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._incidence_curves.shape[1]

    def _net(self, event: int) -> GridDistribution:
        net = self._nets[:, event - 1 : event]
        tail = self._tail._given(None).net(event)
        return GridDistribution(self._times, 1.0 - net, net, tail, self._survived_to)

    def _incidences(self, times: Tensor) -> Tensor:
        start = self._start
        t = torch.maximum(times, start)
        incidences = self._grid_incidences(t) - self._grid_incidences(start)
        is_late = times > self._last
        if is_late.any():  # the tail may be expensive
            tail = self._tail._incidences(times[is_late])
            survival = torch.exp(self._log_survival(self._late_start))
            incidences[..., is_late] += survival[..., None] * tail
        survival_to_start = torch.exp(self._log_survival(start))
        return incidences / survival_to_start[..., None]

    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        start = self._start
        times = torch.maximum(self._times, start)  # [rows, times]
        n_panels = times.shape[1] - 1
        survival_to_start = torch.exp(self._log_survival(start))
        mass = torch.diff(self._grid_incidences(times)) / survival_to_start[..., None]
        weights = pad(mass.flatten(1), (0, 1))  # what is missing to 1 falls into the tail
        index = choose(weights, n, rng)
        event, panel = index // n_panels, index % n_panels
        uniform = torch.as_tensor(rng.random((len(self), n)))
        begin, end = times.gather(1, panel), times.gather(1, panel + 1)
        early_times = torch.lerp(begin, end, uniform)
        late_times, late_events = self._tail._sample(n, rng)
        is_late = event == self.n_events
        sampled_times = np.where(is_late, late_times, early_times)
        return sampled_times, np.where(is_late, late_events, event + 1)

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        curves, nets = self._incidence_curves[rows], self._nets[rows]
        tail = self._tail._select(rows, None)
        return type(self)(self._times, curves, nets, tail, survived_to)

    # The curves up to the last time, and constant after it.

    def _panel(self, t: Tensor) -> Tensor:
        """Return the index of the grid time at which each time's panel begins."""
        index = torch.searchsorted(self._times, t.contiguous(), side="right") - 1
        return index.clamp(0, len(self._times) - 2)

    def _grid_incidences(self, t: Tensor) -> Tensor:
        """Return the incidences at times ``[rows, times]``, ``[rows, events, times]``."""
        panel = self._panel(t)
        begin, end = self._times[panel], self._times[panel + 1]
        share = ((t - begin) / (end - begin)).clamp(0.0, 1.0)
        index = panel[:, None].expand(-1, self.n_events, -1)
        at_begin = self._incidence_curves.gather(2, index)
        at_end = self._incidence_curves.gather(2, index + 1)
        return torch.lerp(at_begin, at_end, share[:, None])

    def _grid_survival(self, t: Tensor) -> Tensor:
        return (1.0 - self._grid_incidences(t).sum(1)).clamp(min=0.0)

    def _grid_area(self, t: Tensor) -> Tensor:
        """Return the integral of S from 0 to t, at most to the last time, ``[rows, times]``."""
        t = t.clamp(max=self._last)
        panel = self._panel(t)
        begin = self._times[panel]
        height = (self._grid_survival(begin) + self._grid_survival(t)) / 2
        return self._areas.gather(1, panel) + (t - begin) * height

    # Functions of times that count from the origin. After the last time S is that of the tail, scaled.

    def _log_tail_ratio(self, log_function: Callable[[Tensor], Tensor], t: Tensor) -> Tensor:
        """Return a log function of the tail, given survival to the last time."""
        at_last = self._tail._log_survival(self._last.expand(len(self), 1))
        return log_function(t.clamp(min=self._last)) - at_last

    def _log_survival(self, t: Tensor) -> Tensor:
        beyond = self._log_tail_ratio(self._tail._log_survival, t)
        beyond = torch.where(t > self._last, beyond, 0.0)
        return torch.log(self._grid_survival(t)) + beyond

    def _log_cdf(self, t: Tensor) -> Tensor:
        beyond = self._log_tail_ratio(self._tail._log_survival, t)
        beyond = torch.where(t > self._last, beyond, 0.0)
        incidence = self._grid_incidences(t).sum(1)
        return torch.log(incidence - self._grid_survival(t) * torch.expm1(beyond))

    def _log_pdf(self, t: Tensor) -> Tensor:
        incidence = self._incidence_curves.sum(1)
        density = torch.diff(incidence) / torch.diff(self._times)  # [rows, panels]
        inside = torch.log(density.gather(1, self._panel(t)))
        log_tail = self._log_tail_ratio(self._tail._log_pdf, t)
        beyond = torch.log(self._grid_survival(t)) + log_tail
        return torch.where(t > self._last, beyond, inside)

    # Means given survival to ``survived_to``.

    def _rmst(self, t: Tensor) -> Tensor:
        return self._limited_mean(t, self._tail._rmst(torch.maximum(t, self._late_start)))

    def _mean(self) -> Tensor:
        return self._limited_mean(torch.full_like(self._start, torch.inf), self._tail._mean())

    def _limited_mean(self, t: Tensor, tail_mean: Tensor) -> Tensor:
        """Return ``E min(T, t)``, where ``tail_mean`` is that of the tail."""
        start, late_start = self._start, self._late_start
        area = self._grid_area(torch.maximum(t, start)) - self._grid_area(start)
        survival = torch.exp(self._log_survival(late_start))
        late_area = torch.where(survival > 0, survival * (tail_mean - late_start), 0.0)
        survival_to_start = torch.exp(self._log_survival(start))
        return torch.minimum(t, start) + (area + late_area) / survival_to_start


def _constant_hazards(last: Tensor, net: Tensor) -> SurvivalDistribution:
    """Return exponential distributions with the mean hazards up to the last time; net survival ``[rows, events]``."""
    cumulative_hazard = -torch.log(net.clamp(min=1e-12))
    log_scale = torch.log(last / cumulative_hazard.clamp(min=1e-6))
    mixture = Mixture(torch.zeros_like(log_scale), Exponential(log_scale))
    return CompetingDistribution(mixture.map(lambda values: values[None, ..., None]))
