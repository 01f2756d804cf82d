"""The forms in which engines hand out batches of rows, and take what is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ..checks import as_pandas
from ..errors import InputError

__all__ = ["as_frame"]


def as_frame(batch: Any) -> tuple[pd.DataFrame, Callable[[pd.DataFrame], Any]]:
    """Return a batch as a DataFrame of pandas, and a function that gives the predictions the form of the batch."""
    if isinstance(batch, pd.DataFrame):
        return batch, lambda found: found
    if isinstance(batch, Mapping):  # Ray's batches of arrays
        return pd.DataFrame(dict(batch)), lambda found: {
            name: found[name].to_numpy() for name in found.columns
        }
    home = type(batch).__module__.partition(".")[0]
    if home == "polars" and hasattr(batch, "iter_columns"):
        return as_pandas(batch), lambda found: type(batch)(
            {name: found[name].to_numpy() for name in found.columns}
        )
    if home == "pyarrow" and hasattr(batch, "to_pandas"):
        return batch.to_pandas(), _as_arrow
    raise InputError(
        f"a batch must be a DataFrame of pandas or polars, a table of Arrow or a dict of arrays; got "
        f"{type(batch).__name__}. Ask the engine for one of these, as with batch_format='pandas' of Ray."
    )


def _as_arrow(found: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(found, preserve_index=False)
