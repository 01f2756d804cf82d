"""Cumulative incidences by adaptive quadrature: ``F_m(b) - F_m(a)``, the integral of S over the cumulative hazard H_m.

What all events together add is known, ``S(a) - S(b)``; only its division among them is integrated. As S falls, the part
of an event is between ``S(b) dH_m`` and ``S(a) dH_m``. The division in the ratio of the ``dH_m`` is therefore never off
by more than about ``S(a) dH_m (dH - dH_m) / 2``, whatever happens inside a panel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .net_curves import NetCurves
from .quadrature import SEVEN, integrate
from .scales import Scales

__all__ = ["adaptive_incidence"]

_CERTAIN = 1e-11  # an error of one panel, at most, that needs no further look
_TOLERANCE = 1e-9  # difference of the two rules in one panel
_LARGEST_RISE = 2.0  # of the cumulative hazard in one panel


def _shares_of_hazard(rises: Tensor) -> Tensor:
    """Return the parts ``dH_m / dH``, ``[events, ...]``; equal ones of infinite rises, and where none rises."""
    infinite = torch.isinf(rises)
    rises = torch.where(infinite.any(0), infinite.to(rises), rises)
    total = rises.sum(0)
    return torch.where(total > 0, rises / torch.where(total > 0, total, 1.0), 1 / len(rises))


def _largest_error(rises: Tensor, survival: Tensor, mass: Tensor) -> Tensor:
    """Return what the division of the mass in the ratio of the rises may be off by; ``survival`` at the beginning."""
    by_rises = (rises * (rises.sum(0) - rises)).amax(0) * survival / 2
    return torch.fmin(by_rises, mass)  # also where the rises are infinite


def adaptive_incidence(
    curves: NetCurves, scales: Scales, base: Tensor, rows: Tensor, lower: Tensor, upper: Tensor
) -> Tensor:
    """Return what each event adds between two log times, ``[panels, events]``, over ``exp(base)``, ``[rows]``."""

    def rule(rows: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        at_ends = curves.log_survival(rows, torch.stack([lower, upper]))  # [events, 2, p]
        rises = (at_ends[:, 0] - at_ends[:, 1]).nan_to_num(nan=0.0).clamp(min=0)
        rise = rises.sum(0)
        survival = torch.exp(at_ends[:, 0].sum(0) - base[rows])
        mass = survival * -torch.expm1(-rise)
        value = _shares_of_hazard(rises)
        good = _largest_error(rises, survival, mass) <= _CERTAIN
        at = (~good & (rise <= _LARGEST_RISE) & scales.resolved(rows, lower, upper)).nonzero()[:, 0]
        if len(at):
            value[:, at], error = _shares(curves, rows[at], lower[at], upper[at])
            good[at] = error * mass[at] <= _TOLERANCE
        return (value * mass).T, good

    return integrate(rule, rows, lower, upper, len(curves))


def _shares(curves: NetCurves, rows: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Return the shares of the events ``[events, p]`` by the finer rule, and its difference from the coarser one."""
    log_survival, hazard = curves.log_survival_and_hazard(rows, SEVEN.nodes(lower, upper))
    together = log_survival.sum(0)
    values = hazard * torch.exp(together - together[:1])
    fine, coarse = (_shares_of_hazard(part) for part in SEVEN.fine_and_coarse(values, lower, upper))
    return fine, (fine - coarse).abs().amax(0)
