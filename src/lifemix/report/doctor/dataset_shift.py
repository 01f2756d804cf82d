"""Dataset shift: values far from the training data, unseen levels, values missing that were complete in training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._types import FittedSurvivalModel
from ...preprocessing import TableLike
from ...preprocessing.columns import Column, ColumnData
from ..inputs import preprocessor_of
from ..text import counted, listed, percent
from .columns import readable_columns
from .findings import Finding

__all__ = ["check_dataset_shift"]

_FAR = 10.0
_MANY = 0.01


def check_dataset_shift(model: FittedSurvivalModel, X: TableLike) -> Iterator[Finding]:
    """Yield how the rows differ from the training data, as far as the model's preprocessor remembers these."""
    fitted = preprocessor_of(model)
    if fitted is None:
        return
    columns = {column.name: column for column in fitted.columns_}
    readable = readable_columns(X)[0]
    variables = [variable for variable in readable if variable.name in columns]
    pairs = [(variable, columns[variable.name]) for variable in variables]
    yield from _check_far(pairs)
    yield from _check_levels(pairs)
    yield from _check_missing(pairs)


def _check_far(pairs: list[tuple[ColumnData, Column]]) -> Iterator[Finding]:
    names, rows = [], []
    for variable, column in pairs:
        if variable.numbers is None or column.kind != "numeric":
            continue
        far = np.abs(variable.numbers - column.mean) > _FAR * column.scale
        if (column.mean, column.scale) == (0.0, 1.0):  # was not scaled: nothing is known
            far[:] = False
        elif np.isclose(
            column.scale * column.scale, column.mean * (1 - column.mean)
        ):  # held 0 and 1 only
            far &= ~np.isin(variable.numbers, (0.0, 1.0))
        if far.any():
            names.append(f"{variable.name} ({counted(int(far.sum()), 'row')})")
            rows.append(far)
    if names:
        share = float(np.any(rows, axis=0).mean())
        yield Finding(
            "warn" if share > _MANY else "note",
            "far from training",
            f"{listed(names)} lie more than {_FAR:g} standard deviations from the training mean, in {percent(share)} "
            "of the rows: predictions there may be extrapolation.",
            "Check the units of these columns, and report such rows separately.",
        )


def _check_levels(pairs: list[tuple[ColumnData, Column]]) -> Iterator[Finding]:
    unseen = []
    for variable, column in pairs:
        if variable.codes is not None and column.kind == "categorical":
            new = [level for level in variable.levels if level not in (column.levels or ())]
            unseen += [f"{variable.name} = {level}" for level in new]
    if unseen:
        yield Finding(
            "warn",
            "new levels",
            f"Training had no {listed(unseen)}; such rows are coded as none of the known levels.",
            "Check the spelling; merge a new level with a known one, or fit again with rows that have it.",
        )


def _check_missing(pairs: list[tuple[ColumnData, Column]]) -> Iterator[Finding]:
    new = [
        f"{variable.name} ({percent(float(variable.missing.mean()))})"
        for variable, column in pairs
        if variable.missing.mean() > _MANY
        and not column.indicator
        and column.kind in ("numeric", "categorical")
    ]
    if new:
        yield Finding(
            "warn",
            "new missing values",
            f"Values are missing in columns that were complete in training: {listed(new)}. They are imputed, but the "
            "model has not learned what a missing value means.",
            "Find out why they are missing; fit again with such rows if values will be missing in use.",
        )
