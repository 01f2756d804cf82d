"""A flexible family: the log cumulative hazard is a monotone spline of log time.

Royston and Parmar (doi:10.1002/sim.1203) model the log cumulative hazard as a cubic spline of log time, which is linear
beyond the outer knots and may fall between them, where it is no distribution. Here its slope is a piecewise linear
function of log time through positive values at the knots, and constant beyond them: a sum of I-splines of second
order (doi:10.1214/ss/1177012761). So it always rises; survival, density, hazard and quantiles are in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from .cumulative_hazard import CumulativeHazard
from .stable import LOG_LIMIT

__all__ = ["Spline"]

_SHARES = (0.01, 0.25, 0.5, 0.75, 0.99)  # of the events that happened before each knot
_MIDDLE = 2  # the knot at which the level is that of the log cumulative hazard
_LEAST_GAP = 0.05  # between knots in log time, where many events have the same time
_LIMIT = 1e18  # of a derivative


@dataclass(frozen=True, eq=False)
class Spline(CumulativeHazard, name="spline", label="spline"):
    """A distribution whose log cumulative hazard is a monotone spline of log time, linear beyond the outer knots.

    The slope of the log cumulative hazard is that of a Weibull distribution, its shape; here it has a value at each of
    five knots and is linear between them. With equal slopes it is the Weibull distribution. The knots are quantiles of
    the times of events; they are learnt in ``fit``, stored with the model and the same for all subjects.

    Parameters
    ----------
    level : Tensor
        The log cumulative hazard at the middle knot.
    log_slope_1, log_slope_2, log_slope_3, log_slope_4, log_slope_5 : Tensor
        The logarithms of the slopes at the knots.
    knot_1, knot_2, knot_3, knot_4, knot_5 : Tensor
        The knots on the axis of log time, ascending.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Spline
    >>> level, slope, *knots = torch.tensor([0.0, 0.0, -2.0, -1.0, 0.0, 1.0, 2.0])
    >>> exponential = Spline(level, slope, slope, slope, slope, slope, *knots)
    >>> exponential.log_survival(torch.tensor([0.1, 1.0, 20.0]))
    tensor([ -0.1000,  -1.0000, -20.0000])
    """

    level: Tensor
    log_slope_1: Tensor
    log_slope_2: Tensor
    log_slope_3: Tensor
    log_slope_4: Tensor
    log_slope_5: Tensor
    knot_1: Tensor
    knot_2: Tensor
    knot_3: Tensor
    knot_4: Tensor
    knot_5: Tensor
    fixed_names: ClassVar[tuple[str, ...]] = ("knot_1", "knot_2", "knot_3", "knot_4", "knot_5")
    shift_activation: ClassVar[str] = "selu"
    has_slopes: ClassVar[bool] = True

    @classmethod
    def learn_fixed(cls, log_time: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        order = torch.argsort(log_time)
        reached = weight[order].cumsum(0) / weight.sum()
        knots = [
            log_time[order][(reached < share).sum().clamp(max=len(order) - 1)] for share in _SHARES
        ]
        for place in range(1, len(knots)):
            knots[place] = torch.maximum(knots[place], knots[place - 1] + _LEAST_GAP)
        return tuple(knots)

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        level = torch.exp(log_precision) * (fixed[_MIDDLE] - location)
        return cls(level, *(log_precision for _ in _SHARES), *fixed)

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_h, log_slope = _LogHazards.apply(
            self.level, self._log_slopes(), log_t, self._knots().detach()
        )  # type: ignore[no-untyped-call]
        return log_h, log_h + log_slope

    @classmethod
    def prepared(cls, log_t: Tensor, fixed: Tensor) -> Tensor:
        return torch.stack(_basis(log_t, fixed, -2), dim=-4)[
            ..., None, :
        ]  # [..., 2, events, 5, 1, rows]

    @classmethod
    def value_and_slopes(
        cls, prepared: Tensor, happened: Tensor, parameters: Tensor, slopes: Tensor
    ) -> Tensor:
        integrals, hats = prepared.unbind(-5)
        rates = parameters[..., 1:, :, :].clamp(max=LOG_LIMIT).exp_()
        risen = torch.mul(rates, integrals, out=slopes[..., 1:, :, :])
        log_h = risen.sum(-3).add_(parameters[..., 0, :, :])
        parts = rates.mul_(hats)
        slope = parts.sum(-3).clamp_(min=1e-38)
        cumulative_hazard = log_h.clamp(max=LOG_LIMIT).exp_()
        by_log_h = torch.sub(happened, cumulative_hazard, out=slopes[..., 0, :, :])
        risen.mul_(by_log_h.unsqueeze(-3)).addcmul_(parts, (happened / slope).unsqueeze(-3))
        return log_h.add_(slope.log_()).mul_(happened).sub_(cumulative_hazard)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        inside = (log_s < 0) & (log_s > -torch.inf)
        goal = torch.log(-torch.where(inside, log_s, -1.0))
        knots, slopes = self._knots(), torch.exp(self._log_slopes().clamp(max=LOG_LIMIT))
        gaps = knots.diff(dim=-1)
        rises = (slopes[..., :-1] + slopes[..., 1:]) / 2 * gaps
        first = self.level - rises[..., :_MIDDLE].sum(-1)
        last = self.level + rises[..., _MIDDLE:].sum(-1)
        starts = first[..., None] + torch.nn.functional.pad(rises, (1, 0))[..., :-1].cumsum(-1)
        risen = torch.minimum((goal[..., None] - starts).clamp(min=0.0), rises)
        bend = slopes.diff(dim=-1) / gaps
        root = torch.sqrt((slopes[..., :-1].square() + 2 * bend * risen).clamp(min=0.0))
        x = knots[..., 0] + (2 * risen / (slopes[..., :-1] + root)).sum(-1)
        x = (
            x
            + (goal - first).clamp(max=0.0) / slopes[..., 0]
            + (goal - last).clamp(min=0.0) / slopes[..., -1]
        )
        return torch.where(inside, torch.exp(x), torch.where(log_s < 0, torch.inf, 0.0))

    def displaced(self, steps: Tensor) -> Self:
        level, *others = self.parameters
        return type(self)(
            level - steps, *others
        )  # as the Weibull distribution moved by its standard deviation

    def rescaled(self, log_factor: Tensor | float) -> Self:
        return type(self)(
            *self.parameters[: 1 + len(_SHARES)], *(knot + log_factor for knot in self._fixed())
        )

    def kinks(self) -> Tensor:
        return self._knots()

    def steepness(self) -> Tensor:
        return torch.exp(self._log_slopes().amax(-1).clamp(max=LOG_LIMIT))

    def tail_index(self) -> Tensor:
        return torch.full_like(self.level, torch.inf)

    def _fixed(self) -> tuple[Tensor, ...]:
        return self.parameters[1 + len(_SHARES) :]

    def _knots(self) -> Tensor:
        return torch.stack(torch.broadcast_tensors(*self._fixed()), dim=-1)

    def _log_slopes(self) -> Tensor:
        return torch.stack(self.parameters[1 : 1 + len(_SHARES)], dim=-1)

    @classmethod
    def javascript(cls) -> str:
        return f"""([level, ...rest], logUnit) => {{
          const n = {len(_SHARES)}, slopes = rest.slice(0, n).map((l) => Math.exp(Math.min(l, LOG_LIMIT)));
          const knots = rest.slice(n).map((knot) => knot + logUnit);
          const through = (x, j) => Math.min(Math.max((x - knots[j]) / (knots[j + 1] - knots[j]), 0), 1);
          const risen = (x) => {{
            let sum = slopes[0] * Math.min(x - knots[0], 0) + slopes[n - 1] * Math.max(x - knots[n - 1], 0);
            for (let j = 0; j + 1 < n; j++) {{
              const u = through(x, j);
              sum += (knots[j + 1] - knots[j]) * (slopes[j] * (u - u * u / 2) + slopes[j + 1] * u * u / 2);
            }}
            return sum;
          }};
          const start = level - risen(knots[{_MIDDLE}]);
          const hazard = (x) => Math.exp(Math.min(start + risen(x), LOG_LIMIT));
          const slope = (x) => {{
            let sum = slopes[0];
            for (let j = 0; j + 1 < n; j++) sum += (slopes[j + 1] - slopes[j]) * through(x, j);
            return sum;
          }};
          const survival = (x) => Math.exp(-hazard(x));
          return {{ survival, density: (x) => slope(x) * hazard(x) * survival(x) }};
        }}"""


def _basis(log_t: Tensor, knots: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the integrals from the middle knot of the functions that are 1 at one knot and 0 at others, and these.

    They do not depend on the parameters that are trained. The knots are on an axis, which is new in the times.
    """
    first, last = knots.narrow(axis, 0, 1), knots.narrow(axis, -1, 1)
    gaps = knots.diff(dim=axis)
    share = ((log_t - knots.narrow(axis, 0, len(_SHARES) - 1)) / gaps).clamp(
        0.0, 1.0
    )  # how far through each gap
    whole = torch.zeros_like(gaps)
    whole.narrow(axis, 0, _MIDDLE).copy_(
        gaps.narrow(axis, 0, _MIDDLE) / 2
    )  # both halves, up to the middle knot
    late = share.square() * (gaps / 2)
    rising, falling = late - whole, share * gaps - late - whole
    before, behind = (log_t - first).clamp(max=0.0), (log_t - last).clamp(min=0.0)
    integrals = torch.cat([before, rising], axis) + torch.cat([falling, behind], axis)
    one = torch.ones_like(before)
    return integrals, torch.cat([one, share], axis) * torch.cat([1 - share, one], axis)


