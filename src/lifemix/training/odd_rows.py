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

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from ..likelihood import Observations
from ..primitives import LogLocationScale
from ..primitives.stable import LOG_LIMIT
from .joint_intervals import Joint, joint_intervals

__all__ = ["Batch", "Correction", "OddRows", "odd_rows"]

_Sort = TypeVar("_Sort")
_AT_ONCE = 64  # rows whose likelihood is an integral; each has up to hundreds of nodes


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

    at: Tensor  # [rows, events, k]
    model: Tensor  # [rows]
    share: Tensor  # [rows]: minus the weight in the loss
    known: Joint


@dataclass(frozen=True, eq=False)
class OddRows:
    """The odd rows of a batch; None where it has none of a sort."""

    inside: _Inside | None
    before: Tensor | None  # [k, pairs]: places of pairs whose value is log F
    late: _Late | None
    joint: list[_Joint] | None  # in parts: each row has many nodes


def odd_rows(observed: Observations, n_events: int, k: int, joint: bool, t_max: float | None) -> list[OddRows | None]:
    """Pick out the odd rows of every step of ``[models, steps, rows]``; rows without weight are left out.

    joint: whether the probability of an interval is that of several events.
    """
    counts = observed.weight > 0
    together = observed.interval & counts if joint and observed.interval is not None else None
    within, first = _in_intervals(observed, counts, n_events, joint, t_max)
    late = None if observed.truncated is None else observed.truncated & counts
    if late is not None and together is not None:
        late &= ~together
    none = [None] * counts.shape[1]
    sorts = zip(
        none if within is None else _inside(observed, within, k, t_max),
        none if first is None else _before(first, k),
        none if late is None else _late(observed, late, n_events, k),
        none if together is None else _joint(observed, together, n_events, k),
        strict=True,
    )
    return [None if all(sort is None for sort in step) else OddRows(*step) for step in sorts]


def _in_intervals(
    observed: Observations, counts: Tensor, n_events: int, joint: bool, t_max: float | None
) -> tuple[Tensor | None, Tensor | None]:
    """Return masks of pairs inside intervals and before a time, ``[models, steps, events, rows]``."""
    interval = observed.interval
    if t_max is None and (joint or interval is None):
        return None, None
    types = torch.arange(1, n_events + 1, device=counts.device)[:, None]
    own = observed.event[:, :, None] == types
    later = counts if observed.at_origin is None else counts & ~observed.at_origin
    within, first = None, None
    if interval is not None and not joint:
        within = own & (interval & later)[:, :, None]
        if observed.at_origin is not None:
            first = own & (interval & counts & observed.at_origin)[:, :, None]
    if t_max is not None:
        rest = ~own & (later if interval is None or not joint else later & ~interval)[:, :, None]
        within = rest if within is None else within | rest
    return within, first


def _places(mask: Tensor) -> tuple[list[Tensor], list[slice]]:
    """Return where a mask ``[models, steps, ...]`` holds, step by step: indices (steps first), and those of each."""
    indices = list(mask.transpose(0, 1).nonzero(as_tuple=True))
    sizes = torch.bincount(indices[0], minlength=mask.shape[1]).tolist()
    return indices, [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]


def _by_step(parts: list[slice], sort: Callable[[slice], _Sort]) -> list[_Sort | None]:
    """Return what there is of a sort in every step."""
    return [sort(part) if part.stop > part.start else None for part in parts]


def _of_pairs(mask: Tensor, model: Tensor, event: Tensor, row: Tensor, k: int) -> Tensor:
    """Return the places ``[k, pairs]`` in a tensor ``[models, events, k, rows]``."""
    _, _, n_events, n_rows = mask.shape
    component = torch.arange(0, k * n_rows, n_rows, device=mask.device)[:, None]
    return ((model * n_events + event) * (k * n_rows) + row) + component


def _of_rows(mask: Tensor, model: Tensor, row: Tensor, n_events: int, k: int) -> tuple[Tensor, Tensor]:
    """Return places in a tensor ``[models, events, k, rows]``: of the first event and component, and from there on."""
    n_rows, size = mask.shape[2], n_events * k * mask.shape[2]
    return model * size + row, torch.arange(0, size, n_rows, device=mask.device).view(n_events, k)


def _inside(observed: Observations, mask: Tensor, k: int, t_max: float | None) -> list[_Inside | None]:
    (step, model, event, row), parts = _places(mask)
    if len(row) == 0:  # all intervals begin at the origin
        return [None] * len(parts)
    places = (model, step, row)
    at, lower = _of_pairs(mask, model, event, row, k), observed.time[places]
    if t_max is None:
        assert observed.upper is not None
        upper = observed.upper[places]
    else:
        upper = torch.full_like(lower, t_max)
        if observed.upper is not None:
            upper = torch.where(observed.event[places] == event + 1, observed.upper[places], upper)
    ratio = torch.log1p((upper - lower) / lower)
    log_ratio = torch.log(ratio)
    return _by_step(parts, lambda part: _Inside(at[:, part], ratio[part], log_ratio[part]))


def _before(mask: Tensor, k: int) -> list[Tensor | None]:
    (_, model, event, row), parts = _places(mask)
    at = _of_pairs(mask, model, event, row, k)
    return _by_step(parts, lambda part: at[:, part])


def _late(observed: Observations, mask: Tensor, n_events: int, k: int) -> list[_Late | None]:
    assert observed.entry is not None
    (step, model, row), parts = _places(mask)
    first, inner = _of_rows(mask, model, row, n_events, k)
    at = first + inner[..., None]
    log_entry = torch.log(observed.entry[model, step, row])
    return _by_step(parts, lambda part: _Late(at[..., part], log_entry[part]))


def _joint(observed: Observations, mask: Tensor, n_events: int, k: int) -> list[list[_Joint] | None]:
    (step, model, row), parts = _places(mask)
    first, inner = _of_rows(mask, model, row, n_events, k)
    at, places = first.view(-1, 1, 1) + inner, (model, step, row)
    share, known = -observed.weight[places], Joint.of(observed, places, n_events)

    def divided(part: slice) -> list[_Joint]:
        starts = range(part.start, part.stop, _AT_ONCE)
        rows = [slice(start, min(start + _AT_ONCE, part.stop)) for start in starts]
        return [_Joint(at[own], model[own], share[own], known.part(own)) for own in rows]

    return _by_step(parts, divided)


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
        batch = self.batch
        for joint in self.odd.joint or ():
            logits, location = torch.take(batch.logits, joint.at), torch.take(batch.location, joint.at)
            log_precision = torch.take(batch.log_precision, joint.at)
            values, slopes = joint_intervals(self.family, logits, location, log_precision, joint.known)
            loss.index_add_(0, joint.model, (joint.share * values).to(loss))
            if location_sign is None:
                continue
            by_logits, by_location, by_precision = slopes.mul_(joint.share[:, None, None])
            batch.by_logits.put_(joint.at, by_logits)
            batch.by_location.put_(joint.at, by_location.mul_(-location_sign))
            batch.by_precision.put_(joint.at, by_precision)
