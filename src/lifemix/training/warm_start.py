"""Where training starts: the maximum-likelihood fit of one primitive to the times alone, one for each event type.

Newton's method in double precision: a few passes over the times. For log-location-scale families it works on location
and log precision, for others on the parameters themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..likelihood import Observations, contributions
from ..primitives import LogLocationScale, Mixture, Primitive
from ..primitives.mixed import Mixed, mixed
from ..primitives.never import Never
from .threads import threads_for

__all__ = ["warm_start"]

_MAX_STEPS = 100
_BLOCK = 1 << 15  # rows whose derivatives are taken at once
_STEP = 1e-4  # between the slopes whose differences are the curvature
_CLOSE = 1e-6  # Newton's error is of the order of the square of its last step
_LOG_PRECISION_RANGE = (
    -6.0,
    6.0,
)  # shapes 0.0025 to 400: where all times are equal the best shape is infinite
_REACH = 6.0  # how far from the first guess another parameter than the location may go

_Slopes = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Value and gradient of the log-likelihood per unit of weight: of a point ``[n]``, or of points ``[points, n]``."""
_Derivatives = tuple[Tensor, Tensor, Callable[[], Tensor]]
"""Value and gradient at a point, and what computes the matrix of second derivatives."""


@dataclass(frozen=True)
class _Problem:
    """The likelihood of one event as a function of a point."""

    slopes: _Slopes  # of several points at once
    start: Tensor
    low: Tensor  # the range of every coordinate
    high: Tensor
    primitive: Callable[[Tensor], Primitive]


def warm_start(family: type[Primitive], observed: Observations, n_events: int) -> Tensor:
    """Return the parameters of each event, fixed ones included, ``[events, parameters]``.

    Other events count as censoring. Several families have their parameters one after another; beside the cured, each is
    fitted together with their share.
    """
    if issubclass(family, Mixed):
        cure = Never in family.families
        others = [one for one in family.families if one is not Never]
        parts = [_per_event(one, observed, n_events, cure) for one in others]
        if cure:
            log_odds = torch.stack([part[:, -1] for part in parts]).mean(0)
            parts = [part[:, :-1] for part in parts]
            parts.insert(family.families.index(Never), log_odds[:, None])
        return torch.cat(parts, dim=1)
    return _per_event(family, observed, n_events)


def _per_event(
    family: type[Primitive], observed: Observations, n_events: int, cure: bool = False
) -> Tensor:
    """Return the parameters of one family for each event, and the log odds of never with ``cure``."""
    fits = []
    with threads_for(200.0 * len(observed)):
        for event in range(1, n_events + 1):
            own = observed.event == event
            alone = replace(observed, event=own.long())
            if observed.interval is not None:
                alone = replace(alone, interval=observed.interval & own)
            fits.append(_fit_with_cure(family, alone) if cure else _fit(family, alone))
    return torch.stack(fits)


def _fit(family: type[Primitive], observed: Observations) -> Tensor:
    """Maximise the likelihood of one event; return the parameters."""
    if issubclass(family, LogLocationScale):
        problem = _by_location(family, observed)
    else:
        problem = _by_parameters(family, observed)
    return torch.stack(problem.primitive(_maximise(problem)).parameters)


def _fit_with_cure(family: type[Primitive], observed: Observations) -> Tensor:
    """Maximise the likelihood of a mixture of the family and never; return all parameters and the log odds of never."""
    plain = _by_parameters(family, observed)
    start = torch.cat([plain.start, torch.zeros(1).double()])
    end = torch.full((1,), _REACH).double()
    joined = mixed((family, Never))

    def mixture(point: Tensor) -> Mixture:
        both = [
            plain.primitive(point[:-1]).map(lambda parameter: parameter.expand(1, 1, 2)),
            Never(torch.zeros(1, 1, 2).double()),
        ]
        weights = torch.stack([logsigmoid(-point[-1]), logsigmoid(point[-1])])[None, None]
        return Mixture(weights, joined.join(both, torch.tensor([0, 1])))

    problem = _Problem(
        _one_by_one(lambda at: _slopes(mixture, observed, at)),
        start,
        torch.cat([plain.low, -end]),
        torch.cat([plain.high, end]),
        plain.primitive,
    )
    point = _maximise(problem)
    return torch.cat([torch.stack(plain.primitive(point[:-1]).parameters), point[-1:]])


def _by_location(family: type[LogLocationScale], observed: Observations) -> _Problem:
    """Return the problem in location and log precision."""

    def primitive(point: Tensor) -> Primitive:
        return family.from_location(point[0], point[1])

    rows = [_Rows.of(part) for part in _blocks(observed)]
    slopes = _written_out(family, rows, observed.weight.sum())
    least, most = _LOG_PRECISION_RANGE
    low, high = torch.tensor([-torch.inf, least]), torch.tensor([torch.inf, most])
    return _Problem(slopes, _first_guess(observed), low.double(), high.double(), primitive)