class _LogHazards(torch.autograd.Function):
    """``log H = level + sum_j b_j integral_j`` and ``log sum_j b_j hat_j`` with derivatives in level and log b."""

    @staticmethod
    def forward(
        ctx: Any, level: Tensor, log_slopes: Tensor, log_t: Tensor, knots: Tensor
    ) -> tuple[Tensor, Tensor]:
        integrals, hats = _basis(log_t[..., None], knots, -1)
        slopes = torch.exp(log_slopes.clamp(max=LOG_LIMIT))
        risen, parts = slopes * integrals, slopes * hats
        slope = parts.sum(-1).clamp(min=1e-38)
        ctx.save_for_backward(risen, parts / slope[..., None], slope, slopes, log_t, knots)
        ctx.shapes = level.shape, log_slopes.shape
        return level + risen.sum(-1), torch.log(slope)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        risen, shares, slope, slopes, log_t, knots = ctx.saved_tensors
        by_level, by_slope = (gradient.clamp(-_LIMIT, _LIMIT) for gradient in gradients)
        by_slopes = torch.addcmul(by_level[..., None] * risen, by_slope[..., None], shares).clamp(
            -1e30, 1e30
        )
        shape, shapes = ctx.shapes
        by_time: Tensor | None = None
        if ctx.needs_input_grad[2]:
            at = log_t[..., None]
            between = (at > knots[..., :-1]) & (at <= knots[..., 1:])
            bend = (torch.where(between, slopes.diff(dim=-1) / knots.diff(dim=-1), 0.0)).sum(-1)
            by_time = (by_level * slope + by_slope * bend / slope).sum_to_size(log_t.shape)
        return by_level.sum_to_size(shape), by_slopes.sum_to_size(shapes), by_time, None
