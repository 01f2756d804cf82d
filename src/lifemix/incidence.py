"""Cumulative incidences and restricted means of competing events, by one quadrature rule.

Given the covariates, the latent times of the event types are independent, with one mixture each.
Given survival to s, the probability that event m comes first and by time t is the integral of
``f_m(x) prod_{j != m} S_j(x)`` over ``(s, t]``, divided by ``S(s)``. The variable of integration is
``log(x - s)``, and the panels are narrow compared with the steepest component. The probability of
any event within a panel, ``S(a) - S(b)``, is known; Gauss nodes only divide it among the events. So
incidences and survival add up to 1, and most of the error of the nodes cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ._types import FloatArray
from .primitives import Mixture
from .primitives.numeric import limit_gradient, log1mexp

__all__ = [
    "cumulative_hazard",
    "cumulative_incidences",
    "joint_survival",
    "log_incidence_between",
    "means",
    "restricted_means",
]

_WIDTH = 2.0  # of a panel, times the largest steepness
_N_NODES, _N_MEAN_NODES = 6, 12
_N_EARLY, _GROWTH = (
    8,
    2.5,
)  # panels before the first structure, each so many times as wide as the next
_LATE_WIDTH = 4.0  # of panels behind the last structure
_MOST_PANELS = 1024  # between the first and the last structure
_EARLY, _LATE = 0.05, 1 - 1e-8  # quantiles of components between which there is structure
_FIRST, _LAST = -700.0, 700.0  # log times whose exponentials are numbers
_BEYOND = 300.0  # the cumulative hazard beyond which nothing adds to a mean
_TINY = 1e-300
_ORIGIN = -1e5  # stands for the logarithm of 0
_BLOCK = 1 << 18  # numbers in the largest temporary array
_LEAST = -1e36  # a log rate that is no probability, with a gradient


def cumulative_hazard(log_survival: Tensor, log_cdf: Tensor) -> Tensor:
    """Return ``-log S``, from ``log F`` where S is close to 1: both ends keep their digits."""
    return torch.where(log_cdf < -1, -torch.log1p(-torch.exp(log_cdf.clamp(max=-1))), -log_survival)


def log_incidence_between(mixtures: Mixture, lower: Tensor, upper: Tensor, event: Tensor) -> Tensor:
    """Return ``log[F_m(upper) - F_m(lower)]`` of each row, m being its event, with derivatives.

    Everything is computed in float64; the result has the type of the weights.

    Parameters
    ----------
    mixtures : Mixture
        Weights and parameters ``[rows, events, components]``.
    lower, upper : Tensor
        Ends of the intervals, ``[rows]``; lower may be 0.
    event : Tensor
        The event types, from 1 on, ``[rows]``.
    """
    dtype = mixtures.log_weights.dtype
    mixtures = mixtures.map(lambda values: limit_gradient(values).double())
    lower, upper = lower.double(), upper.double()
    with torch.no_grad():
        ends = _panel_ends(mixtures, lower, torch.log(upper - lower))
        width = ends.diff(dim=1)
        nodes, weights = _gauss(_N_NODES, ends.device)
        inner = ends[:, :-1, None] + width[..., None] * nodes  # [rows, panels, nodes]
    columns = mixtures.map(lambda values: values[:, :, None])  # [rows, events, 1, components]

    def at(log_elapsed: Tensor) -> Tensor:
        """Return times in the shape of the columns' mixtures, ``[rows, events, points]``."""
        t = lower[:, None] + torch.exp(log_elapsed.flatten(1))
        return t[:, None].expand(-1, mixtures.log_weights.shape[1], -1)

    log_pdf, log_survival = columns.log_pdf(at(inner)), columns.log_survival(at(inner))
    log_rate = log_pdf - log_survival + log_survival.sum(1, keepdim=True)
    log_rate = log_rate.unflatten(2, inner.shape[1:]) + inner[:, None] + torch.log(weights)
    log_shares = torch.logsumexp(log_rate.clamp(min=_LEAST), dim=-1)  # [rows, events, panels]
    log_total = torch.logsumexp(log_shares, dim=1)
    hazard = cumulative_hazard(columns.log_survival(at(ends)), columns.log_cdf(at(ends))).sum(1)
    rise = hazard.diff(dim=1)
    is_exact = rise > 1e-8 * hazard[:, 1:]  # not a matter of rounding
    rise = torch.where(is_exact, rise, 1.0)
    log_mass = log1mexp(rise, torch.log(rise)) - hazard[:, :-1]
    log_mass = torch.where(is_exact, log_mass, log_total + torch.log(width).clamp(min=_LEAST))
    log_share = log_shares[torch.arange(len(event)), event - 1]
    return torch.logsumexp(log_share - log_total + log_mass, dim=-1).to(dtype)


