"""What each of several events adds between two times, from the curves at these times alone.

All events together add ``S(a) - S(b)``. The part of an event is the mean of its share of the hazard, ``h_m / h``, over
those who have an event. Three things are known of that share as a function of the cumulative hazard H: its values at
both ends, and its mean over H, which is ``dH_m / dH``. The parabola through them is integrated exactly, under the
weight ``exp(-H)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["LARGEST_CUBE", "Panels", "divide", "product_of"]

_LARGEST_RISE = 1.0  # of the cumulative hazard in one panel
_CERTAIN = 1e-8  # an error of one panel, at most, that needs no further look
_LARGEST_BEND = (
    1e-6  # of the bend of the share times mass and rise: the error of the parabola is far smaller
)
_LARGEST_WORK = (
    5e-8  # of the mass times the rise: whatever the share does, the error is below a fifth of it
)
LARGEST_CUBE = (
    1e-4  # of mass times rise times the cube of the width, in units of the narrowest component
)
_TINY = 1e-300  # in place of 0 under a fraction or a logarithm


@dataclass(frozen=True)
class Panels:
    """What was found for some rows and panels; panel 0 begins at the origin.

    Attributes
    ----------
    parts : Tensor
        What each event adds, ``[events, rows, panels]``.
    work : Tensor
        The mass of a panel times the rise of the cumulative hazard in it, ``[rows, panels]``.
    rough, wide : Tensor
        Whether a panel needs a closer look, and whether it is too wide for the narrowest component of its row,
        ``[rows, panels]``.
    """

    parts: Tensor
    work: Tensor
    rough: Tensor
    wide: Tensor

    @classmethod
    def empty(cls, events: int, rows: int, panels: int) -> Panels:
        """Return memory for so many."""
        parts = torch.empty(events, rows, panels, dtype=torch.float64)
        flags = (torch.empty(rows, panels, dtype=torch.bool) for _ in range(2))
        return cls(parts, torch.empty(rows, panels, dtype=torch.float64), *flags)

    def __getitem__(self, rows: slice) -> Panels:
        return Panels(self.parts[:, rows], self.work[rows], self.rough[rows], self.wide[rows])


def divide(survival: Tensor, density: Tensor, cubes: Tensor, out: Panels) -> None:
    """Write what each event adds in each panel.

    survival, density: curves ``[events, rows, points]``, which are overwritten; cubes: those of the widths of the
    panels from the second on, in units of the narrowest component of each row, ``[rows, panels]``.
    """
    survival.clamp_(min=_TINY)
    together = product_of(survival)
    shares = _shares(survival, density)
    log_survival = survival.log_()
    rises = log_survival[..., :-1] - log_survival[..., 1:]
    rise, mass = rises.sum(0), (together[:, :-1] - together[:, 1:]).clamp_(min=0)
    share = rises[:-1].mul_(1 / rise.clamp(min=_TINY))  # the mean over the cumulative hazard
    left, right = shares[..., :-1], shares[..., 1:]
    bend = torch.add(left, right).sub_(share, alpha=2)
    first, second = _moments(rise)
    share.addcmul_(right - left, first).addcmul_(bend, second)
    _write(share, mass, out.parts[..., 1:])
    work = torch.mul(mass, rise, out=out.work[:, 1:])
    bend = bend.abs_().amax(0) if len(bend) else torch.zeros_like(work)
    precise = (work * bend <= _LARGEST_BEND) & (rise <= _LARGEST_RISE) | (mass <= _CERTAIN)
    torch.logical_not(precise, out=out.rough[:, 1:])
    torch.gt(cubes.mul_(work), LARGEST_CUBE, out=out.wide[:, 1:])
    out.wide[:, 1:] &= (work > _LARGEST_WORK) & (mass > _CERTAIN)
    _from_origin(log_survival[..., 0].neg(), 1 - together[:, 0], out)


def _from_origin(hazards: Tensor, mass: Tensor, out: Panels) -> None:
    """Write the first panel; the share at its beginning is not known."""
    rise = hazards.sum(0)
    _write(
        hazards[:-1, :, None] / rise.clamp(min=_TINY)[:, None], mass[:, None], out.parts[..., :1]
    )
    out.work[:, 0] = mass * rise
    out.rough[:, 0] = (mass > _CERTAIN) & (out.work[:, 0] > _LARGEST_WORK)
    out.wide[:, 0] = False


def _write(shares: Tensor, mass: Tensor, parts: Tensor) -> None:
    """Divide the mass; shares are those of all events but the last, which has the rest."""
    shares.clamp_(min=0)
    total = shares.sum(0)
    torch.mul(shares, mass / total.clamp(min=1), out=parts[:-1])
    torch.mul(total.neg_().add_(1).clamp_(min=0), mass, out=parts[-1])


def product_of(survival: Tensor) -> Tensor:
    """Return the product over events, ``[rows, points]``."""
    together = survival[0] * survival[1] if len(survival) > 1 else survival[0].clone()
    for one in survival[2:]:
        together.mul_(one)
    return together


def _shares(survival: Tensor, density: Tensor) -> Tensor:
    """Return the share of each event but the last in the hazard; it may be anything where nobody is left."""
    hazard = density.div_(survival)
    total = hazard.sum(0).clamp_(min=_TINY)
    return hazard[:-1].div_(total)


def _moments(rise: Tensor) -> tuple[Tensor, Tensor]:
    """Return the means of half of Legendre's first polynomial and of half of his second, under the weight exp(-H)."""
    rise = rise.clamp(max=_LARGEST_RISE)
    square = rise * rise
    second = torch.mul(square, -1 / 5040).add_(1 / 120).mul_(square)
    first = square.mul_(-1 / 30240).add_(1 / 720).mul_(rise).mul_(rise).sub_(1 / 12).mul_(rise)
    return first, second
