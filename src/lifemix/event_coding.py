"""Signs that times and events were swapped, or that events were coded in another way than 0 censored, 1..M."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import TargetError

__all__ = ["LARGEST_CODE", "missing_codes", "no_censored_row", "refuse_large_codes", "refuse_swapped"]

LARGEST_CODE = 1000
"""The largest code of an event type; anything above is a time, a date or an identifier."""


def refuse_swapped(time: ArrayLike, event: ArrayLike) -> None:
    """Refuse what looks like (event, time), the order of scikit-survival, in place of (time, event)."""
    times, events = np.asarray(time), np.asarray(event)
    if times.ndim != 1 or events.shape != times.shape or not len(times):
        return
    if times.dtype.kind == "b":
        raise TargetError(_swapped("booleans for the times"))
    if not {times.dtype.kind, events.dtype.kind} <= set("uif"):
        return
    if not ((times == 0) | (times == 1)).all():
        return
    largest = events.max()
    if largest > 1 and (not times.all() or largest > 3):
        some = ", ".join(f"{value:g}" for value in events[:3])
        raise TargetError(_swapped(f"nothing but 0 and 1 for the times, and {some}, ... for the events"))


def _swapped(got: str) -> str:
    return f"the order is make_target(time, event); got {got}. They look like events and times: swap the two."


def refuse_large_codes(codes: NDArray[Any]) -> None:
    """Refuse codes beyond those of event types; they must be numbers already."""
    large = np.flatnonzero(codes > LARGEST_CODE)
    if len(large):
        raise TargetError(
            f"event types are numbered 1, 2, ... up to {LARGEST_CODE} (0 is censored); got {codes[large[0]]:g} at row "
            f"{large[0]} ({len(large)} such rows). Is it another column? Where these are labels, number them 1, 2, ..."
        )


def no_censored_row(codes: NDArray[np.int64]) -> str:
    """Return what to say of several event types without any censored row; "" where there is nothing to say."""
    types = np.unique(codes)
    if len(types) < 2 or types[0] < 1:
        return ""
    found = f"no row is censored, while there are {len(types)} event types"
    if types.tolist() == [1, 2]:
        return (
            f"{found}: 1 and 2. Where the column is coded 1 = censored, 2 = event, as in R, give event=status == 2; "
            "where these are two competing risks, all is well."
        )
    return f"{found}. Where one of the codes {types[:5].tolist()} stands for censored, give it the code 0."


def missing_codes(codes: NDArray[np.int64]) -> str:
    """Return which event types 1..M have no row, in a few words; "" where all have some."""
    absent = np.setdiff1d(np.arange(1, int(codes.max(initial=0)) + 1), codes)
    if not len(absent):
        return ""
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return ", ".join(map(str, absent[:5])) + more
