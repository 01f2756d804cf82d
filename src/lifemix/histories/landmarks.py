"""Landmark rows: the history of a subject until s, and its target from s on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray, IndexArray
from ..checks import Whole, check_same_rows, check_times
from ..errors import InputError, SettingError
from ..target import Target, TargetLike, as_target, subject_codes
from .sequences import Histories

__all__ = ["Landmarks", "draw_landmarks"]

_LATEST = 0.9  # of the times of the target: later, few are left at risk


class Landmarks(NamedTuple):
    """What ``Histories.landmarks`` returns; ``X, y, rows = histories.landmarks(target)``.

    Attributes
    ----------
    histories : Histories
        The history of each row until its landmark.
    y : structured array
        The target of each row, with ``entry`` at the landmark and the ``subject`` it belongs to.
    rows : int array
        Which row of the histories each is from, to select the rows of a table beside them.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target
    >>> from lifemix.histories import Histories
    >>> histories = Histories.from_array(np.arange(6.0).reshape(2, 3, 1))
    >>> landmarks = histories.landmarks(make_target([2.5, 1.5], [1, 0]))
    >>> landmarks.histories.at
    array([0., 1., 2., 0., 1.])
    >>> landmarks.y["entry"]
    array([0., 1., 2., 0., 1.])
    """

    histories: Histories
    y: NDArray[np.void]
    rows: IndexArray


def draw_landmarks(
    histories: Histories,
    y: TargetLike,
    times: ArrayLike | None,
    n_per_subject: int | None,
    between: tuple[float, float] | None,
    random_state: Any,
) -> Landmarks:
    """Return the landmark rows of ``Histories.landmarks``."""
    target = as_target(y)
    check_same_rows(len(histories), len(target), "landmarks: ")
    if times is not None and n_per_subject is not None:
        raise SettingError(
            "times and n_per_subject exclude each other; got both. Leave one of them out."
        )
    if between is not None and n_per_subject is None:
        raise SettingError(
            "between is the interval that n_per_subject landmarks are drawn from; got it alone."
        )
    if times is not None:
        at = np.sort(check_times(times))
        rows, points = np.repeat(np.arange(len(target)), len(at)), np.tile(at, len(target))
    elif n_per_subject is not None:
        rows, points = _drawn(histories, target, n_per_subject, between, random_state)
    else:
        long = histories.to_long()
        rows, points = long["row"].to_numpy(dtype=np.intp), long["time"].to_numpy()
        different = (
            np.append(True, (np.diff(rows) != 0) | (np.diff(points) != 0))
            if len(rows)
            else slice(0)
        )
        rows, points = rows[different], points[different]
    return _rows_at_risk(histories, target, rows, points)


def _drawn(
    histories: Histories, target: Target, number: int, between: Any, random_state: Any
) -> tuple[IndexArray, FloatArray]:
    number = Whole(1)("n_per_subject", number)
    first = float(np.nanmin(histories.first_times, initial=np.inf))
    low, high = (
        (max(first, 0.0), float(np.quantile(target.time, _LATEST))) if between is None else between
    )
    if not (np.isfinite([low, high]).all() and 0 <= low < high):
        raise InputError(f"between must be two ascending times from 0 on; got {(low, high)}.")
    draws = np.random.default_rng(random_state).uniform(low, high, (len(target), number))
    return np.repeat(np.arange(len(target)), number), np.sort(draws, axis=1).ravel()


def _rows_at_risk(
    histories: Histories, target: Target, rows: IndexArray, points: FloatArray
) -> Landmarks:
    first = histories.first_times[rows]
    kept = (
        (points >= 0)
        & (points < target.time[rows])
        & (points >= target.entry[rows])
        & (first <= points)
    )
    rows, points = rows[kept], points[kept]
    if not len(rows):
        raise InputError(
            "no subject is under observation with a visit at any landmark; got none left. Check that visits, landmarks "
            "and target count time from the same origin, in the same unit."
        )
    subject = subject_codes(histories.subjects) if target.subject is None else target.subject
    # Separate observations of a subject, which stay together in splits: each begins anew, at its landmark.
    cut = Target(target.event[rows], target.time[rows], points, target.upper[rows], subject[rows])
    return Landmarks(histories.take(rows).until(points), cut.to_array(), rows)
