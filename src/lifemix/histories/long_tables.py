"""From a table of visits, or an array of steps, to the sorted visits of all subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..checks import as_pandas
from ..errors import CovariateError
from .visits import Visits

__all__ = ["long_table", "visits_of_array"]


def long_table(
    frame: Any, subject: str, time: str, columns: Sequence[str] | None
) -> tuple[Visits, pd.Index[Any]]:
    """Return the visits and the identifiers of the subjects, in the order of their first rows."""
    table = as_pandas(frame)
    if not isinstance(table, pd.DataFrame):
        raise CovariateError(
            f"the visits must be a DataFrame, one row per visit; got {type(frame).__name__}."
        )
    named = [subject, time, *(columns or ())]
    absent = [name for name in named if name not in table.columns]
    if absent:
        raise CovariateError(
            f"the table of visits has no column {absent[0]!r}; it has {list(table.columns)[:20]}."
        )
    chosen = (
        [name for name in table.columns if name not in (subject, time)]
        if columns is None
        else list(columns)
    )
    if not chosen:
        raise CovariateError(
            f"the table of visits needs a column of measurements beside {subject!r} and {time!r}."
        )
    ids, times = table[subject], _times(table[time], time)
    if ids.isna().any():
        row = int(np.flatnonzero(ids.isna())[0])
        raise CovariateError(
            f"column {subject!r} must be known in every row; got a missing value at row {row} ({int(ids.isna().sum())} "
            "such rows). Leave them out."
        )
    owner, known = pd.factorize(ids)
    order = np.lexsort([np.arange(len(times)), times, owner])
    sorted_frame = table[chosen].iloc[order].reset_index(drop=True)
    return Visits(sorted_frame, times[order], owner[order].astype(np.intp)), pd.Index(known)


def _times(column: pd.Series[Any], name: str) -> FloatArray:
    try:
        times = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise CovariateError(
            f"column {name!r} must hold the times of visits as numbers, counted from the origin of the target's times; "
            f"got {column.dtype}. Subtract each subject's own origin first."
        ) from None
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        raise CovariateError(
            f"column {name!r} must hold finite times; got {times[bad[0]]} at row {bad[0]} ({len(bad)} such rows). "
            "Leave these visits out."
        )
    return times


def visits_of_array(values: ArrayLike, times: ArrayLike | None, columns: Any) -> tuple[Visits, int]:
    """Return the visits in an array ``[subjects, steps, columns]`` and the number of subjects."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 3:
        raise CovariateError(
            f"an array of histories must have the shape (subjects, steps, columns); got {array.shape}. An array of "
            "another rank needs an encoder of your own (nn.Module)."
        )
    n, steps, width = array.shape
    at = (
        np.arange(steps, dtype=np.float64) if times is None else np.asarray(times, dtype=np.float64)
    )
    if at.shape not in ((steps,), (n, steps)) or not np.isfinite(at).all():
        raise CovariateError(
            f"times must be finite, of shape ({steps},) or ({n}, {steps}); got shape {at.shape}."
        )
    names = [f"x{i}" for i in range(width)] if columns is None else [str(name) for name in columns]
    if len(names) != width:
        raise CovariateError(
            f"columns must name the {width} columns of the array; got {len(names)} names."
        )
    at = np.broadcast_to(at, (n, steps))
    present = ~np.isnan(array).all(2)
    owner = np.nonzero(present)[0].astype(np.intp)
    order = np.lexsort([at[present], owner])
    return Visits(
        pd.DataFrame(array[present][order], columns=names), at[present][order], owner[order]
    ), n
