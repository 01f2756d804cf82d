"""Cumulative incidences of many rows on one grid of log times: fast, and adaptive only where the grid is too coarse.

Between two points of the grid all events together add ``S(a) - S(b)``, which is divided in the ratio of what the
cumulative hazards rise by; that is exact where the hazards are proportional. Each panel is computed whole and in parts,
from which it is extrapolated. The grid depends on nothing but the times, so a row's result is the same in any company.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..primitives import Mixture
from .incidence import NetCurves, adaptive_incidence, largest_error
from .scales import Scales

__all__ = ["IncidenceGrid", "net_survivals"]

Floats = NDArray[np.float64]
_FEW_TIMES = 30  # for which panels are divided into 4 parts, otherwise into 2
_WIDEST = 0.06  # of a part of a panel between two times
_MOST_PANELS = 64  # between two times
_GROWTH, _EARLY_PANELS = 1.2, 18  # panels before the first time, each wider than the next
_CERTAIN = 1e-9  # an error of one panel, at most, that needs no further look
_TOLERANCE = {2: 1e-6, 4: 1e-7}  # of the last extrapolation; what it gives is far closer
_LARGEST_RISE = 0.25  # of the cumulative hazard in one part
_FINENESS = 0.1  # the width of a part over the one that a panel of quadrature may have
_ORIGIN = -1e5  # stands for the logarithm of 0
_TINY, _LARGE = 1e-300, 1e100  # in place of 0 under a fraction, and of infinity
_AT_ONCE = 1 << 19  # numbers in the largest temporary array: small enough for the cache, large enough for the calls


def net_survivals(mixtures: Mixture, log_times: Tensor, space: Tensor | None = None) -> Tensor:
    """Return S of each event type by itself, ``[rows, events, times]``; mixtures: ``[rows, events, k]``."""
    rows, events, k = mixtures.log_weights.shape
    components = mixtures.components.map(lambda values: values.reshape(rows * events, k, 1))
    curves = components.survival_curve(log_times, None if space is None else space[: rows * events])
    mixed = torch.bmm(mixtures.log_weights.exp().view(rows * events, 1, k), curves)
    return mixed.view(rows, events, len(log_times)).clamp_(max=1.0)


class IncidenceGrid:
    """The grid for some times, which are above 0 and ascending.

    Attributes
    ----------
    parts : int
        Into how many parts of equal width a panel is divided.
    ends, points : Tensor
        Log times: the ends of the panels, and those of their parts.
    place : Tensor
        The panels at whose ends the times are; panel 0 begins at the origin.
    """

    def __init__(self, times: Floats) -> None:
        self.parts = 4 if len(times) <= _FEW_TIMES else 2
        at, widest = np.log(times), _WIDEST * self.parts
        early = at[0] - np.cumsum(widest * _GROWTH ** np.arange(_EARLY_PANELS))[::-1]
        edges = [early]
        for low, high in zip(np.r_[early[-1], at[:-1]], at, strict=True):
            count = min(max(1, int(np.ceil((high - low) / widest))), _MOST_PANELS)
            edges.append(np.linspace(low, high, count + 1)[1:])
        ends = np.concatenate(edges)
        between = np.arange(self.parts)[:, None] / self.parts
        points = (ends[:-1] + np.diff(ends) * between).ravel()  # all beginnings of first parts, of second parts, ...
        self.ends = torch.from_numpy(ends)
        self.points = torch.from_numpy(np.r_[points, ends[-1]])
        self.place = torch.from_numpy(np.searchsorted(ends, at))

    def incidences(self, mixtures: Mixture) -> Tensor:
        """Return the incidences, ``[rows, events, times]``; mixtures: ``[rows, events, k]``."""
        rows, events, k = mixtures.log_weights.shape
        n_panels = len(self.ends)
        parts = torch.empty(rows, events, n_panels, dtype=torch.float64)
        certain, precise = (torch.zeros(rows, n_panels, dtype=torch.bool) for _ in range(2))
        size = max(1, _AT_ONCE // (len(self.points) * events * k))
        space = torch.empty(min(rows, size) * events, k, len(self.points), dtype=torch.float64)
        for start in range(0, rows, size):
            at = slice(start, start + size)
            survivals = net_survivals(mixtures.map(lambda values: values[at]), self.points, space)  # noqa: B023
            _divide(survivals, self.parts, parts[at], certain[at], precise[at])
        self._look_again(mixtures, parts, certain, precise)
        return parts.cumsum(2)[:, :, self.place]

    def _look_again(self, mixtures: Mixture, parts: Tensor, certain: Tensor, precise: Tensor) -> None:
        """Integrate the panels that are neither, or too wide for a component that they touch, by quadrature."""
        scales = Scales.of(mixtures.components.map(lambda values: values.flatten(1)))
        ends = torch.cat([torch.full((1,), _ORIGIN, dtype=torch.float64), self.ends])
        fineness = _FINENESS * self.parts
        wide = ends.diff() > fineness * scales.width.amin(1, keepdim=True)
        rows, panels = (~certain & (~precise | wide)).nonzero(as_tuple=True)
        lower, upper = ends[panels], ends[panels + 1]
        left = ~(precise[rows, panels] & scales.resolved(rows, lower, upper, fineness))
        rows, panels, lower, upper = (part[left] for part in (rows, panels, lower, upper))
        base = torch.zeros(len(parts), dtype=torch.float64)
        found = adaptive_incidence(NetCurves(mixtures), scales, base, rows, lower, upper, parts.shape[1])
        mass = parts[rows, :, panels].sum(1, keepdim=True)
        total = found.sum(1, keepdim=True)
        parts[rows, :, panels] = torch.where(total > 0, found * (mass / total.clamp(min=_TINY)), mass / parts.shape[1])


def _divide(survivals: Tensor, n_parts: int, parts: Tensor, certain: Tensor, precise: Tensor) -> None:
    """Write what each event adds in each panel, and where that is certain or precise.

    survivals: ``[rows, events, points]``; the other arrays have the panels in their last axis, from the origin on.
    """
    together = survivals.prod(1)
    hazards = survivals.log_().neg_()
    rises = [rise.nan_to_num_(nan=0.0, posinf=_LARGE).clamp_(min=0) for rise in _differences(hazards, n_parts)]
    masses = [(-mass).clamp_(min=0) for mass in _differences(together, n_parts)]
    estimates = [_in_ratios(rises, masses)]
    while len(rises) > 1:
        rises, masses = _joined(rises), _joined(masses)
        estimates.append(_in_ratios(rises, masses))
    (rise,), (mass,) = rises, masses
    value, change = _extrapolate(estimates)
    parts[..., 1:] = _in_ratio(value.clamp_(min=0), mass)
    beginning = together[:, : mass.shape[1]]
    certain[:, 1:] = largest_error(rise.transpose(0, 1), beginning, mass) <= _CERTAIN
    small = rise.sum(1) <= n_parts * _LARGEST_RISE
    precise[:, 1:] = small & (change.abs_().amax(1) <= _TOLERANCE[n_parts])
    first, mass = hazards[..., 0].clamp(max=_LARGE), 1 - together[:, 0]
    parts[..., 0] = _in_ratio(first, mass)
    certain[:, 0] = largest_error(first.T, torch.ones_like(mass), mass) <= _CERTAIN


def _differences(values: Tensor, n_parts: int) -> list[Tensor]:
    """Return what a curve at the points changes by over the first part of every panel, over the second, and so on."""
    n_panels = values.shape[-1] // n_parts
    starts = [values[..., part * n_panels : (part + 1) * n_panels] for part in range(n_parts)]
    last = torch.cat([starts[0][..., 1:], values[..., -1:]], dim=-1)
    return [end - start for start, end in zip(starts, [*starts[1:], last], strict=True)]


def _joined(parts: list[Tensor]) -> list[Tensor]:
    return [one + other for one, other in zip(parts[::2], parts[1::2], strict=True)]


def _in_ratios(rises: list[Tensor], masses: list[Tensor]) -> Tensor:
    result = torch.zeros_like(rises[0])
    for rise, mass in zip(rises, masses, strict=True):
        result.addcmul_(rise, (mass / rise.sum(1).clamp_(min=_TINY))[:, None])
    return result


def _in_ratio(rises: Tensor, mass: Tensor) -> Tensor:
    """Divide the mass in the ratio of the rises ``[rows, events, ...]``."""
    return rises * (mass / rises.sum(1).clamp_(min=_TINY))[:, None]


def _extrapolate(estimates: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return Richardson's extrapolation of estimates, each from parts half as wide as the next's, and its last step."""
    factor = 4.0
    while len(estimates) > 1:
        change = estimates[0] - estimates[1]
        pairs = zip(estimates[:-1], estimates[1:], strict=True)
        estimates = [torch.add(fine, fine - coarse, alpha=1 / (factor - 1)) for fine, coarse in pairs]
        factor *= 4
    return estimates[0], change
