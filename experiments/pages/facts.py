"""What a reader needs to run an experiment again: command, versions, machine, seeds, folds, horizons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..provenance import machine, versions

__all__ = ["RunFacts"]


@dataclass(frozen=True)
class RunFacts:
    """How the cells of a page were made.

    experiment: its name, such as ``"support"``. command: the exact command that makes the page again.
    run: ``"full"`` or ``"quick"``. seconds: of computing, all fits together.
    By data set: folds, how many were used; horizons, for every event type its times; units, of time; events, names of
    the event types.
    notes: what else the reader should know; they stand at the top.
    """

    experiment: str
    command: str
    run: str = "full"
    seeds: tuple[int, ...] = (0,)
    seconds: float | None = None
    folds: Mapping[str, int] = field(default_factory=dict)
    horizons: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Sequence[str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    machine: str = field(default_factory=machine)
    notes: tuple[str, ...] = ()

    def time(self, data: str, event: int, number: int) -> str:
        """Return the time of a horizon of an event type with its unit; empty where it is not known."""
        by_event = self.horizons.get(data, ())
        if not 0 < event <= len(by_event) or number >= len(by_event[event - 1]):
            return ""
        value = by_event[event - 1][number]
        shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        return f"{shown} {self.units.get(data, '')}".strip()

    def event_name(self, data: str, event: int) -> str:
        """Return the name of an event type."""
        names = self.events.get(data, ())
        return names[event - 1] if event <= len(names) else f"Event {event}"
