"""Checks of arrays that every plot shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..checks import check_times
from ..errors import InputError

__all__ = [
    "check_curves",
    "check_grid",
    "check_labels",
    "check_levels",
    "check_spread",
    "named",
]


def check_grid(times: ArrayLike) -> FloatArray:
    """Return the times of a curve, (m,); they must increase."""
    grid = check_times(times)
    falls = np.flatnonzero(np.diff(grid) < 0)
    if len(falls):
        at = falls[0]
        raise InputError(
            f"times must increase; got {grid[at]:g} before {grid[at + 1]:g}. Sort them."
        )
    return grid


def check_curves(values: ArrayLike, m: int, name: str) -> FloatArray:
    """Return curves as an array, (n, m); one curve may come as (m,)."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers; got {type(values).__name__}.") from None
    curves = array[None] if array.ndim == 1 else array
    if curves.ndim != 2 or curves.shape[1] != m or len(curves) == 0:
        raise InputError(
            f"{name} must have one row per curve and one column per time, (n, {m}); got shape {array.shape}."
        )
    return curves


def check_spread(std: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray | None:
    """Return the standard deviations of the curves, in their shape."""
    if std is None:
        return None
    spread = check_curves(std, shape[1], "std")
    if spread.shape != shape:
        raise InputError(f"std must have the shape of the curves, {shape}; got {spread.shape}.")
    if (spread < 0).any():
        raise InputError(f"std must not be negative; got {spread.min():g}.")
    return spread


def check_levels(values: ArrayLike, n: int, name: str) -> FloatArray:
    """Return one probability per curve."""
    levels = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if levels.shape != (n,):
        raise InputError(
            f"{name} must have one number per curve, {n} in all; got shape {levels.shape}."
        )
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if len(wrong):
        raise InputError(
            f"{name} must be in 0..1; got {wrong[0]:g}. Give distribution.cure_fraction()."
        )
    return levels


def check_labels(labels: Sequence[Any] | None, n: int, name: str = "labels") -> list[str] | None:
    """Return one name per curve."""
    if labels is None:
        return None
    if isinstance(labels, str) or len(labels) != n:
        got = repr(labels) if isinstance(labels, str) else f"{len(labels)} names"
        raise InputError(f"{name} must have one name per curve, {n} in all; got {got}.")
    return [str(label) for label in labels]


def named(values: Any, default: str) -> dict[str, Any]:
    """Return predictions of one or more models as a dict by name."""
    if not isinstance(values, Mapping):
        return {default: values}
    if not values:
        raise InputError("a dict of predictions must hold at least one model; got none.")
    return {str(name): value for name, value in values.items()}
