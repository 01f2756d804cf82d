"""DataFrames of polars and tables of Arrow as DataFrames of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = ["as_pandas"]


def as_pandas(table: Any) -> Any:
    """Return a DataFrame of polars or a table of Arrow as a DataFrame of pandas; anything else is returned as it is.

    Parameters
    ----------
    table : any
        What a user gave.

    Returns
    -------
    any
        A pandas DataFrame where it was one of these.
    """
    home = type(table).__module__.partition(".")[0]
    if home == "pyarrow" and hasattr(table, "num_columns"):  # a Table or a RecordBatch
        return table.to_pandas()
    if home != "polars":
        return table
    if hasattr(table, "collect"):  # a LazyFrame
        table = table.collect()
    if not hasattr(table, "iter_columns"):
        return table
    return pd.DataFrame(
        {str(column.name): _values(column) for column in table.iter_columns()}, copy=False
    )


def _values(column: Any) -> Any:
    values = column.to_numpy()
    return pd.Series(values, dtype=object) if values.dtype.kind == "O" else values
