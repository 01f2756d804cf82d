"""Results of any kind as named arrays, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Arrays", "as_arrays", "differences"]

Arrays = dict[str, np.ndarray]


def as_arrays(value: Any, name: str) -> Arrays:
    """Return a value as arrays of numbers or text: tables by column, dataclasses by field, tuples by position."""
    if isinstance(value, pd.DataFrame):
        parts = {str(column): value[column].to_numpy() for column in value}
    elif is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, tuple | list) and any(np.ndim(item) for item in value):
        parts = {str(position): item for position, item in enumerate(value)}
    else:
        array = np.asarray(value)
        if array.dtype.names:
            parts = {field: array[field] for field in array.dtype.names}
        else:
            return {name: array.astype(str) if array.dtype == object else array}
    return {
        array_name: array
        for key, item in parts.items()
        for array_name, array in as_arrays(item, f"{name} {key}").items()
    }


def differences(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the largest absolute difference of each array that is not equal.

    It is infinite if an array is missing, has another shape, is text, or if only one of two values is finite.
    """
    distances = dict.fromkeys(old.keys() ^ new.keys(), np.inf)
    for name in old.keys() & new.keys():
        distance = _largest_difference(old[name], new[name])
        if distance > 0:
            distances[name] = distance
    return dict(sorted(distances.items()))


def _largest_difference(old: np.ndarray, new: np.ndarray) -> float:
    if old.shape != new.shape:
        return np.inf
    if old.dtype.kind not in "biuf" or new.dtype.kind not in "biuf":
        return 0.0 if np.array_equal(old, new) else np.inf
    first, second = old.astype(np.float64), new.astype(np.float64)
    is_equal = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        distance = np.where(is_equal, 0.0, np.abs(first - second))
    return float(np.nan_to_num(distance, nan=np.inf, posinf=np.inf).max(initial=0.0))
