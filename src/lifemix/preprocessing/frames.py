"""Arrays and DataFrames as one type of table, and the columns of a new table in the order of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse

from ..checks import as_array, as_pandas, refuse_masked, warn_user
from ..errors import CovariateError
from ..histories import ArrayRows, Histories, Sources
from .reading import TableData

__all__ = ["as_frame", "as_table", "match_columns", "wrong_dimensions"]

Table = TypeVar("Table", pd.DataFrame, TableData, pd.DataFrame | TableData)


def as_table(X: Any) -> tuple[pd.DataFrame | TableData, bool]:
    """Return ``X`` as ``as_frame`` does, but a ``TableData``, which keeps what was read of it, unchanged."""
    return (X, X.named) if isinstance(X, TableData) else as_frame(X)


def as_frame(X: Any) -> tuple[pd.DataFrame, bool]:
    """Return ``X`` as a DataFrame with text for column names, and whether it came with names.

    The columns of an array are called x0, x1, ...
    """
    if isinstance(X, TableData):
        return X.frame, X.named
    if isinstance(X, (Histories, Sources, ArrayRows)):
        raise CovariateError(
            f"this model takes a table of two dimensions; got {X!r}. Use histories.last(), the last visit as a "
            "table, or DeepSurvivalMachines(encoder=encoders.Recurrent())."
        )
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        given = X.columns.tolist()
        if all(type(name) is str for name in given) and len(set(given)) == len(given):
            return X, True
        names = X.columns.map(str)
        if not names.is_unique:
            twice = sorted(set(names[names.duplicated()]))
            raise CovariateError(
                f"columns must have different names; got {twice} more than once. Rename them."
            )
        return (X if names.equals(X.columns) else X.set_axis(names, axis=1)), True
    if sparse.issparse(X):
        X = X.toarray()
    refuse_masked(X, "X", CovariateError)
    array = np.asarray(as_array(X))
    if array.ndim != 2:
        raise CovariateError(wrong_dimensions(array.shape))
    return pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])], copy=False), False


def wrong_dimensions(shape: Sequence[int]) -> str:
    """Return what to say of an array that is not a table."""
    if len(shape) < 2:
        fix = "Reshape your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
    else:
        fix = (
            "An array of sequences needs a model with an encoder for them, DeepSurvivalMachines("
            "encoder=encoders.Recurrent()); covariates that change over time may also go into one row per interval, "
            "which lifemix.preprocessing.start_stop makes."
        )
    return f"X must be a table of two dimensions; got shape {tuple(shape)}. {fix}"


def match_columns(
    frame: Table, named: bool, names: list[str], named_in_training: bool, owner: str
) -> Table:
    """Return the columns of a table in the order of training; by name where both tables had names."""
    if named and named_in_training:
        return _match_names(frame, names)
    if frame.shape[1] != len(names):
        raise CovariateError(
            f"X has {frame.shape[1]} features, but {owner} is expecting {len(names)} features as input: {names}."
        )
    if named != named_in_training:
        had, has = ("names", "none") if named_in_training else ("no names", "names")
        warn_user(
            f"the columns had {had} in training and have {has} now; they are taken in the order given."
        )
    return frame


def _match_names(frame: Table, names: list[str]) -> Table:
    given = list(frame.columns)
    if given == names:
        return frame
    known, present = set(names), set(given)
    absent = [name for name in names if name not in present]
    extra = [name for name in given if name not in known]
    if absent or extra:
        parts = [
            f"{what} {columns}"
            for what, columns in (("missing", absent), ("unknown", extra))
            if columns
        ]
        raise CovariateError(
            f"X must have the {len(names)} columns of training; {' and '.join(parts)}. Add what is missing (NaN where "
            "the value is unknown) and leave out the rest."
        )
    warn_user("the columns are in another order than in training; taken by name.")
    return frame[names]
