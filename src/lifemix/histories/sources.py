"""Inputs that are no table: several sources side by side, and arrays of any rank, with rows that can be selected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .._types import IndexArray
from ..checks import as_pandas
from ..errors import CovariateError, InputError
from .selection import SelectableRows
from .sequences import Histories

__all__ = ["ArrayRows", "Sources", "described"]


class ArrayRows(SelectableRows):
    """An array of more than two dimensions, one row per subject.

    Parameters
    ----------
    values : array-like of shape (n, ...)
        Numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.histories import ArrayRows
    >>> ArrayRows(np.zeros((10, 3, 8, 8)))[:4].shape
    (4, 192)
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values: NDArray[Any] = np.asarray(values)
        if self.values.ndim < 2:
            raise CovariateError(
                f"an array must have rows and numbers in them; got shape {self.values.shape}."
            )
        self.shape = len(self.values), int(np.prod(self.values.shape[1:]))

    def __repr__(self) -> str:
        return f"<array of shape {self.values.shape}>"

    def _taken(self, rows: IndexArray) -> Self:
        return type(self)(self.values[rows])


class Sources(SelectableRows):
    """Several inputs of the same subjects side by side: tables, histories, arrays, each under a name.

    ``fit`` and ``predict`` of a model with an encoder take a dict of them; as ``Sources`` rows can be selected, which
    scikit-learn's splits and searches need.

    Parameters
    ----------
    parts : mapping from str to table, Histories or array
        The sources; all have the same rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from lifemix.histories import Histories, Sources
    >>> clinic = pd.DataFrame({"age": [61, 48]})
    >>> X = Sources({"clinic": clinic, "visits": Histories.from_array(np.zeros((2, 3, 1)), columns=["bili"])})
    >>> X.columns
    ['clinic.age', 'visits.bili']
    >>> len(X[[0]])
    1
    """

    def __init__(self, parts: Mapping[str, Any]) -> None:
        if not parts:
            raise CovariateError("X must have at least one source; got an empty dict.")
        self.parts = {str(name): _as_source(str(name), part) for name, part in parts.items()}
        lengths = {name: len(part) for name, part in self.parts.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"all sources must have the same rows; got {lengths}. Select the rows of all together, or give "
                "Histories.from_long the order of subjects."
            )
        self.columns = [
            f"{name}.{column}" for name, part in self.parts.items() for column in _columns_of(part)
        ]
        self.shape = next(iter(lengths.values())), len(self.columns)

    def __repr__(self) -> str:
        return f"<Sources of {len(self)} rows: {', '.join(self.parts)}>"

    def _taken(self, rows: IndexArray) -> Self:
        return type(self)({name: part.iloc[rows] for name, part in self.parts.items()})


def _as_source(name: str, part: Any) -> Any:
    part = as_pandas(part)
    if isinstance(part, (Histories, ArrayRows, pd.DataFrame)):
        return part
    if hasattr(part, "column") and hasattr(part, "frame"):  # a TableData
        return part
    array = np.asarray(part)
    if array.ndim < 2:
        raise CovariateError(
            f"source {name!r} must be a table, a Histories or an array of at least two dimensions; got "
            f"{type(part).__name__} of shape {array.shape}."
        )
    return (
        pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])
        if array.ndim == 2
        else ArrayRows(part)
    )


def _columns_of(part: Any) -> list[str]:
    if isinstance(part, ArrayRows):
        return [f"x{i}" for i in range(part.shape[1])]
    return [str(name) for name in part.columns]


def described(X: Histories | Sources | ArrayRows) -> pd.DataFrame:
    """Return a table that describes inputs which are none: of histories the number of visits and the last one.

    Rows are numbered from 0. Arrays have no columns there.
    """
    if isinstance(X, Histories):
        return pd.concat([pd.DataFrame({"number of visits": X.n_visits}), X.last()], axis=1)
    if isinstance(X, ArrayRows):
        return pd.DataFrame(index=range(len(X)))
    parts = []
    for name, part in X.parts.items():
        if isinstance(part, (Histories, ArrayRows)):
            table = described(part)
        else:
            table = getattr(part, "frame", part).reset_index(drop=True)
        parts.append(table.add_prefix(f"{name}."))
    return pd.concat(parts, axis=1)
