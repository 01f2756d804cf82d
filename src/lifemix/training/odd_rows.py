"""The rows of a batch that are neither exact nor right-censored, for the training step with its gradient written out.

``Fused`` takes all rows for exact or right-censored; what is here puts its numbers right where they are not. Such rows
are picked out, so that a batch pays for those that it has.

inside, before: where an event is known to lie in an interval, or before a time (and with ``t_max`` wherever an event
has not happened), the log probability of the interval and its slopes take the place of those at the lower end.

late: with ``a_k = log S_k(entry)`` the mixture given survival to the entry has the logits ``gate_k + a_k`` and the
values ``v_k - a_k``, for both objectives; the derivative by ``a_k`` is that by the logit minus that by the value.

joint: the probability that an event of one of several types falls in an interval is an integral, which
``joint_intervals`` takes; all of such a row is computed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..likelihood import Observations
from ..primitives import LogLocationScale
from ..primitives.stable import LOG_LIMIT
from .joint_intervals import joint_intervals

__all__ = ["Batch", "Correction", "OddRows", "odd_rows"]


class Batch(Protocol):
    """What the step has computed of a batch, each ``[models, events, k, rows]``, and where it writes derivatives."""

    logits: Tensor
    location: Tensor
    log_precision: Tensor
    z: Tensor
    by_logits: Tensor
    by_location: Tensor  # by the shift
    by_precision: Tensor  # by the log precision


@dataclass(frozen=True, eq=False)
class _Inside:
    """Pairs of a row and an event whose value is ``log P(lower < T <= upper)``, lower above 0."""

    at: Tensor  # [k, pairs]: places in a tensor [models, events, k, rows]
    ratio: Tensor  # [pairs]: log(upper / lower)
    log_ratio: Tensor


@dataclass(frozen=True, eq=False)
class _Late:
    """Rows with delayed entry."""

    at: Tensor  # [events, k, rows]: places as above
    log_entry: Tensor  # [rows]


@dataclass(frozen=True, eq=False)
class _Joint:
    """Rows whose event, one of several, fell in an interval."""

    at: Tensor  # [events, k, rows]
    model: Tensor  # [rows]
    observed: Observations  # [rows]; the weights as they count in the loss


@dataclass(frozen=True, eq=False)
class OddRows:
    """The odd rows of a batch; None where it has none of a sort."""

    inside: _Inside | None = None
    before: Tensor | None = None  # [k, pairs]: places of pairs whose value is log F
    late: _Late | None = None
    joint: _Joint | None = None


def odd_rows(observed: Observations, n_events: int, k: int, exact: bool, t_max: float | None) -> list[OddRows | None]:
    """Pick out the odd rows of every step of ``[models, steps, rows]``; rows without weight are left out."""
    n_steps = observed.weight.shape[1]
    counts = observed.weight > 0
    late = None if observed.truncated is None else observed.truncated & counts
    within, first, joint = _in_intervals(observed, counts, n_events, exact, t_max)
    if late is not None and joint is not None:
        late = late & ~joint
    sorts = (
        _nothing(n_steps) if within is None else _pairs(within, k),
        _nothing(n_steps) if first is None else _pairs(first, k),
        _nothing(n_steps) if late is None else _rows(late, n_events, k),
        _nothing(n_steps) if joint is None else _rows(joint, n_events, k),
    )
    found = enumerate(zip(*sorts, strict=True))
    return [_step(observed, number, t_max, *places) if any(places) else None for number, places in found]


def _in_intervals(
    observed: Observations, counts: Tensor, n_events: int, exact: bool, t_max: float | None
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return masks: pairs inside intervals, pairs before a time ``[models, steps, events, rows]``, and joint rows."""
    joint = observed.interval & counts if exact and n_events > 1 and observed.interval is not None else None
    if t_max is None and (joint is not None or observed.interval is None):
        return None, None, joint
    types = torch.arange(1, n_events + 1, device=counts.device)[:, None]
    alone = counts if joint is None else counts & ~joint
    later = alone if observed.at_origin is None else alone & ~observed.at_origin
    within, first = None, None
    if observed.interval is not None and joint is None:
        own = observed.event[:, :, None] == types
        within = own & (observed.interval & later)[:, :, None]
        if observed.at_origin is not None:
            first = own & (observed.interval & alone & observed.at_origin)[:, :, None]
    if t_max is not None:
        rest = (observed.event[:, :, None] != types) & later[:, :, None]
        within = rest if within is None else within | rest
    return within, first, joint


_Places = tuple[Tensor, Tensor, Tensor, Tensor]
"""Places in a tensor ``[models, events, k, rows]``; the models, the events (of rows: 0) and the rows."""


def _nothing(n_steps: int) -> list[_Places | None]:
    return [None] * n_steps


def _pairs(mask: Tensor, k: int) -> list[_Places | None]:
    """Find the pairs of every step; mask: ``[models, steps, events, rows]``; the places are ``[k, pairs]``."""
    _, n_steps, n_events, n_rows = mask.shape
    step, model, event, row = mask.transpose(0, 1).nonzero(as_tuple=True)
    component = torch.arange(0, k * n_rows, n_rows, device=mask.device)[:, None]
    at = ((model * n_events + event) * (k * n_rows) + row) + component
    sizes = torch.bincount(step, minlength=n_steps).tolist()
    parts = zip(at.split(sizes, 1), model.split(sizes), event.split(sizes), row.split(sizes), strict=True)
    return [places if size else None for size, places in zip(sizes, parts, strict=True)]


