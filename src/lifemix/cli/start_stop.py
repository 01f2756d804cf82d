"""Tables with several rows per subject, each from a start to a stop: recognised, as a time alone misreads them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..errors import TargetError
from .table_options import TableOptions

__all__ = ["refuse_start_stop"]

_FOLLOWS = 0.8  # share of the later rows that begin where the row before ended
_LATER = 0.1  # least share of rows that are not a subject's first


def refuse_start_stop(frame: pd.DataFrame, options: TableOptions) -> None:
    """Refuse a table whose rows begin where the row before ended, unless the beginning is given as entry."""
    if options.time is None or options.entry is not None:
        return
    stop = pd.to_numeric(frame[options.time], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    for name in frame.columns:
        if name in options.apart or name in options.keep or frame[name].dtype.kind not in "if":
            continue
        start = frame[name].to_numpy(dtype=np.float64)
        later = start > 0
        if not (start < stop).all() or later.mean() < _LATER or (start == 0).sum() < 2:
            continue
        follows = np.append(False, start[1:] == stop[:-1])
        if follows[later].mean() >= _FOLLOWS:
            raise TargetError(
                f"this looks like a start-stop table: in {int((follows & later).sum())} rows {name!r} is where the row "
                f"before ended ({options.time!r}). Add --entry {name}, and --id with the column of the subject, so "
                f"that the rows of one stay together; --keep {name} uses it as a covariate."
            )
