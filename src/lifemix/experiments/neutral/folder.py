"""The folder of a public comparison: ``tables/NAME.csv``, ``folds/NAME.csv`` and ``scores.csv``.

``tables/NAME.csv`` has the columns ``time`` and ``status`` (0 censored, 1 event); all others are covariates.
``folds/NAME.csv`` has ``fold`` and ``row``: the test rows of every fold, rows counted from 0; all others train.
``scores.csv`` has ``table``, ``learner``, ``measure`` and ``value``, and may have ``fold``; a learner's scores on a
table are averaged. ``measure`` is ``ibs``, the integrated Brier score, or ``c``, Harrell's concordance.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError
from ...target import make_target

__all__ = ["MEASURES", "NeutralFolder", "NeutralTable", "read_folder", "read_neutral_table"]

MEASURES: Mapping[str, bool] = {"ibs": False, "c": True}
"""The measures, and whether higher is better."""
_SCORE_COLUMNS = ("table", "learner", "measure", "value")


@dataclass(frozen=True, eq=False)
class NeutralTable:
    """One table: covariates, target, and the test rows of every fold by its number."""

    X: pd.DataFrame
    y: NDArray[np.void]
    test_rows: Mapping[int, NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class NeutralFolder:
    """What a folder holds.

    folds: by table the numbers of its folds. scores: by measure the mean score, tables by learners.
    """

    path: Path
    folds: Mapping[str, tuple[int, ...]]
    scores: Mapping[str, pd.DataFrame]


def read_folder(path: str | os.PathLike[str]) -> NeutralFolder:
    """Read a folder, and check all of it before anything is computed.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    NeutralFolder
        Tables with their folds, and the published scores.

    Raises
    ------
    InputError
        Where a file or a column is missing, a row number is none of the table's, or a score is of an unknown table.
    """
    folder = Path(path)
    names = sorted(one.stem for one in (folder / "tables").glob("*.csv"))
    if not names:
        raise InputError(
            f"{folder} has no tables/*.csv. Give the folder of a comparison; docs/experiments.md says how."
        )
    folds = {name: tuple(read_neutral_table(folder, name).test_rows) for name in names}
    return NeutralFolder(folder, folds, _read_scores(folder / "scores.csv", names))


def read_neutral_table(folder: Path, name: str) -> NeutralTable:
    """Read one table with its folds."""
    frame = _read(folder / "tables" / f"{name}.csv", ("time", "status"))
    status = frame["status"]
    if not status.isin([0, 1]).all():
        raise InputError(f"status of {name} must be 0 or 1; got {status[~status.isin([0, 1])].iloc[0]}.")
    y = make_target(frame["time"].to_numpy(np.float64), status.to_numpy(np.int64))
    parts = _read(folder / "folds" / f"{name}.csv", ("fold", "row"))
    wrong = parts["row"][~parts["row"].isin(range(len(frame)))]
    if len(wrong):
        raise InputError(f"folds of {name}: row must be 0 to {len(frame) - 1}; got {wrong.iloc[0]}.")
    fold, row = (parts[column].to_numpy(np.intp) for column in ("fold", "row"))
    rows = {int(number): np.sort(row[fold == number]) for number in np.unique(fold)}
    return NeutralTable(frame.drop(columns=["time", "status"]), y, rows)


def _read_scores(path: Path, names: list[str]) -> dict[str, pd.DataFrame]:
    scores = _read(path, _SCORE_COLUMNS)
    for column, known in (("table", names), ("measure", list(MEASURES))):
        strange = scores[column][~scores[column].isin(known)]
        if len(strange):
            raise InputError(f"{path.name}: {column} must be one of {', '.join(known)}; got {strange.iloc[0]!r}.")
    return {
        str(measure): own.pivot_table(index="table", columns="learner", values="value", aggfunc="mean")
        for measure, own in scores.groupby("measure")
    }


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(f"{path} must have the columns {', '.join(columns)}; {', '.join(missing)} is missing.")
    return frame
