"""A table of visits as histories: one outcome per subject, columns that change and columns that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.markup import escape

from ..errors import CovariateError, SettingError, TargetError
from ..histories import Histories, Sources
from .outcome import EventCodes, read_target
from .output import Screen
from .read_table import TableFile
from .table_options import TableOptions, check_columns

__all__ = ["VisitTable", "histories_of", "read_visits"]


@dataclass(frozen=True, eq=False)
class VisitTable:
    """Subjects with their visits and their outcome; ``fixed`` columns do not change within any subject."""

    visits: pd.DataFrame
    subjects: NDArray[Any]
    y: NDArray[np.void]
    codes: EventCodes
    options: TableOptions
    fixed: list[str]
    changing: list[str]

    def inputs(self) -> Sources:
        """Return the histories of all subjects, with the fixed columns beside them."""
        return histories_of(self.visits, self.options, self.fixed, self.changing, self.subjects)


def histories_of(
    frame: pd.DataFrame,
    options: TableOptions,
    fixed: Sequence[str],
    changing: Sequence[str],
    subjects: Any,
) -> Sources:
    """Return the histories of subjects in a table of visits, with the fixed columns beside them."""
    histories = Histories.from_long(
        frame, str(options.id), str(options.visit), list(changing), subjects
    )
    parts: dict[str, Any] = {"visits": histories}
    if fixed:
        first = frame.groupby(options.id, sort=False)[list(fixed)].first()
        parts["subjects"] = first.loc[list(histories.subjects)].reset_index(drop=True)
    return Sources(parts)


def read_visits(screen: Screen, file: TableFile, options: TableOptions) -> VisitTable:
    """Read a table of visits and show how it was understood."""
    if options.id is None:
        raise SettingError("--visit needs --id, the column that identifies the subjects.")
    options = options.resolve(list(file.frame.columns))
    check_columns(list(file.frame.columns), [("--visit", str(options.visit))])
    complete, y, codes = read_target(file, options)
    visits = file.frame[complete].reset_index(drop=True)
    first = ~visits[options.id].duplicated().to_numpy()
    _refuse_several_outcomes(visits, options, int(first.sum()))
    names = [name for name in visits.columns if name not in options.apart]
    if not names:
        raise CovariateError(
            f"no covariates are left besides {', '.join(options.apart)}. Add at least one column."
        )
    labels = {
        name: visits[name].astype("category") for name in options.categorical if name in visits
    }
    visits = visits.assign(**labels)
    several = visits.groupby(options.id, sort=False)[names].nunique(dropna=True).max() > 1
    changing = [name for name in names if several[name]]
    if not changing:
        raise CovariateError(
            f"no column changes from visit to visit; got {', '.join(names[:10])}. Leave out --visit and keep one row "
            "per subject."
        )
    fixed = [name for name in names if name not in changing]
    found = VisitTable(
        visits, visits[options.id].to_numpy()[first], y[first], codes, options, fixed, changing
    )
    _show(screen, found, len(visits))
    return found


def _refuse_several_outcomes(visits: pd.DataFrame, options: TableOptions, n_subjects: int) -> None:
    columns = [str(options.id), *options.outcome.values()]
    different = visits[columns].drop_duplicates()
    if len(different) > n_subjects:
        who = different[str(options.id)][different[str(options.id)].duplicated()].iloc[0]
        raise TargetError(
            f"with --visit all rows of a subject must have its one outcome ({', '.join(columns[1:])}); subject {who} "
            "has several. Write the end of observation and the final event into each of its rows."
        )


def _show(screen: Screen, table: VisitTable, n_visits: int) -> None:
    counts = np.bincount(table.y["event"], minlength=len(table.codes.types) + 1)
    shares = ", ".join(
        f"{escape(name)} {counts[i]:,}" for i, name in enumerate(table.codes.names, 1)
    )
    options = table.options
    screen.say(
        f"  visits {escape(str(options.visit))}: {n_visits:,} visits of {len(table.subjects):,} subjects "
        f"({escape(str(options.id))})"
    )
    screen.say(f"  event  {escape(str(options.event))}: {shares}; censored {counts[0]:,} subjects")
    screen.say(f"  change from visit to visit: {escape(', '.join(table.changing))}")
    if table.fixed:
        screen.say(f"  same at all visits: {escape(', '.join(table.fixed))}")
