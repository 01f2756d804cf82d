"""A flexible family: the log cumulative hazard is a monotone spline of log time.

Royston and Parmar (doi:10.1002/sim.1203) model the log cumulative hazard as a cubic spline of log time, which may fall
between the knots, where it is no distribution. Here its slope is a piecewise linear function of log time through
positive values at the knots, and constant beyond them: a sum of I-splines of second order
(doi:10.1214/ss/1177012761), which always rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import pad

from .cumulative_hazard import CumulativeHazard
from .numeric import LOG_LIMIT, limit_gradient

__all__ = ["Spline"]

_SHARES = (0.01, 0.25, 0.5, 0.75, 0.99)  # of the events that happened before each knot
_N_KNOTS = len(_SHARES)
_MIDDLE = 2  # index of the knot at which the level is the log cumulative hazard
_SMALLEST_GAP = 0.05  # between knots in log time, if many events have the same time


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

    @classmethod
    def learn_fixed(cls, log_time: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        log_time, order = log_time.sort()
        cumulative_share = weight[order].cumsum(0) / weight.sum()
        shares = cumulative_share.new_tensor(_SHARES)
        index = torch.searchsorted(cumulative_share, shares).clamp(max=len(order) - 1)
        knots = list(log_time[index])
        for j in range(1, _N_KNOTS):
            knots[j] = torch.maximum(knots[j], knots[j - 1] + _SMALLEST_GAP)
        return tuple(knots)

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        level = torch.exp(log_precision) * (fixed[_MIDDLE] - location)
        return cls(level, *[log_precision] * _N_KNOTS, *fixed)

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        slopes, knots = self._slopes(), self.kinks()  # [..., 5]
        gaps = knots.diff(dim=-1)
        slope_before, slope_after = slopes[..., :-1], slopes[..., 1:]  # of each gap, [..., 4]
        share = (log_t[..., None] - knots[..., :-1]) / gaps
        share = share.clamp(0.0, 1.0)
        right_share = share**2 / 2  # integral of the share
        rises = gaps * (slope_before * (share - right_share) + slope_after * right_share)
        to_middle = gaps * (slope_before + slope_after) / 2
        rise = rises.sum(-1) - to_middle[..., :_MIDDLE].sum(-1)
        distance_before = (log_t - knots[..., 0]).clamp(max=0.0)
        distance_behind = (log_t - knots[..., -1]).clamp(min=0.0)
        outside = slopes[..., 0] * distance_before + slopes[..., -1] * distance_behind
        log_cumulative_hazard = self.level + rise + outside
        rising = pad(share, (1, 0), value=1.0)
        falling = pad(1 - share, (0, 1), value=1.0)
        slope = (slopes * rising * falling).sum(-1)
        log_rate = log_cumulative_hazard + torch.log(slope.clamp(min=1e-38))
        return log_cumulative_hazard, log_rate

    def displaced(self, steps: Tensor) -> Self:
        # as the Weibull distribution of slope 1 moved by its standard deviation
        level, *parameters = self.parameters
        return type(self)(level - steps, *parameters)

    def rescaled(self, log_factor: Tensor | float) -> Self:
        n_trained = 1 + _N_KNOTS
        trained, knots = self.parameters[:n_trained], self.parameters[n_trained:]
        return type(self)(*trained, *(knot + log_factor for knot in knots))

    def kinks(self) -> Tensor:
        knots = torch.broadcast_tensors(*self.parameters[1 + _N_KNOTS :])
        return torch.stack(knots, dim=-1)

    def steepness(self) -> Tensor:
        return self._slopes().amax(-1)

    def tail_index(self) -> Tensor:
        return torch.full_like(self.level, torch.inf)

    def _slopes(self) -> Tensor:
        log_slopes = torch.stack(self.parameters[1 : 1 + _N_KNOTS], dim=-1)
        return torch.exp(limit_gradient(log_slopes).clamp(max=LOG_LIMIT))
