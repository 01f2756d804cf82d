"""Where training starts: the maximum-likelihood fit of one primitive to the times alone, one for each event.

Newton's method on (location, log precision) in double precision: a few passes over the times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from ..likelihood import Observations, contributions
from ..primitives import LogLocationScale, Mixture
from .threads import threads_for

__all__ = ["warm_start"]

_MAX_STEPS = 100
_BLOCK = 1 << 15  # rows whose derivatives are taken at once
_STEP = 1e-4  # between the slopes whose differences are the curvature
_CLOSE = 1e-6  # Newton's error is of the order of the square of its last step
_LOG_PRECISION_RANGE = (-6.0, 6.0)  # shapes 0.0025 to 400: where all times are equal the best shape is infinite


def warm_start(law: type[LogLocationScale], observed: Observations, n_events: int) -> Tensor:
    """Return location and log precision of each event, ``[events, 2]``; other events count as censoring."""
    fits = []
    with threads_for(200.0 * len(observed)):
        for event in range(1, n_events + 1):
            own = observed.event == event
            alone = replace(observed, event=own.long())
            if observed.interval is not None:
                alone = replace(alone, interval=observed.interval & own)
            fits.append(_fit(law, alone))
    return torch.stack(fits)


def _fit(law: type[LogLocationScale], observed: Observations) -> Tensor:
    """Maximise the likelihood of one event by damped Newton steps."""
    plain = observed.interval is None and observed.truncated is None and observed.at_origin is None
    derivatives = _plain_derivatives if plain else _derivatives
    point = _first_guess(observed)
    value, gradient, curvature = derivatives(law, observed, point)
    for _ in range(_MAX_STEPS):
        step = _ascent_step(gradient, curvature)
        for _ in range(30):  # halve until the likelihood grows
            trial = point + step
            trial[1] = trial[1].clamp(*_LOG_PRECISION_RANGE)
            there = derivatives(law, observed, trial)
            if there[0] >= value:
                break
            step = step / 2
        else:
            break
        moved = (trial - point).abs().max()
        point, (value, gradient, curvature) = trial, there
        if moved < _CLOSE:
            break
    return point


def _first_guess(observed: Observations) -> Tensor:
    """Location from the events' log times, moved up by the share of rows that were censored."""
    weight = torch.where(observed.event > 0, observed.weight, 0.0)
    log_time = torch.log(observed.time)
    if observed.interval is not None and observed.upper is not None:
        log_time = torch.where(observed.interval, torch.log((observed.time + observed.upper) / 2), log_time)
    share = weight.sum() / observed.weight.sum()
    mean = (weight * log_time).sum() / weight.sum()
    spread = ((weight * (log_time - mean) ** 2).sum() / weight.sum()).sqrt().clamp(0.1, 5)
    return torch.stack([mean - 0.5 * torch.log(share), -torch.log(spread)])


def _ascent_step(gradient: Tensor, curvature: Tensor) -> Tensor:
    """Newton's step where the likelihood is concave, else along its eigenvectors with the signs put right."""
    values, vectors = torch.linalg.eigh(curvature)
    values = values.abs().clamp(min=1e-8 * float(values.abs().max()) + 1e-300)
    step = vectors @ ((vectors.T @ gradient) / values)
    return step * torch.clamp(2.0 / step.abs().max().clamp(min=1e-300), max=1.0)


def _derivatives(law: type[LogLocationScale], observed: Observations, point: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return value, gradient and matrix of second derivatives, summed over blocks of rows."""
    value, gradient, curvature = torch.zeros(()).double(), torch.zeros(2).double(), torch.zeros(2, 2).double()
    for part in _blocks(observed):
        at = point.detach().requires_grad_()
        here = _block(law, part, at)
        (slope,) = torch.autograd.grad(here, at, create_graph=True)
        rows = [torch.autograd.grad(entry, at, retain_graph=True)[0] for entry in slope]
        value, gradient, curvature = value + here.detach(), gradient + slope.detach(), curvature + torch.stack(rows)
    weight = observed.weight.sum()
    return value / weight, gradient / weight, curvature / weight


def _plain_derivatives(
    law: type[LogLocationScale], observed: Observations, point: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the same for exact and right-censored times: slopes in closed form, curvature by their differences."""

    def slopes(at: Tensor) -> tuple[Tensor, Tensor]:
        parts = [_plain_block(law, part, at) for part in _blocks(observed)]
        sums = torch.stack(parts).sum(0) / observed.weight.sum()
        return sums[0], sums[1:]

    value, gradient = slopes(point)
    rows = [(slopes(point + step)[1] - slopes(point - step)[1]) / (2 * _STEP) for step in _STEP * torch.eye(2).double()]
    curvature = torch.stack(rows)
    return value, gradient, (curvature + curvature.T) / 2


def _plain_block(law: type[LogLocationScale], observed: Observations, point: Tensor) -> Tensor:
    """Return the weighted sum of the log-likelihood of some rows and its two slopes."""
    log_time, happened = torch.log(observed.time), (observed.event > 0).double()
    precision = point[1].exp()
    z = (log_time - point[0]) * precision
    value, slope = law.standard(z, happened)
    value += happened * (point[1] + observed.log_width - log_time)
    by_z = observed.weight * slope
    by_precision = (observed.weight * happened).sum() + (by_z * z).sum()
    return torch.stack([(observed.weight * value).sum(), -by_z.sum() * precision, by_precision])


def _blocks(observed: Observations) -> Iterator[Observations]:
    """Yield the rows in parts, so that memory does not grow with their number."""
    for start in range(0, len(observed), _BLOCK):
        yield observed.take(slice(start, start + _BLOCK))


def _block(law: type[LogLocationScale], observed: Observations, point: Tensor) -> Tensor:
    """Return the weighted sum of the log-likelihood of some rows."""
    primitive = law.from_location(point[0].reshape(1, 1, 1), point[1].reshape(1, 1, 1))  # [rows, events, k]
    one = Mixture(torch.zeros_like(primitive.location), primitive)
    return (observed.weight * contributions(one, observed).total()).sum()
