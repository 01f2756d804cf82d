"""Cumulative incidences and restricted means of competing events, by one quadrature rule.

Given the covariates, the latent times of the event types are independent, with one mixture each.
Given survival to s, the probability that event m comes first and by time t is the integral of
``f_m(x) prod_{j != m} S_j(x)`` over ``(s, t]``, divided by ``S(s)``. The variable of integration is
``log(x - s)``; panels are narrow compared with the components that change there. The probability of
any event within a panel, ``S(a) - S(b)``, is known; the nodes only divide it among the events. So
incidences and survival add up to 1, and most of the error of the nodes cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .primitives import Mixture, Primitive
from .primitives.numeric import cumulative_hazard, limit_gradient, log1mexp

__all__ = [
    "cumulative_incidences",
    "joint_survival",
    "log_incidence_between",
    "means",
    "restricted_means",
]

_WIDTH = 1.5  # of a panel, times the steepness of a component
_MOST_PANELS = 32  # between the quantiles; components that need more have panels of their own
_EARLY, _LATE = 0.05, 1 - 1e-8  # quantiles of components between which panels have equal widths
_N_EARLY, _GROWTH = 7, 2.2  # panels before the early quantile, each wider than the next
_LATE_WIDTH = 4.0  # of panels behind the last late quantile
_FIRST, _LAST = -700.0, 700.0  # log times whose exponentials are numbers
_BEYOND = 300.0  # the cumulative hazard beyond which nothing adds to a mean
_TINY = 1e-300
_LEAST = -1e36  # a log rate that is no probability, with a gradient
_BLOCK = 1 << 19  # numbers in the largest temporary array


class _GaussLobatto:
    """A rule on every panel, exact up to the degree ``2 n - 3``; neighbours share the node between them."""

    def __init__(self, n_nodes: int) -> None:
        polynomial = np.polynomial.legendre.Legendre.basis(n_nodes - 1)
        nodes = np.array([-1.0, *polynomial.deriv().roots(), 1.0])
        weights = 2 / (n_nodes * (n_nodes - 1) * polynomial(nodes) ** 2)
        self.n_nodes = n_nodes
        self.nodes = torch.from_numpy((nodes + 1) / 2)
        self.weights = torch.from_numpy(weights / 2)

    def points(self, ends: Tensor) -> Tensor:
        """Return the nodes of all panels, ascending, ``[rows, points]``."""
        nodes = self.nodes[:-1].to(ends.device)
        width = ends.diff(dim=1)
        inner = ends[:, :-1, None] + width[..., None] * nodes
        return torch.cat([inner.flatten(1), ends[:, -1:]], dim=1)

    def by_panel(self, values: Tensor) -> Tensor:
        """Return values at the points by panel, ``[..., panels, nodes]``."""
        return values.unfold(-1, self.n_nodes, self.n_nodes - 1)

    def at_ends(self, values: Tensor) -> Tensor:
        """Return those of values at the points that are at the ends of panels, ``[..., ends]``."""
        return values[..., :: self.n_nodes - 1]

    def integrate(self, values: Tensor, ends: Tensor) -> Tensor:
        """Return the integral over each panel, ``[rows, events, panels]``, of values at the points."""
        means = torch.matmul(self.by_panel(values), self.weights)
        return means * ends.diff(dim=1)[:, None]


_RULE, _MEAN_RULE = _GaussLobatto(6), _GaussLobatto(13)


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
    dtype, n_events = mixtures.log_weights.dtype, mixtures.log_weights.shape[1]
    mixtures = mixtures.map(lambda values: limit_gradient(values).double())
    lower, upper = lower.double(), upper.double()
    with torch.no_grad():
        ends = _panel_ends(mixtures, lower, torch.log(upper - lower)[:, None])
        points = _RULE.points(ends)
        log_width = torch.log(ends.diff(dim=1)).clamp(min=_LEAST)
        log_nodes = torch.log(_RULE.weights.to(ends.device))
    t = lower[:, None] + torch.exp(points)
    t = t[:, None].expand(-1, n_events, -1)  # [rows, events, points]
    columns = _columns(mixtures)
    log_survival = columns.log_survival(t)
    log_joint = log_survival.sum(1, keepdim=True)
    log_rate = columns.log_pdf(t) - log_survival + log_joint + points[:, None]
    log_terms = _RULE.by_panel(log_rate.clamp(min=_LEAST)) + log_nodes
    log_shares = torch.logsumexp(log_terms, dim=-1)  # [rows, events, panels]
    log_total = torch.logsumexp(log_shares, dim=1)
    log_cdf = columns.log_cdf(_RULE.at_ends(t))
    hazard = cumulative_hazard(_RULE.at_ends(log_survival), log_cdf).sum(1)
    rise = hazard.diff(dim=1)
    is_exact = rise > 1e-8 * hazard[:, 1:]  # not a matter of rounding
    rise = torch.where(is_exact, rise, 1.0)
    log_mass = log1mexp(rise, torch.log(rise)) - hazard[:, :-1]
    log_mass = torch.where(is_exact, log_mass, log_total + log_width)
    log_share = log_shares[torch.arange(len(event)), event - 1]
    return torch.logsumexp(log_share - log_total + log_mass, dim=-1).to(dtype)


def _in_blocks(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Apply a function to blocks of rows, so that its temporary arrays fit into the cache.

    Rows of similar steepness share a block, because they need about as many panels.
    """

    @wraps(function)
    @torch.no_grad()
    def by_block(mixtures: Mixture, times: Tensor, survived_to: Tensor) -> Tensor:
        n_points = (times.shape[1] + 2 * _N_EARLY) * _RULE.n_nodes  # about as many
        n_components = mixtures.log_weights.shape[1:].numel()
        size = max(1, _BLOCK // (n_points * n_components))
        steepness = mixtures.components.steepness().flatten(1).amax(1)
        order = torch.argsort(steepness)
        values = []
        for rows in order.split(size):
            block = mixtures.map(lambda values: values[rows])  # noqa: B023
            values.append(function(block, times[rows], survived_to[rows]))
        return torch.cat(values)[torch.argsort(order)]

    return by_block


@torch.no_grad()
def joint_survival(mixtures: Mixture, times: Tensor, survived_to: Tensor) -> Tensor:
    """Return the probability of no event by each time, given survival, ``[rows, times]``.

    Parameters
    ----------
    mixtures : Mixture
        In float64, ``[rows, events, components]``.
    times : Tensor
        Times, at least 0, ``[rows, times]``.
    survived_to : Tensor
        The probabilities are those given survival to these times, ``[rows]``.
    """
    log_elapsed = _log_elapsed(times, survived_to)
    return _survival(mixtures, log_elapsed, survived_to).prod(1)


@_in_blocks
def cumulative_incidences(mixtures: Mixture, times: Tensor, survived_to: Tensor) -> Tensor:
    """Return the probability that each event comes first and by each time, ``[rows, events, times]``.

    Parameters are those of ``joint_survival``.
    """
    log_elapsed = _log_elapsed(times, survived_to)
    ends = _panel_ends(mixtures, survived_to, log_elapsed)
    ends = pad(ends, (1, 0), value=_FIRST)  # a time before all panels has an incidence, too
    points = _RULE.points(ends)
    survival, density = _survival_and_density(mixtures, points, survived_to)
    joint = survival.prod(1, keepdim=True)
    rate = density.mul_(joint).div_(survival.clamp_(min=_TINY))  # [rows, events, points]
    share = _RULE.integrate(rate, ends)
    at_ends = _RULE.at_ends(joint).clone()
    at_ends[..., 0] = 1.0  # the first panel begins at the origin
    mass = -at_ends.diff(dim=-1).clamp(max=0.0)
    total = share.sum(1, keepdim=True)
    share = torch.where(total > 0, share / total.clamp(min=_TINY), 1 / share.shape[1])
    return _up_to(log_elapsed, ends, share * mass)


@_in_blocks
def restricted_means(mixtures: Mixture, times: Tensor, survived_to: Tensor) -> Tensor:
    """Return ``E min(T, t) - s``, T being the first event, given survival to s, ``[rows, times]``.

    Parameters are those of ``joint_survival``.
    """
    log_elapsed = _log_elapsed(times, survived_to)
    ends = _panel_ends(mixtures, survived_to, log_elapsed)
    points = _MEAN_RULE.points(ends)
    joint = _survival(mixtures, points, survived_to).prod(1, keepdim=True)
    early_area = torch.exp(ends[:, 0]) * joint[:, 0, 0]  # S hardly changes up to the first panel
    integrand = joint * torch.exp(points)[:, None]
    areas = _MEAN_RULE.integrate(integrand, ends)
    areas[:, 0, 0] += early_area
    return _up_to(log_elapsed, ends, areas)[:, 0]


@torch.no_grad()
def means(mixtures: Mixture, survived_to: Tensor) -> Tensor:
    """Return ``E T - s``, T being the first event, given survival to s, ``[rows, 1]``.

    Parameters are those of ``joint_survival``.
    """
    components = mixtures.components
    tail_index = components.tail_index().amin(2)
    power = tail_index.sum(1, keepdim=True)  # of time, with which S falls in the end
    start = survived_to[:, None]
    log_s = components.log_survival(start[..., None]) - _BEYOND
    last = components.inverse_log_survival(log_s).flatten(1)
    last = torch.where(torch.isfinite(last), last, 0.0).amax(1, keepdim=True)
    last = torch.maximum(last, start)
    last = torch.where(torch.isfinite(power), math.exp(_LAST), last)
    inside = restricted_means(mixtures, last, survived_to)
    beyond = last * joint_survival(mixtures, last, survived_to) / (power - 1)
    return torch.where(power > 1, inside + beyond, torch.inf)


# The curves of each event given survival, ``[rows, events, points]``.


def _survival(mixtures: Mixture, log_elapsed: Tensor, survived_to: Tensor) -> Tensor:
    if survived_to.any():
        return _survival_and_density(mixtures, log_elapsed, survived_to)[0]
    components = mixtures.components.map(lambda values: values[..., None])
    survival = components.survival_curve(log_elapsed[:, None, None])
    return _mean_curve(mixtures, survival).clamp_(max=1.0)


def _survival_and_density(
    mixtures: Mixture, log_elapsed: Tensor, survived_to: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the survival, and the density of ``log(t - survived_to)``, given survival to then."""
    if not survived_to.any():  # the usual case: no division, and one call for both curves
        components = mixtures.components.map(lambda values: values[..., None])
        curves = components.survival_and_density_curve(log_elapsed[:, None, None])
        survival, density = (_mean_curve(mixtures, curve) for curve in curves)
        return survival.clamp_(max=1.0), density
    columns, start = _columns(mixtures), survived_to[:, None]
    n_events = mixtures.log_weights.shape[1]
    t = start + torch.exp(log_elapsed)
    t, start = (times[:, None].expand(-1, n_events, -1) for times in (t, start))
    log_at_start = columns.log_survival(start)
    survival = torch.exp(columns.log_survival(t) - log_at_start)
    log_density = columns.log_pdf(t) - log_at_start + log_elapsed[:, None]
    return survival.clamp_(max=1.0), torch.exp(log_density)


def _columns(mixtures: Mixture) -> Mixture:
    return mixtures.map(lambda values: values[:, :, None])  # [rows, events, 1, components]


def _mean_curve(mixtures: Mixture, curves: Tensor) -> Tensor:
    """Return the weighted mean of the curves of components, ``[rows, events, components, points]``."""
    weights = mixtures.log_weights.exp()[:, :, None]
    return torch.matmul(weights, curves)[:, :, 0]


# Panels on the axis of log(t - survived_to).


def _log_elapsed(times: Tensor, survived_to: Tensor) -> Tensor:
    elapsed = times - survived_to[:, None]
    return torch.log(elapsed.clamp(min=0.0)).clamp(_FIRST, _LAST)


def _up_to(log_elapsed: Tensor, ends: Tensor, values: Tensor) -> Tensor:
    """Return sums of ``values``, ``[rows, ..., panels]``, up to the asked times."""
    sums = pad(values.cumsum(-1), (1, 0))  # at the ends
    index = torch.searchsorted(ends, log_elapsed)[:, None]
    sums = sums.gather(-1, index.expand(-1, sums.shape[1], -1))
    is_positive = log_elapsed[:, None] > _FIRST
    return torch.where(is_positive, sums, 0.0)


def _panel_ends(mixtures: Mixture, survived_to: Tensor, log_elapsed: Tensor) -> Tensor:
    """Return the ends of the panels, ascending, the asked times among them, ``[rows, ends]``.

    The panels of a row depend on that row alone: those that only other rows need have no width.
    """
    components = mixtures.components.map(lambda values: values.flatten(1))
    start = survived_to[:, None]
    log_last = log_elapsed.amax(1, keepdim=True)
    early, late = _structure(components, start, log_last)
    first, last = early.amin(1, keepdim=True), late.amax(1, keepdim=True)
    width = _WIDTH / components.steepness().clamp(min=1.0)
    row_width = torch.maximum(width.amin(1, keepdim=True), (last - first) / _MOST_PANELS)
    ends = [_spread(first, last, row_width).flatten(1)]
    is_sharp = width < row_width
    if is_sharp.any():
        width = torch.maximum(width, (late - early) / _MOST_PANELS)
        component_ends = _spread(early, late, width)  # [rows, components, ends]
        component_ends = torch.where(is_sharp[..., None], component_ends, log_last[..., None])
        ends.append(component_ends.flatten(1))
    n_late = _most((log_last - last) / _LATE_WIDTH)
    late_steps = torch.arange(1, n_late + 1, device=last.device)
    ends.append(last + _LATE_WIDTH * late_steps)
    kinks = components.kinks()
    if kinks is not None:
        elapsed = torch.exp(kinks.flatten(1)) - start
        ends.append(torch.log(elapsed.clamp(min=0.0)))
    inner = torch.cat(ends, dim=1).clamp(min=_FIRST)
    inner = torch.minimum(inner, log_last).sort(dim=1).values
    n_inner = (inner < log_last).sum(1)
    inner = inner[:, : _most(n_inner) + 1]
    return torch.cat([inner, log_elapsed], dim=1).sort(dim=1).values


def _structure(components: Primitive, start: Tensor, log_last: Tensor) -> tuple[Tensor, Tensor]:
    """Return log times between which each component changes, up to the last one, ``[rows, components]``."""
    at_start = components.log_survival(start)
    log_cured = torch.log(components.cure_fraction()) - at_start
    has_event = 1 - torch.exp(log_cured).clamp(max=1.0)

    def log_quantile(level: float, otherwise: float) -> Tensor:
        """Return the level's quantile of each component, among its events after the start."""
        log_s = at_start + torch.log1p(-level * has_event)
        quantile = torch.log(components.inverse_log_survival(log_s) - start)
        return torch.where(quantile.abs() < _LAST, quantile, otherwise)

    early = torch.minimum(log_quantile(_EARLY, torch.inf), log_last)
    late = torch.maximum(log_quantile(_LATE, -torch.inf), early)
    return early, torch.minimum(late, log_last)


def _spread(first: Tensor, last: Tensor, width: Tensor) -> Tensor:
    """Return ends of panels of equal width from first to last, and of wider and wider ones before."""
    n_panels = max(_most((last - first) / width), _N_EARLY)
    steps = torch.arange(n_panels + 1, device=width.device)
    first, last, width = first[..., None], last[..., None], width[..., None]
    growing = _GROWTH ** steps[1 : _N_EARLY + 1] - 1
    inside = torch.minimum(first + steps * width, last)
    return torch.cat([first - growing * width, inside], dim=-1)


def _most(counts: Tensor) -> int:
    """Return the largest count, rounded up."""
    return int(torch.ceil(counts).max()) if len(counts) else 0
