"""Which families the components of each event type belong to: what ``primitive=``, ``k=`` and ``cure=`` mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import SettingError
from .base import Primitive
from .never import Never
from .registry import primitive_class

__all__ = [
    "Places",
    "check_primitive",
    "choose_families",
    "components_per_event",
    "families_of",
    "primitive_names",
]

Places = tuple[tuple[type[Primitive] | None, ...], ...]
"""The families of the components, event type by event type; None where another event type has more components."""


def check_primitive(primitive: Any) -> None:
    """Refuse what cannot be ``primitive=``, whatever the number of event types is."""
    for one in primitive.values() if _by_event(primitive) else [primitive]:
        families_of(one, 1)


def families_of(primitive: Any, k: int) -> list[type[Primitive]]:
    """Return the families of the components of one event type, those of one family together."""
    if isinstance(primitive, (list, tuple)):
        if not primitive:
            raise SettingError("primitive must name at least one family; got an empty list.")
        return [family for one in primitive for family in families_of(one, k)]
    if isinstance(primitive, Mapping):
        found = []
        for one, count in primitive.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise SettingError(
                    f"primitive must give the number of components of each family, at least 1; got {one!r}: {count!r}. "
                    "Leave out a family without components."
                )
            found += [primitive_class(one)] * count
        if not found:
            raise SettingError("primitive must name at least one family; got an empty dict.")
        return found
    return [primitive_class(primitive)] * k


def choose_families(
    primitive: Any, k: int, n_events: int, cure: bool = False
) -> type[Primitive] | Places:
    """Return the family of all components, or those of each event type where they differ or some may be cured."""
    if _is_one(primitive) and not cure:
        return primitive_class(primitive)
    events = _by_events(primitive, k, n_events, cure)
    widest = max(len(families) for families in events)
    only = {family for families in events for family in families}
    if len(only) == 1 and all(len(families) == widest for families in events):
        return only.pop()
    return tuple((*families, *[None] * (widest - len(families))) for families in events)


def components_per_event(primitive: Any, k: int, n_events: int, cure: bool = False) -> int:
    """Return how many components the event type with most of them has."""
    if _is_one(primitive):
        return k + cure
    return max(len(families) for families in _by_events(primitive, k, n_events, cure))


def _by_events(primitive: Any, k: int, n_events: int, cure: bool) -> list[list[type[Primitive]]]:
    if _by_event(primitive):
        expected, given = list(range(1, n_events + 1)), sorted(primitive)
        if given != expected:
            raise SettingError(
                f"primitive must have a family for each event type {expected}; got {given}. Give one per event code, "
                "or one for all."
            )
        events = [families_of(primitive[code], k) for code in expected]
    else:
        events = [families_of(primitive, k)] * n_events
    return [[*families, Never] for families in events] if cure else events


def _is_one(primitive: Any) -> bool:
    """Tell whether one family is given, whatever the event type."""
    return not isinstance(primitive, (list, tuple, Mapping))


def _by_event(primitive: Any) -> bool:
    """Tell whether families are given event type by event type."""
    return (
        isinstance(primitive, Mapping)
        and bool(primitive)
        and all(type(code) is int for code in primitive)
    )


def primitive_names(primitive: Any) -> Any:
    """Return the option ``primitive`` with registered names in place of classes."""
    if isinstance(primitive, (list, tuple)):
        return [primitive_names(family) for family in primitive]
    if not isinstance(primitive, Mapping):
        return primitive_class(primitive).name
    if _by_event(primitive):
        return {event: primitive_names(families) for event, families in primitive.items()}
    return {primitive_names(family): count for family, count in primitive.items()}
