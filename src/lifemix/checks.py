"""Checks of what a prediction is asked for, shared by every model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, LifemixWarning

__all__ = ["check_event", "check_times"]


def check_times(
    times: ArrayLike, name: str = "times", *, warn_unsorted: bool = False, stacklevel: int = 3
) -> NDArray[np.float64]:
    """Return times as a vector; they must be finite numbers and not negative.

    warn_unsorted: for arguments that look like a grid, where another order is probably a slip.
    """
    try:
        array = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers; {error}.") from None
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"{name} must be a number or a vector of at least one; got shape {array.shape}.")
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        raise InputError(
            f"{name} must be finite and >= 0; got {array[bad][0]} ({int(bad.sum())} such values). "
            "Times count from the origin of the target's times."
        )
    if warn_unsorted and (np.diff(array) < 0).any():
        warnings.warn(
            f"{name} are not sorted; the results come in the order given. Sort them if a curve is meant.",
            LifemixWarning,
            stacklevel=stacklevel,
        )
    return array


def check_event(event: Any, n_events: int) -> int:
    """Return the kind of event as a number in 1..n_events."""
    if isinstance(event, (bool, np.bool_)) or event not in range(1, n_events + 1):
        raise InputError(f"event must be a whole number in 1..{n_events}, the kinds seen in fit; got {event!r}.")
    return int(event)
