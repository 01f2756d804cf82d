"""Checks of what a user passes to an estimator: rows, events, weights, the size of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from torch import Tensor

from .._types import FloatArray
from ..checks import check_same_rows, check_weight, warn_user
from ..errors import CovariateError, InputError, SettingError, TargetError
from ..histories import as_input
from ..preprocessing import TableLike, shape_of
from ..preprocessing.tabular import refuse_outcome_columns
from ..target import (
    Target,
    TargetLike,
    as_target,
    no_censored_row,
    refuse_missing_types,
    refuse_unknown_types,
)

__all__ = [
    "in_units",
    "read_target",
    "single_precision",
    "training_rows",
    "validation_rows",
]

_ROWS_AT_ONCE = 2**12
_LARGEST = 1e30  # leaves room below the largest float32 for sums over columns


def training_rows(
    X: TableLike, y: TargetLike, sample_weight: ArrayLike | None, t_max: float | None
) -> tuple[Any, Target, FloatArray]:
    """Return the table, the target and the case weights of the rows that count: those of positive weight."""
    X = as_input(X)
    target = read_target(X, y)
    _check_event_types(target)
    refuse_outcome_columns(X, target)
    weight = check_weight(sample_weight, len(target))
    rows = np.flatnonzero(weight > 0)
    counted = np.bincount(target.event[rows], minlength=target.n_events + 1)
    unweighted = (np.flatnonzero(counted[1:] == 0) + 1).tolist()
    if unweighted:
        raise InputError(
            f"sample_weight must be positive for some row of every event type; got only zeros for {unweighted}."
        )
    if len(rows) < len(target):
        X, target, weight = _safe_indexing(X, rows), target.take(rows), weight[rows]
    if len(target) < 2:
        raise InputError(
            f"a model needs at least 2 rows, better hundreds; got n_samples = {len(target)}."
        )
    _check_t_max(target, t_max)
    return X, target, weight


def validation_rows(
    validation_data: Any, training: Target, t_max: float | None
) -> tuple[Any, Target]:
    """Return the table and the target that the user gave to stop early on; no subject of training may be in it."""
    if not isinstance(validation_data, (tuple, list)) or len(validation_data) != 2:
        raise InputError(
            f"validation_data must be a pair (X, y); got {type(validation_data).__name__}."
        )
    X, y = as_input(validation_data[0]), validation_data[1]
    target = read_target(X, y, "validation_data: ")
    refuse_unknown_types(target.event, training.n_events, "validation_data")
    _check_other_subjects(target, training)
    if not ((target.time > 0) | (target.event > 0)).any():
        raise TargetError(
            "validation_data has no row that says anything: all are censored at time 0. Give other rows."
        )
    _check_t_max(target, t_max)
    return X, target


def _check_other_subjects(target: Target, training: Target) -> None:
    if target.subject is None or training.subject is None:
        return
    shared = np.isin(target.subject, training.subject)
    if shared.any():
        raise InputError(
            f"validation_data must have other subjects than X; got {target.take(shared).n_subjects} of its "
            f"{target.n_subjects} subjects in both ({int(shared.sum())} rows). Leave their rows out of one of them."
        )


def read_target(X: TableLike, y: TargetLike, where: str = "") -> Target:
    """Return the target of a table; both must have the same rows."""
    if y is None:
        raise TargetError(
            "fit requires y to be passed, but the target y is None. Use make_target(time, event)."
        )
    target = as_target(y)
    check_same_rows(shape_of(as_input(X))[0], len(target), where)
    return target


def _check_event_types(target: Target) -> None:
    """Refuse a training target from which some event type cannot be learned."""
    refuse_missing_types(target.event)
    suspicious = no_censored_row(target.event)
    if suspicious:
        warn_user(suspicious)


def _check_t_max(target: Target, t_max: float | None) -> None:
    """Refuse a limit that lies before some time."""
    last = float(np.fmax(target.time, target.upper).max())
    if t_max is not None and last >= t_max:
        raise SettingError(
            f"t_max must lie beyond every time; got {t_max}, the last time is {last}. Raise it."
        )


def in_units(t_max: float | None, unit: float) -> float | None:
    """Return the limit of times in the model's unit; one beyond single precision is refused."""
    if t_max is None:
        return None
    if t_max / unit > _LARGEST:
        raise SettingError(
            f"t_max must be at most {_LARGEST:g} times the median event time, {unit:g}; got {t_max:g}. Leave it out."
        )
    return t_max / unit


def single_precision(matrix: NDArray[np.floating[Any]]) -> Tensor:
    """Return the inputs of a network in float32, one row after the other in memory; such a matrix is not copied."""
    largest = max(matrix.max(initial=0.0), -matrix.min(initial=0.0))
    if largest > _LARGEST:
        raise CovariateError(
            f"X is too large for single precision; got {largest}, expected at most {_LARGEST}. Scale it, or use "
            "preprocessor='auto'."
        )
    if matrix.dtype == np.float32 and matrix.flags.c_contiguous:
        return torch.from_numpy(matrix)
    result = np.empty(matrix.shape, dtype=np.float32)
    for start in range(
        0, len(matrix), _ROWS_AT_ONCE
    ):  # the columns of so many rows fit into a cache
        result[start : start + _ROWS_AT_ONCE] = matrix[start : start + _ROWS_AT_ONCE]
    return torch.from_numpy(result)
