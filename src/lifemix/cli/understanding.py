"""A table to learn from, opened: read, understood, shown, and refused where nothing can be learnt from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.markup import escape

from ..errors import InputError
from .roles import Roles
from .screen import Screen
from .showing import show_columns, show_outcome
from .study import Study, learn_study
from .tables import read_table

__all__ = ["Source", "open_study"]

_LEAST_ROWS, _LEAST_EVENTS = 30, 10
_MANY_BYTES = 50_000_000


@dataclass(frozen=True)
class Source:
    """A file and what the user said about it."""

    path: Path
    roles: Roles
    censored: tuple[str, ...] = ()
    encoding: str | None = None
    skip_incomplete: bool = False


def open_study(screen: Screen, source: Source) -> Study:
    """Read a table to learn from, and show what was understood."""
    size = source.path.stat().st_size
    if size > _MANY_BYTES:
        screen.say(f"Reading {source.path.name}, {size / 1e6:.0f} MB ...")
    names = [source.roles.id] if source.roles.id else []
    table = read_table(source.path, as_text=names, missing=source.roles.missing, encoding=source.encoding)
    screen.say(f"[bold]{escape(str(table))}[/]")
    study = learn_study(table, source.roles, source.censored, source.skip_incomplete)
    show_outcome(screen, study)
    show_columns(screen, study.facts)
    _check_size(study)
    return study


def _check_size(study: Study) -> None:
    """Refuse tables from which nothing can be learnt that could be checked."""
    counts = np.bincount(study.y["event"], minlength=2)
    if len(study.y) < _LEAST_ROWS or counts[1:].sum() == 0:
        raise InputError(
            f"{len(study.y)} rows with {int(counts[1:].sum())} events are too few to fit a model and to check it; "
            f"expected at least {_LEAST_ROWS} rows, better hundreds, and {_LEAST_EVENTS} events of each kind."
        )
    events = dict(zip(study.codes.names, counts[1:].tolist(), strict=True))
    rare = ", ".join(f"{name}: {count}" for name, count in events.items() if count < _LEAST_EVENTS)
    if rare:
        raise InputError(
            f"too few events to learn from ({rare}); expected at least {_LEAST_EVENTS} of each kind. Join kinds, count "
            "rare ones as censored (--censored), or collect more rows."
        )
