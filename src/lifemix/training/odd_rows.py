"""The rows of a batch that are neither exact nor right-censored, picked out so that it pays for those that it has.

What ``correction`` does with them is told there. They are looked for once in a table; an epoch finds its own by number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TypeVar

import torch
from torch import Tensor

from ..likelihood import Observations
from .joint_intervals import Joint

__all__ = ["OddRows", "OddTable"]

_Sort = TypeVar("_Sort")
_AT_ONCE = 64  # rows whose likelihood is an integral; each has up to hundreds of nodes


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

    @classmethod
    def of(
        cls,
        inside: _Inside | None,
        before: Tensor | None,
        late: _Late | None,
        joint: list[_Joint] | None,
    ) -> OddRows | None:
        """Return None where there are no such rows."""
        none = inside is None and before is None and late is None and joint is None
        return None if none else cls(inside, before, late, joint)


class OddTable:
    """The odd rows of a table, which are looked for once, and what of them does not depend on the model.

    joint: whether the probability of an interval is that of several events.
    """

    def __init__(
        self, observed: Observations, n_events: int, k: int, joint: bool, t_max: float | None
    ) -> None:
        self.n_events, self.k = n_events, k
        together = observed.interval if joint else None
        within, first = _in_intervals(observed, n_events, joint, t_max)
        late = (
            observed.truncated
            if together is None or observed.truncated is None
            else observed.truncated & ~together
        )
        self.inside = self._widths(observed, _Picked.of(within), t_max)
        self.before = _Picked.of(first)
        self.late = self._entries(observed, _Picked.of(late))
        self.joint = self._joint_rows(observed, _Picked.of(together))

    def _widths(
        self, observed: Observations, pairs: _Picked | None, t_max: float | None
    ) -> tuple[_Picked, Tensor, Tensor] | None:
        """Return pairs inside intervals, ``log(upper / lower)`` and its logarithm."""
        if pairs is None:
            return None
        row, event = pairs.places
        lower = observed.time[row]
        upper = torch.full_like(lower, torch.inf if t_max is None else t_max)
        if observed.upper is not None:
            upper = torch.where(observed.event[row] == event + 1, observed.upper[row], upper)
        ratio = torch.log1p((upper - lower) / lower)
        return pairs, ratio, torch.log(ratio)

    def _entries(
        self, observed: Observations, rows: _Picked | None
    ) -> tuple[_Picked, Tensor] | None:
        """Return rows with delayed entry, and its logarithm."""
        if rows is None:
            return None
        assert observed.entry is not None
        return rows, torch.log(observed.entry[rows.places])

    def _joint_rows(
        self, observed: Observations, rows: _Picked | None
    ) -> tuple[_Picked, Joint] | None:
        """Return rows whose event, one of several, fell in an interval, and what is known of them."""
        return None if rows is None else (rows, Joint.of(observed.take(rows.places), self.n_events))

    def of_steps(self, rows: Tensor, weight: Tensor) -> list[OddRows | None]:
        """Return the odd rows of every step of ``[models, steps, rows]``; rows without weight are left out."""
        counts, none = weight > 0, [None] * rows.shape[1]
        sorts = zip(
            none if self.inside is None else self._inside(*self.inside, rows, counts),
            none if self.before is None else self._before(self.before, rows, counts),
            none if self.late is None else self._late(*self.late, rows, counts),
            none if self.joint is None else self._joint(*self.joint, rows, counts, weight),
            strict=True,
        )
        return [OddRows.of(*step) for step in sorts]

    def _inside(
        self, pairs: _Picked, ratio: Tensor, log_ratio: Tensor, rows: Tensor, counts: Tensor
    ) -> list[_Inside | None]:
        (_, model, row, event), number, parts = pairs.in_steps(rows, counts)
        at, ratio, log_ratio = (
            self._of_pairs(model, event, row, rows.shape[2]),
            ratio[number],
            log_ratio[number],
        )
        return _by_step(parts, lambda part: _Inside(at[:, part], ratio[part], log_ratio[part]))

    def _before(self, pairs: _Picked, rows: Tensor, counts: Tensor) -> list[Tensor | None]:
        (_, model, row, event), _, parts = pairs.in_steps(rows, counts)
        at = self._of_pairs(model, event, row, rows.shape[2])
        return _by_step(parts, lambda part: at[:, part])

    def _late(
        self, late: _Picked, log_entry: Tensor, rows: Tensor, counts: Tensor
    ) -> list[_Late | None]:
        (_, model, row), number, parts = late.in_steps(rows, counts)
        first, inner = self._of_rows(model, row, rows.shape[2])
        at, log_entry = first + inner[..., None], log_entry[number]
        return _by_step(parts, lambda part: _Late(at[..., part], log_entry[part]))

    def _joint(
        self, together: _Picked, known: Joint, rows: Tensor, counts: Tensor, weight: Tensor
    ) -> list[list[_Joint] | None]:
        (step, model, row), number, parts = together.in_steps(rows, counts)
        first, inner = self._of_rows(model, row, rows.shape[2])
        at, share = first.view(-1, 1, 1) + inner, -weight[model, step, row]

        def divided(part: slice) -> list[_Joint]:
            starts = range(part.start, part.stop, _AT_ONCE)
            own = [slice(start, min(start + _AT_ONCE, part.stop)) for start in starts]
            return [_Joint(at[one], model[one], share[one], known.take(number[one])) for one in own]

        return _by_step(parts, divided)

    def _of_pairs(self, model: Tensor, event: Tensor, row: Tensor, n_rows: int) -> Tensor:
        """Return the places ``[k, pairs]`` in a tensor ``[models, events, k, rows]``."""
        component = _strides(self.k * n_rows, n_rows, row.device)[:, None]
        return ((model * self.n_events + event) * (self.k * n_rows) + row) + component

    def _of_rows(self, model: Tensor, row: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
        """Return places in such a tensor: of the first event and component, and from there on."""
        size = self.n_events * self.k * n_rows
        return model * size + row, _strides(size, n_rows, row.device).view(self.n_events, self.k)


@dataclass(frozen=True, eq=False)
class _Picked:
    """Some rows of a table, or pairs of a row and an event."""

    number: Tensor  # [rows] or [rows, events]: which of them it is, from 1; 0 for the others
    places: tuple[Tensor, ...]  # of each

    @classmethod
    def of(cls, mask: Tensor | None) -> _Picked | None:
        """Pick those where a mask holds; None where it holds nowhere."""
        if mask is None or not bool(mask.any()):
            return None
        places = mask.nonzero(as_tuple=True)
        number = mask.long()
        number[places] = torch.arange(1, len(places[0]) + 1, device=mask.device)
        return cls(number, places)

    def in_steps(
        self, rows: Tensor, counts: Tensor
    ) -> tuple[tuple[Tensor, ...], Tensor, list[slice]]:
        """Return their places in ``[models, steps, rows]`` (steps first), what is there, and which are of each step."""
        number = self.number[rows]
        number = number.mul_(counts if number.dim() == 3 else counts[..., None]).transpose(0, 1)
        indices = number.nonzero(as_tuple=True)
        sizes = torch.bincount(indices[0], minlength=len(number)).tolist()
        return (
            indices,
            number[indices] - 1,
            [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))],
        )


def _in_intervals(
    observed: Observations, n_events: int, joint: bool, t_max: float | None
) -> tuple[Tensor | None, Tensor | None]:
    """Return masks of pairs inside intervals and before a time, ``[rows, events]``."""
    interval, at_origin = observed.interval, observed.at_origin
    if t_max is None and (joint or interval is None):
        return None, None
    own = observed.event[:, None] == torch.arange(1, n_events + 1, device=observed.event.device)
    within, first = None, None
    if interval is not None and not joint:
        within = own & interval[:, None]
        if at_origin is not None:
            within, first = within & ~at_origin[:, None], within & at_origin[:, None]
    if t_max is not None:
        rest = ~own if at_origin is None else ~own & ~at_origin[:, None]
        if interval is not None and joint:
            rest = rest & ~interval[:, None]
        within = rest if within is None else within | rest
    return within, first


@lru_cache(maxsize=64)
def _strides(end: int, step: int, device: torch.device) -> Tensor:
    """Return 0, step, ... below an end."""
    return torch.arange(0, end, step, device=device)


def _by_step(parts: list[slice], sort: Callable[[slice], _Sort]) -> list[_Sort | None]:
    """Return what there is of a sort in every step."""
    return [sort(part) if part.stop > part.start else None for part in parts]