def _rows(mask: Tensor, n_events: int, k: int) -> list[_Places | None]:
    """Find the rows of every step; mask: ``[models, steps, rows]``; the places are ``[events, k, rows]``."""
    _, n_steps, n_rows = mask.shape
    step, model, row = mask.transpose(0, 1).nonzero(as_tuple=True)
    inner = torch.arange(0, n_events * k * n_rows, n_rows, device=mask.device).view(n_events, k, 1)
    at = model * (n_events * k * n_rows) + row + inner
    sizes = torch.bincount(step, minlength=n_steps).tolist()
    parts = zip(at.split(sizes, 2), model.split(sizes), row.split(sizes), strict=True)
    return [(own, models, models, rows) if len(rows) else None for own, models, rows in parts]


def _step(
    observed: Observations,
    step: int,
    t_max: float | None,
    inside: _Places | None,
    before: _Places | None,
    late: _Places | None,
    joint: _Places | None,
) -> OddRows:
    """Gather what a step must know of its odd rows."""
    return OddRows(
        inside and _inside(observed, step, t_max, inside),
        before and before[0],
        late and _late(observed, step, late),
        joint and _Joint(joint[0], joint[1], observed.take((joint[1], step, joint[3]))),
    )


def _inside(observed: Observations, step: int, t_max: float | None, places: _Places) -> _Inside:
    at, model, event, row = places
    lower = observed.time[model, step, row]
    if t_max is None:
        assert observed.upper is not None
        upper = observed.upper[model, step, row]
    else:
        upper = torch.full_like(lower, t_max)
        if observed.upper is not None:
            own = observed.event[model, step, row] == event + 1
            upper = torch.where(own, observed.upper[model, step, row], upper)
    ratio = torch.log1p((upper - lower) / lower)
    return _Inside(at, ratio, torch.log(ratio))


def _late(observed: Observations, step: int, places: _Places) -> _Late:
    at, model, _, row = places
    assert observed.entry is not None
    return _Late(at, torch.log(observed.entry[model, step, row]))


class Correction:
    """Puts the numbers of one batch right, before and after its components are mixed."""

    def __init__(self, odd: OddRows, family: type[LogLocationScale], batch: Batch) -> None:
        self.odd, self.family, self.batch = odd, family, batch

    def before_mixing(self, value: Tensor, slope: Tensor) -> None:
        """Put logits, values and slopes in z right, in place."""
        odd, batch = self.odd, self.batch
        if odd.before is not None:
            found = self.family.standard_before(torch.take(batch.z, odd.before))
            value.put_(odd.before, found[0])
            slope.put_(odd.before, found[1])
        if odd.inside is not None:
            at, log_precision = odd.inside.at, torch.take(batch.log_precision, odd.inside.at).clamp_(max=LOG_LIMIT)
            width = torch.exp(log_precision).mul_(odd.inside.ratio)
            log_width = log_precision.add_(odd.inside.log_ratio)
            inside, by_z, self.by_width = self.family.standard_between(torch.take(batch.z, at), width, log_width)
            value.put_(at, inside)
            slope.put_(at, by_z)
        if odd.late is not None:
            at = odd.late.at
            self.precision = torch.take(batch.log_precision, at).clamp_(max=LOG_LIMIT).exp_()
            self.z = (odd.late.log_entry - torch.take(batch.location, at)).mul_(self.precision)
            survived, self.slope = self.family.standard(self.z, self.z.new_zeros(()))
            batch.logits.put_(at, survived, accumulate=True)
            value.put_(at, survived.neg_(), accumulate=True)

    def after_mixing(self, by_value: Tensor, location_sign: float) -> None:
        """Put the derivatives right, in place; ``location_sign``: of ``by_location`` in ``by_z * precision``."""
        odd, batch = self.odd, self.batch
        if odd.inside is not None:
            at = odd.inside.at
            batch.by_precision.put_(at, torch.take(by_value, at).mul_(self.by_width), accumulate=True)
        if odd.late is not None:
            at = odd.late.at
            by_z = torch.take(batch.by_logits, at).sub_(torch.take(by_value, at)).mul_(self.slope)
            batch.by_precision.put_(at, by_z * self.z, accumulate=True)
            batch.by_location.put_(at, by_z.mul_(self.precision).mul_(location_sign), accumulate=True)

    def add_joint(self, loss: Tensor, location_sign: float | None = None) -> None:
        """Add the joint rows to the loss ``[models]``; with a sign also write their derivatives."""
        joint, batch = self.odd.joint, self.batch
        if joint is None:
            return
        whole = (batch.logits, batch.location, batch.log_precision)
        parts = [torch.take(part, joint.at).permute(2, 0, 1) for part in whole]  # [rows, events, k]
        values, slopes = joint_intervals(self.family, parts[0], parts[1], parts[2], joint.observed)
        loss.index_add_(0, joint.model, (-joint.observed.weight * values).to(loss))
        if location_sign is None:
            return
        by_logits, by_location, by_precision = -joint.observed.weight * slopes.permute(0, 2, 3, 1)
        batch.by_logits.put_(joint.at, by_logits)
        batch.by_location.put_(joint.at, by_location.mul_(-location_sign))
        batch.by_precision.put_(joint.at, by_precision)
