"""Tables with several rows per subject, each from a start to a stop: recognised, as a time alone misreads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.markup import escape

from .._types import FloatArray
from ..errors import TargetError
from ..target import Target
from .output import Screen
from .table_options import TableOptions

__all__ = ["is_path", "recognise_start_stop", "say_paths_done", "show_paths"]

_FOLLOWS = 0.8  # share of the later rows that begin where the row before ended
_LATER = 0.1  # least share of rows that are not a subject's first


def recognise_start_stop(frame: pd.DataFrame, options: TableOptions) -> TableOptions:
    """Return the options with the column of the start as entry, where the rows of each subject tell it.

    A table whose rows begin where the row before ended is refused where no column identifies the subjects.
    """
    if options.time is None or options.entry is not None or options.visit is not None:
        return options
    stop = pd.to_numeric(frame[options.time], errors="coerce").to_numpy(
        dtype=np.float64, na_value=np.nan
    )
    for name in frame.columns:
        if name in options.apart or name in options.keep or frame[name].dtype.kind not in "if":
            continue
        start = frame[name].to_numpy(dtype=np.float64)
        if options.id is not None and is_path(start, stop, frame[options.id]):
            return replace(options, entry=str(name))
        _refuse_likely(start, stop, str(name), options)
    return options


def is_path(start: FloatArray, stop: FloatArray, subject: pd.Series[Any]) -> bool:
    """Tell whether every row of a subject but its first begins where the one before ended, and the first at 0."""
    if not (start < stop).all():
        return False
    number = pd.factorize(subject)[0]
    order = np.lexsort((start, number))
    later = np.append(False, np.diff(number[order]) == 0)
    if later.mean() < _LATER or (start[order][~later] != 0).any():
        return False
    return bool((start[order][1:] == stop[order][:-1])[later[1:]].all())


def _refuse_likely(start: FloatArray, stop: FloatArray, name: str, options: TableOptions) -> None:
    later = start > 0
    if not (start < stop).all() or later.mean() < _LATER or (start == 0).sum() < 2:
        return
    follows = np.append(False, start[1:] == stop[:-1])
    if follows[later].mean() >= _FOLLOWS:
        raise TargetError(
            f"this looks like a start-stop table: in {int((follows & later).sum())} rows {name!r} is where the row "
            f"before ended ({options.time!r}). Add --start {name}, and --id with the column of the subject, so "
            f"that its rows are taken as consecutive intervals; --keep {name} uses it as a covariate."
        )


def show_paths(screen: Screen, options: TableOptions, target: Target) -> None:
    """Say that the rows are intervals of paths, and what follows from it."""
    joined, counts = target.joined(), np.bincount(target.path_numbers)
    many = f"{len(target):,} intervals of {len(joined):,} subjects, up to {int(counts.max())} each"
    columns: Sequence[str] = [
        escape(str(name)) for name in (options.entry, options.time, options.id)
    ]
    until = "the next visit, the last one to" if options.visit else "its"
    screen.say(
        f"  id     {columns[2]}: {many}; a row holds from its {columns[0]} to {until} {columns[1]}"
    )
    screen.say(
        "         quality is measured at landmarks; predict follows the rows of each subject"
    )


def say_paths_done(
    screen: Screen, data: Path, output: Path, held_out: dict[str, Any], rest: Path | None
) -> None:
    """Say what was written and what can be done with it."""
    how = (
        "fitted to all rows"
        if held_out["refitted"] or not held_out["rows"]
        else "fitted without the held-out rows"
    )
    screen.say()
    screen.wrote(output, f" ({output.stat().st_size / 1e6:.1f} MB): {how}.")
    table = rest or f"NEW_ROWS{data.suffix}"
    screen.say(
        f"Next: lifemix predict {output} {table} -o predictions.csv, along the rows of each subject;",
        markup=False,
    )
    screen.say("with --landmark S, given survival to S from the row that holds then.", markup=False)
    screen.say(f"And: lifemix evaluate {output} {table} --landmarks S1,S2 --window W", markup=False)