def _by_parameters(family: type[Primitive], observed: Observations) -> _Problem:
    """Return the problem in the parameters of any primitive."""
    own = observed.event > 0
    fixed = family.learn_fixed(torch.log(observed.time[own]), observed.weight[own])

    def primitive(point: Tensor) -> Primitive:
        return family(*point, *fixed)

    guess = _first_guess(observed)
    n_trained = len(family.parameter_names())
    start = torch.stack(family.first_guess(guess[0], guess[1], *fixed).parameters[:n_trained])
    reach = torch.full_like(start, _REACH)
    location = family.location_index()
    if location is not None:
        reach[location] = torch.inf
    slopes = (
        _written_slopes(family, fixed, observed) if family.has_slopes and _plain(observed) else None
    )
    return _Problem(
        _one_by_one(slopes or (lambda at: _slopes(primitive, observed, at))),
        start,
        start - reach,
        start + reach,
        primitive,
    )


def _plain(observed: Observations) -> bool:
    return observed.interval is None and observed.truncated is None and observed.at_origin is None


def _written_slopes(
    family: type[Primitive], fixed: tuple[Tensor, ...], observed: Observations
) -> _Slopes:
    """Return value and gradient for exact and right-censored times of a primitive that has slopes of its own."""
    log_time, happened = torch.log(observed.time), (observed.event > 0).double()
    known = (observed.weight * happened * (observed.log_width - log_time)).sum()
    prepared = family.prepared(
        log_time[None, None], torch.stack(fixed)[None, :, None]
    )  # one event, one component
    space = log_time.new_empty(1, len(family.parameter_names()), 1, len(log_time))

    def slopes(at: Tensor) -> tuple[Tensor, Tensor]:
        value = family.value_and_slopes(
            prepared, happened, at.view(1, -1, 1, 1).expand_as(space), space
        )
        total = (value[0, 0] * observed.weight).sum() + known
        return total / observed.weight.sum(), (
            space[0, :, 0] @ observed.weight
        ) / observed.weight.sum()

    return slopes


def _maximise(problem: _Problem) -> Tensor:
    """Take damped Newton steps."""
    point = problem.start
    value, gradient, curvature = _differenced(problem.slopes, point)
    for _ in range(_MAX_STEPS):
        step = _bounded_step(problem, point, gradient, curvature())
        for _ in range(30):  # halve until the likelihood grows
            trial = torch.minimum(torch.maximum(point + step, problem.low), problem.high)
            there = _differenced(problem.slopes, trial)
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


def _bounded_step(problem: _Problem, point: Tensor, gradient: Tensor, curvature: Tensor) -> Tensor:
    """Return the step of the coordinates that are not held at an end of their range."""
    held = ((point <= problem.low) & (gradient < 0)) | ((point >= problem.high) & (gradient > 0))
    if not bool(held.any()):
        return _ascent_step(gradient, curvature)
    step = torch.zeros_like(point)
    if not bool(held.all()):
        step[~held] = _ascent_step(gradient[~held], curvature[~held][:, ~held])
    return step


def _first_guess(observed: Observations) -> Tensor:
    """Location from the events' log times, moved up by the share of rows that were censored."""
    weight = torch.where(observed.event > 0, observed.weight, 0.0)
    log_time = torch.log(observed.time)
    if observed.interval is not None and observed.upper is not None:
        log_time = torch.where(
            observed.interval, torch.log((observed.time + observed.upper) / 2), log_time
        )
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


def _slopes(
    model: Callable[[Tensor], Primitive | Mixture], observed: Observations, point: Tensor
) -> tuple[Tensor, Tensor]:
    """Return value and gradient by automatic differentiation; a primitive need not have second derivatives."""
    value, gradient = torch.zeros(()).double(), torch.zeros_like(point)
    for part in _blocks(observed):
        at = point.detach().requires_grad_()
        here = _block(model(at), part)
        (slope,) = torch.autograd.grad(here, at)
        value, gradient = value + here.detach(), gradient + slope
    return value / observed.weight.sum(), torch.nan_to_num(gradient / observed.weight.sum())


@dataclass(frozen=True)
class _Places:
    """Where some rows stand, and what is known of them."""

    rows: Tensor
    numbers: Tensor
    weight: Tensor


@dataclass(frozen=True)
class _Rows:
    """Some rows: what does not depend on the point is worked out once."""

    log_time: Tensor  # of an interval its lower end, or the upper one where that is 0
    happened: Tensor  # 1 or 0; 0 in an interval
    weight: Tensor
    events: Tensor  # the sum of the weights of those that happened
    known: Tensor  # the part of the log-likelihood without parameters
    inside: _Places | None  # intervals: log(upper / lower)
    first: Tensor | None  # rows of events before a time
    late: _Places | None  # delayed entries: their logarithms

    @classmethod
    def of(cls, observed: Observations) -> _Rows:
        """Read some rows."""
        happened, weight = (observed.event > 0).double(), observed.weight
        log_time, inside, first = torch.log(observed.time), None, None
        if observed.at_origin is not None:
            weight = torch.where(
                observed.at_origin & (observed.event == 0), 0.0, weight
            )  # S(0) = 1
        if observed.interval is not None:
            happened = torch.where(observed.interval, 0.0, happened)
            log_time, inside, first = _intervals(observed, log_time)
        late = None if observed.truncated is None else _entries(observed, observed.truncated)
        exact = weight * happened
        known = exact @ (observed.log_width - log_time)
        return cls(log_time, happened, weight, exact.sum(), known, inside, first, late)