@torch.no_grad()
def joint_survival(mixtures: Mixture, times: FloatArray) -> Tensor:
    """Return the probability of no event by each time, the mean over members, ``[rows, times]``.

    Parameters
    ----------
    mixtures : Mixture
        In float64, ``[members, rows, events, components]``.
    times : array of shape (n_times,)
        Times, at least 0.
    """
    members, n_rows, n_events, k = mixtures.log_weights.shape
    log_times = torch.log(torch.as_tensor(times)).clamp(min=_ORIGIN)
    survival = torch.empty(n_rows, len(times), dtype=torch.float64)
    size = max(1, _BLOCK // (members * n_events * k * len(times)))
    for begin in range(0, n_rows, size):
        rows = slice(begin, begin + size)
        flat = mixtures.map(lambda values: values[:, rows].flatten(0, 2)[..., None])  # noqa: B023
        curves = flat.components.survival_curve(log_times)
        net = torch.bmm(flat.log_weights.exp().mT, curves).view(members, -1, n_events, len(times))
        survival[rows] = net.prod(2).mean(0)
    survival[:, torch.as_tensor(times == 0)] = 1.0
    return survival.clamp_(max=1.0)


@torch.no_grad()
def cumulative_incidences(
    mixtures: Mixture, times: Tensor, survived_to: Tensor | None = None
) -> Tensor:
    """Return the probability that each event comes first and by each time, ``[rows, events, times]``.

    Parameters
    ----------
    mixtures : Mixture
        In float64, ``[rows, events, components]``.
    times : Tensor
        Times, at least 0, ``[rows, times]``.
    survived_to : Tensor, optional
        The probabilities are those given survival to these times, ``[rows]``.
    """
    return _in_blocks(_incidences, mixtures, times, survived_to, _N_NODES)


def _incidences(
    mixtures: Mixture, times: Tensor, survived_to: Tensor | None, n_nodes: int
) -> Tensor:
    elapsed = times if survived_to is None else times - survived_to[:, None]
    panels = _Panels.up_to(torch.log(elapsed.clamp(min=0.0)), mixtures, survived_to, n_nodes)
    upper, n_upper = panels.upper, panels.upper.shape[1]
    points = torch.cat([upper, panels.nodes.flatten(1)], dim=1)
    survival, density = _curves(mixtures, points, survived_to)  # [rows, events, points]
    joint = survival.prod(1)
    rate = density.mul_(joint[:, None]).div_(survival.clamp_(min=_TINY))
    share = torch.matmul(rate[..., n_upper:].unflatten(2, panels.nodes.shape[1:]), panels.weights)
    at_ends = torch.nn.functional.pad(joint[:, : panels.count], (1, 0), value=1.0)
    at_lower = torch.cat([at_ends[:, :-1], at_ends.gather(1, panels.index)], dim=1)
    mass, total = (at_lower - joint[:, :n_upper]).clamp_(min=0.0), share.sum(1)
    share *= (mass / total.clamp(min=_TINY))[:, None]
    share = torch.where(total[:, None] > 0, share, mass[:, None] / share.shape[1])
    return torch.where(elapsed[:, None] > 0, panels.sum_up(share), 0.0)


@torch.no_grad()
def restricted_means(mixtures: Mixture, times: Tensor, survived_to: Tensor | None = None) -> Tensor:
    """Return ``E min(T, t) - s``, T being the first event, given survival to s, ``[rows, times]``.

    Parameters
    ----------
    mixtures : Mixture
        In float64, ``[rows, events, components]``.
    times : Tensor
        Times, at least 0, ``[rows, times]``.
    survived_to : Tensor, optional
        The times s, ``[rows]``; None for 0.
    """
    return _in_blocks(_restricted_means, mixtures, times, survived_to, _N_MEAN_NODES)


def _restricted_means(
    mixtures: Mixture, times: Tensor, survived_to: Tensor | None, n_nodes: int
) -> Tensor:
    elapsed = times if survived_to is None else times - survived_to[:, None]
    panels = _Panels.up_to(torch.log(elapsed.clamp(min=0.0)), mixtures, survived_to, n_nodes)
    nodes = panels.nodes.flatten(1)
    survival = _curves(mixtures, nodes, survived_to)[0].prod(1)
    integrand = survival.mul_(torch.exp(nodes)).view_as(panels.nodes)
    areas = torch.matmul(integrand, panels.weights) * panels.width
    areas[:, 0] = torch.exp(panels.upper[:, 0])  # S is 1 up to there
    return torch.where(elapsed > 0, panels.sum_up(areas), 0.0)


@torch.no_grad()
def means(mixtures: Mixture, survived_to: Tensor | None = None) -> Tensor:
    """Return ``E T - s``, T being the first event, given survival to s, ``[rows]``; parameters as above."""
    tail_index = mixtures.components.tail_index().amin(2).sum(1)
    start = torch.zeros_like(tail_index) if survived_to is None else survived_to
    log_s = mixtures.components.log_survival(start[:, None, None]) - _BEYOND
    last = mixtures.components.inverse_log_survival(log_s).nan_to_num(nan=0.0).flatten(1)
    last = torch.where(torch.isfinite(last), last, 0.0).amax(1)
    last = torch.where(torch.isfinite(tail_index), math.exp(_LAST), torch.maximum(last, start))
    inside = restricted_means(mixtures, last[:, None], survived_to)[:, 0]
    survival = _curves(mixtures, torch.log(last - start)[:, None], survived_to)[0].prod(1)[:, 0]
    beyond = last * survival / (tail_index - 1)  # S falls as that power of time
    return torch.where(tail_index > 1, inside + beyond, torch.inf)


def _in_blocks(
    function: Callable[[Mixture, Tensor, Tensor | None, int], Tensor],
    mixtures: Mixture,
    times: Tensor,
    survived_to: Tensor | None,
    n_nodes: int,
) -> Tensor:
    """Apply a function to blocks of rows, so that its temporary arrays fit into the cache.

    Rows of similar steepness share a block, because they need about as many panels.
    """
    n_points = (times.shape[1] + 2 * _N_EARLY) * (n_nodes + 1)
    size = max(1, _BLOCK // (n_points * mixtures.log_weights.shape[1:].numel()))
    order = torch.argsort(mixtures.components.steepness().flatten(1).amax(1))
    values = []
    for rows in order.split(size):
        block = mixtures.map(lambda values: values[rows])  # noqa: B023
        start = None if survived_to is None else survived_to[rows]
        values.append(function(block, times[rows], start, n_nodes))
    return torch.cat(values)[torch.argsort(order)]


@dataclass(frozen=True)
class _Panels:
    """Panels on the axis of ``log(t - survived_to)``.

    The first ``count`` panels of a row adjoin each other. There is one more for each asked time: it
    ends at that time and begins at the last end before it, which has the number ``index``.
    """

    count: int
    index: Tensor  # [rows, times]
    upper: Tensor  # [rows, panels]
    width: Tensor  # [rows, panels]
    nodes: Tensor  # [rows, panels, nodes]
    weights: Tensor  # [nodes]

    @classmethod
    def up_to(
        cls, log_elapsed: Tensor, mixtures: Mixture, survived_to: Tensor | None, n_nodes: int
    ) -> _Panels:
        """Return the panels for asked times, ``[rows, times]``."""
        log_elapsed = log_elapsed.clamp(_FIRST, _LAST)
        ends = _panel_ends(mixtures, survived_to, log_elapsed.amax(1))
        count = ends.shape[1] - 1
        index = torch.searchsorted(ends, log_elapsed).sub_(1).clamp_(0, count - 1)
        lower = torch.cat([ends[:, :-1], ends.gather(1, index)], dim=1)
        upper = torch.cat([ends[:, 1:], log_elapsed], dim=1)
        places, weights = _gauss(n_nodes, ends.device)
        nodes = torch.addcmul(lower[..., None], (upper - lower)[..., None], places)
        return cls(count, index, upper, upper - lower, nodes, weights)

    def sum_up(self, values: Tensor) -> Tensor:
        """Return sums up to the asked times, ``[rows, ..., times]``, of one value per panel."""
        before = torch.nn.functional.pad(values[..., : self.count].cumsum(-1), (1, 0))
        index = (
            self.index if values.dim() == 2 else self.index[:, None].expand(-1, values.shape[1], -1)
        )
        return before.gather(-1, index) + values[..., self.count :]


def _curves(
    mixtures: Mixture, log_elapsed: Tensor, survived_to: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the survival of each event and the density of its ``log(t - survived_to)``, given survival."""
    if survived_to is None:
        components = mixtures.components.map(lambda values: values[..., None])
        curves = components.survival_and_density_curve(log_elapsed[:, None, None])
        weights = mixtures.log_weights.exp().flatten(0, 1)[
            :, None
        ]  # [rows x events, 1, components]
        survival, density = (
            torch.bmm(weights, curve.flatten(0, 1)).unflatten(0, curve.shape[:2])[:, :, 0]
            for curve in curves
        )
        return survival.clamp_(max=1.0), density
    columns = mixtures.map(lambda values: values[:, :, None])
    start = survived_to[:, None, None].expand(-1, mixtures.log_weights.shape[1], 1)
    t = start + torch.exp(log_elapsed)[:, None]
    base = columns.log_survival(start)
    survival = torch.exp(columns.log_survival(t) - base).clamp_(max=1.0)
    return survival, torch.exp(columns.log_pdf(t) - base + log_elapsed[:, None])


def _gauss(n_nodes: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return torch.tensor((nodes + 1) / 2, device=device), torch.tensor(weights / 2, device=device)


def _panel_ends(mixtures: Mixture, survived_to: Tensor | None, log_last: Tensor) -> Tensor:
    """Return the ends of the panels on the axis of ``log(t - survived_to)``, ascending, ``[rows, ends]``.

    The panels of a row depend on that row alone: those that only other rows need have no width.
    """
    components = mixtures.components.map(lambda values: values.flatten(1))
    start = torch.zeros_like(log_last) if survived_to is None else survived_to
    at_start = components.log_survival(start[:, None])
    cured = torch.exp(torch.log(components.cure_fraction()) - at_start).clamp(max=1.0)

    def log_quantile(level: float, otherwise: float) -> Tensor:
        """Return the level's quantile of each component, among its events after the start."""
        log_s = at_start + torch.log1p(-level * (1 - cured))
        quantile = torch.log(components.inverse_log_survival(log_s) - start[:, None])
        return torch.where(quantile.abs() < _LAST, quantile, otherwise)

    first = torch.minimum(log_quantile(_EARLY, torch.inf).amin(1), log_last)
    last = torch.minimum(torch.maximum(log_quantile(_LATE, -torch.inf).amax(1), first), log_last)
    width = _WIDTH / components.steepness().amax(1).clamp(min=1.0)
    width = torch.maximum(width, (last - first) / _MOST_PANELS)
    n_panels, n_late = (
        int(torch.ceil(counts).max()) if len(counts) else 0
        for counts in ((last - first) / width, (log_last - last) / _LATE_WIDTH)
    )
    steps = torch.arange(max(n_panels, _N_EARLY, n_late) + 1, device=width.device)
    middle = first[:, None] + steps[1 : n_panels + 1] * width[:, None]
    ends = [
        first[:, None] - (_GROWTH ** steps[: _N_EARLY + 1] - 1) * width[:, None],
        torch.minimum(middle, last[:, None]),
        last[:, None] + _LATE_WIDTH * steps[1 : n_late + 1],
    ]
    kinks = components.kinks()
    if kinks is not None:
        kinks = torch.exp(kinks.flatten(1)) - start[:, None]
        ends.append(torch.log(kinks.clamp(min=0.0)))
    joined = torch.cat(ends, dim=1).clamp(min=_FIRST)
    return torch.minimum(joined, log_last[:, None]).sort(dim=1).values
