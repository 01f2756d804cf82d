"""Signs that times and events were swapped, or that events were coded in another way than 0 censored, 1..M."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import IntArray
from .errors import TargetError

__all__ = [
    "LARGEST_CODE",
    "no_censored_row",
    "refuse_large_codes",
    "refuse_missing_types",
    "refuse_swapped",
    "refuse_unknown_types",
]

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
        raise TargetError(
            _swapped(f"nothing but 0 and 1 for the times, and {some}, ... for the events")
        )


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


def no_censored_row(codes: IntArray) -> str:
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


def refuse_missing_types(codes: IntArray) -> None:
    """Refuse rows from which some event type 1..M cannot be learned, because none of them has it."""
    largest = int(codes.max(initial=0))
    if largest == 0:
        raise TargetError(
            f"all {len(codes)} rows are censored; expected some events (codes 1..M). Check how events are coded."
        )
    absent = np.setdiff1d(np.arange(1, largest + 1), codes)
    if len(absent):
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        raise TargetError(
            f"event types must be 1..M without gaps; got codes up to {largest} but no row with "
            f"{', '.join(map(str, absent[:5]))}{more}. Number the event types anew, or add rows."
        )


def refuse_unknown_types(codes: IntArray, n_events: int, where: str) -> None:
    """Refuse event types that a model does not have."""
    largest = int(codes.max(initial=0))
    if largest > n_events:
        raise TargetError(
            f"{where} has event {largest}; the training rows have 1..{n_events} only. Leave these rows out, or code "
            "the event as censored (0)."
        )
