"""Cumulative incidences of many rows on one grid of log times: fast, and adaptive only where the grid is too coarse.

The grid depends on nothing but the times, so a row's result is the same in any company.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray
from ..primitives import Mixture
from .incidence import adaptive_incidence
from .incidence_gauss import incidences_by_gauss
from .incidence_panel import LARGEST_CUBE, Panels, divide
from .net_curves import NetCurves
from .scales import Scales

__all__ = ["IncidenceGrid", "incidences_at", "net_survivals"]

_WIDEST = 0.07  # of a panel between two times
_MOST_PANELS = 128  # between two times
_GROWTH, _EARLY_PANELS = 1.12, 34  # panels before the first time, each wider than the next
_UNIT = 3.45  # widths of components, as they are measured, over the unit in which the cube of a panel counts
_ORIGIN = -1e5  # stands for the logarithm of 0
_TINY = 1e-300
_AT_ONCE = (
    1 << 18
)  # numbers in the largest temporary array: small enough for the cache, large enough for the calls


def net_survivals(mixtures: Mixture, log_times: Tensor, space: Tensor | None = None) -> Tensor:
    """Return S of each event type by itself, ``[events, rows, times]``; mixtures: ``[events, rows, k]``."""
    flat = mixtures.map(lambda values: values.flatten(0, 1)[..., None])  # [events x rows, k, 1]
    curves = flat.components.survival_curve(
        log_times, None if space is None else space[: len(flat.log_weights)]
    )
    return _mixed(mixtures, curves).clamp_(max=1.0)


def _survivals_and_densities(
    mixtures: Mixture, log_times: Tensor, space: Tensor
) -> tuple[Tensor, Tensor]:
    """Return S and the density of log time of each event type by itself, ``[events, rows, times]``."""
    flat = mixtures.map(lambda values: values.flatten(0, 1)[..., None])
    survival, density = flat.components.survival_and_density_curve(
        log_times, space[: len(flat.log_weights)]
    )
    return _mixed(mixtures, survival).clamp_(max=1.0), _mixed(mixtures, density)


def _mixed(mixtures: Mixture, curves: Tensor) -> Tensor:
    weights = mixtures.log_weights.exp()  # [events, rows, k]
    return torch.bmm(weights.flatten(0, 1)[:, None], curves).view(*weights.shape[:2], -1)


def incidences_at(times: FloatArray, mixtures: Mixture) -> Tensor:
    """Return the incidences, ``[events, rows, times]``; mixtures: ``[events, rows, k]``.

    times: above 0, ascending ones that all events share, or ``[events, times]``.
    """
    events, rows, _ = mixtures.log_weights.shape
    found = torch.empty(events, rows, times.shape[-1], dtype=torch.float64)
    left = incidences_by_gauss(mixtures, times, found)
    if len(left) == 0:
        return found
    distinct, place = np.unique(times, return_inverse=True)
    others = IncidenceGrid(distinct).incidences(mixtures.map(lambda values: values[:, left]))
    if times.ndim == 2:
        where = torch.from_numpy(place.reshape(times.shape))[:, None].expand(-1, len(left), -1)
        others = others.gather(2, where)
    found[:, left] = others
    return found


class IncidenceGrid:
    """The grid for some times, which are above 0 and ascending.

    Attributes
    ----------
    ends : Tensor
        Log times: the ends of the panels; panel 0 begins at the origin.
    place : Tensor
        The panels at whose ends the times are.
    """

    def __init__(self, times: FloatArray) -> None:
        at = np.log(times)
        early = at[0] - np.cumsum(_WIDEST * _GROWTH ** np.arange(_EARLY_PANELS))[::-1]
        beginnings = np.r_[early[-1], at[:-1]]
        counts = np.clip(np.ceil((at - beginnings) / _WIDEST), 1, _MOST_PANELS).astype(np.int64)
        last = counts.cumsum()
        within = np.arange(1, last[-1] + 1) - np.repeat(
            last - counts, counts
        )  # 1, 2, ... in each interval
        low, high, count = (np.repeat(part, counts) for part in (beginnings, at, counts))
        inner = np.where(within == count, high, low + (high - low) * within / count)
        self.ends = torch.from_numpy(np.r_[early, inner])
        self.place = torch.from_numpy(len(early) + last - 1)

    def incidences(self, mixtures: Mixture) -> Tensor:
        """Return the incidences, ``[events, rows, times]``; mixtures: ``[events, rows, k]``."""
        events, rows, k = mixtures.log_weights.shape
        n_points = len(self.ends)
        panels = Panels.empty(events, rows, n_points)
        size = max(1, _AT_ONCE // (n_points * events * k))
        space = torch.empty(min(rows, size) * events, k, n_points, dtype=torch.float64)
        scales = Scales.of(
            mixtures.components.map(lambda values: values.transpose(0, 1).flatten(1))
        )
        narrow = (_UNIT / scales.width.amin(1, keepdim=True)) ** 3
        cubes = self.ends.diff() ** 3
        for start in range(0, rows, size):
            at = slice(start, start + size)
            part = mixtures.map(lambda values: values[:, at])  # noqa: B023
            divide(
                *_survivals_and_densities(part, self.ends, space), narrow[at] * cubes, panels[at]
            )
        self._look_again(mixtures, scales, panels)
        return panels.parts.cumsum_(2)[:, :, self.place]

    def _look_again(self, mixtures: Mixture, scales: Scales, found: Panels) -> None:
        """Integrate the panels that are rough, or too wide for a component that they touch, by quadrature."""
        edges = torch.cat([torch.full((1,), _ORIGIN, dtype=torch.float64), self.ends])
        rows, panels = (found.rough | found.wide).nonzero(as_tuple=True)
        if len(rows) == 0:
            return
        lower, upper = edges[panels], edges[panels + 1]
        share = (LARGEST_CUBE / found.work[rows, panels].clamp(min=_TINY)) ** (1 / 3) / _UNIT
        left = found.rough[rows, panels] | ~scales.resolved(rows, lower, upper, share)
        rows, panels, lower, upper = (part[left] for part in (rows, panels, lower, upper))
        base = torch.zeros(mixtures.log_weights.shape[1], dtype=torch.float64)
        values = adaptive_incidence(
            NetCurves(mixtures), scales, base, rows, lower, upper
        ).T  # [events, panels]
        parts = found.parts[:, rows, panels]
        mass, total = parts.sum(0), values.sum(0)
        found.parts[:, rows, panels] = torch.where(
            total > 0, values * (mass / total.clamp(min=_TINY)), mass / len(values)
        )
