"""The integral of the survival function over time, relative to a probability that may be too small for a number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .quadrature import FIFTEEN, integrate
from .scales import Scales

__all__ = ["integrate_survival"]

_TOLERANCE = (
    1e-9  # difference of the two rules in one panel, relative to the integral up to its end
)
_CERTAIN = 1e-11  # an error of one panel, at most, that needs no further look
_ROUNDING = 1e-13  # of one panel, relative to itself
_LEAST_LEFT = 1e-3  # of S at the end of a panel, relative to its beginning
_AT_ONCE = 1 << 11  # panels evaluated together


def integrate_survival(
    integrand: Callable[[Tensor, Tensor], Tensor],
    scales: Scales,
    start: Tensor,
    middle: Tensor,
    ends: Tensor,
) -> Tensor:
    """Return the integral of S from ``start`` to each of the ``ends``, ``[rows, ends]``.

    integrand(rows, x): ``t S(t)`` at the log times ``x``, ``[nodes, p]``, of the rows ``[p]``; S is 1 at the start.
    start: log times, ``[rows]``; middle: log times at which S is a half or more; ends: ascending log times, not before
    start.
    """
    edges = torch.cat([start[:, None], ends], dim=1)
    rows = torch.arange(len(edges)).repeat_interleave(ends.shape[1])

    def rule(rows: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        first, last = integrand(rows, torch.stack([lower, upper]))
        shrink = -torch.expm1(lower - upper)
        # S falls: the panel is between its length times S at the end and that times S at the beginning
        least, most = last * shrink, first * torch.expm1(upper - lower)
        halfway = torch.minimum(upper, middle[rows])  # up to there S is above a half
        known = torch.exp(halfway) * -torch.expm1(start[rows] - halfway)
        known = torch.fmax(
            known, -last * torch.expm1(start[rows] - upper)
        )  # S was above its value at the end
        allowed = _TOLERANCE * known / 2
        good = most - least <= _CERTAIN * known
        gentle = least >= _LEAST_LEFT * most
        at = (~good & gentle & scales.resolved(rows, lower, upper)).nonzero()[:, 0]
        value = (most + least) / 2
        if len(at):
            low, high = lower[at], upper[at]
            fine, coarse = FIFTEEN.fine_and_coarse(
                integrand(rows[at], FIFTEEN.nodes(low, high)), low, high
            )
            value[at] = fine
            error = (fine - coarse).abs()
            good[at] = (error <= allowed[at]) | (error <= _ROUNDING * fine) | torch.isinf(fine)
        return value[:, None], good

    parts = integrate(rule, rows, edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1), 1, _AT_ONCE)
    return parts.view(ends.shape).cumsum(1)