def _intervals(
    observed: Observations, log_time: Tensor
) -> tuple[Tensor, _Places | None, Tensor | None]:
    """Return the log times with the upper ends of intervals from the origin, and both sorts of intervals."""
    assert observed.interval is not None
    assert observed.upper is not None
    at_origin = (
        torch.zeros_like(observed.interval) if observed.at_origin is None else observed.at_origin
    )
    first, inside = (
        (observed.interval & which).nonzero()[:, 0] for which in (at_origin, ~at_origin)
    )
    lower, upper = observed.time[inside], observed.upper[inside]
    log_time = torch.where(observed.interval & at_origin, torch.log(observed.upper), log_time)
    places = _Places(inside, torch.log1p((upper - lower) / lower), observed.weight[inside])
    return log_time, places if len(inside) else None, first if len(first) else None


def _entries(observed: Observations, truncated: Tensor) -> _Places | None:
    assert observed.entry is not None
    rows = truncated.nonzero()[:, 0]
    return (
        _Places(rows, torch.log(observed.entry[rows]), observed.weight[rows]) if len(rows) else None
    )


def _written_out(family: type[LogLocationScale], rows: list[_Rows], weight: Tensor) -> _Slopes:
    """Return value and gradient with slopes in closed form, of all points at once."""

    def slopes(points: Tensor) -> tuple[Tensor, Tensor]:
        sums = (
            torch.stack([_log_time_block(family, part, points) for part in rows]).sum(0).T / weight
        )
        return sums[:, 0], sums[:, 1:]

    return slopes


def _one_by_one(slopes: _Slopes) -> _Slopes:
    """Return a function of several points by one of a single point."""

    def of_all(points: Tensor) -> tuple[Tensor, Tensor]:
        values, gradients = zip(*map(slopes, points), strict=True)
        return torch.stack(values), torch.stack(gradients)

    return of_all


def _differenced(slopes: _Slopes, point: Tensor) -> _Derivatives:
    """Return value, gradient and the curvature by differences of slopes, which are those of several points at once."""
    value, gradient = (of_points[0] for of_points in slopes(point[None]))

    def curvature() -> Tensor:
        steps = _STEP * torch.eye(len(point)).double()
        ahead, behind = slopes(torch.cat([point + steps, point - steps]))[1].chunk(2)
        matrix = (ahead - behind) / (2 * _STEP)
        return (matrix + matrix.T) / 2

    return value, gradient, curvature


def _log_time_block(family: type[LogLocationScale], rows: _Rows, points: Tensor) -> Tensor:
    """Return the weighted sum of the log-likelihood of some rows and its two slopes, ``[3, points]``."""
    location, log_precision = points[:, :1], points[:, 1:]
    precision = log_precision.exp()
    z = (rows.log_time - location).mul_(precision)  # [points, rows]
    value, slope = family.standard(z, rows.happened)
    total, by_precision = rows.events * log_precision[:, 0] + rows.known, rows.events
    if rows.first is not None:
        value[:, rows.first], slope[:, rows.first] = family.standard_before(z[:, rows.first])
    if rows.inside is not None:
        at, ratio = rows.inside.rows, rows.inside.numbers
        found = family.standard_between(
            z[:, at], ratio * precision, torch.log(ratio) + log_precision
        )
        value[:, at], slope[:, at] = found[:2]
        by_precision = by_precision + found[2] @ rows.inside.weight
    total, by_location = total + value @ rows.weight, -(slope @ rows.weight) * precision[:, 0]
    sums = torch.stack([total, by_location, by_precision + slope.mul_(z) @ rows.weight])
    return sums if rows.late is None else sums - _survived(family, rows.late, points)


def _survived(family: type[LogLocationScale], late: _Places, points: Tensor) -> Tensor:
    """Return the weighted sum of the log survival to the entry of rows that have one, and its two slopes."""
    precision = points[:, 1:].exp()
    z = (late.numbers - points[:, :1]).mul_(precision)
    value, slope = family.standard(z, z.new_zeros(()))
    sums = (
        value @ late.weight,
        -(slope @ late.weight) * precision[:, 0],
        slope.mul_(z) @ late.weight,
    )
    return torch.stack(sums)


def _blocks(observed: Observations) -> Iterator[Observations]:
    """Yield the rows in parts, so that memory does not grow with their number."""
    for start in range(0, len(observed), _BLOCK):
        yield observed.take(slice(start, start + _BLOCK))


def _block(model: Primitive | Mixture, observed: Observations) -> Tensor:
    """Return the weighted sum of the log-likelihood of some rows."""
    if isinstance(model, Mixture):
        return (observed.weight * contributions(model, observed).total()).sum()
    one = model.map(lambda parameter: parameter.reshape(1, 1, 1))  # [rows, events, k]
    mixture = Mixture(torch.zeros_like(one.parameters[0]), one)
    return (observed.weight * contributions(mixture, observed).total()).sum()
