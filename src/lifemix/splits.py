"""Folds, validation rows, horizons and artificial censoring: the evaluation protocol of the paper.

If the target has subjects, all rows of a subject are on one side of every split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import FloatArray, IndexArray
from .checks import check_event
from .errors import SettingError, TargetError
from .target import Target, TargetLike, as_target

if TYPE_CHECKING:
    from sklearn.utils.metadata_routing import MetadataRequest

__all__ = [
    "EventStratifiedKFold",
    "censor_artificially",
    "default_horizons",
    "horizons",
    "train_validation_split",
]

Seed = int | np.random.Generator | None


@dataclass(frozen=True)
class EventStratifiedKFold:
    """Split rows into folds with equal shares of every event code, for scikit-learn.

    Sizes of the folds differ by at most one row, and so do the counts of each event code. If the
    target has subjects, or ``groups`` are given, whole subjects are distributed: their numbers
    differ by at most one, and subjects with the same events are spread evenly. The splitter takes
    any form of target.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds; 5 in the paper, 10 for METABRIC.
    random_state : int, Generator or None, default 0
        Random seed; an integer gives the same folds at every call.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target
    >>> from lifemix.splits import EventStratifiedKFold
    >>> X = np.zeros((8, 1))
    >>> y = make_target(np.arange(1.0, 9.0), [0, 1, 0, 1, 0, 1, 0, 1])
    >>> for train, test in EventStratifiedKFold(2).split(X, y):
    ...     print(len(train), y["event"][test].sum())
    4 2
    4 2

    With two rows per subject:

    >>> subject = [1, 1, 2, 2, 3, 3, 4, 4]
    >>> y = make_target(np.arange(1.0, 9.0), [0, 1, 0, 1, 0, 1, 0, 1], subject=subject)
    >>> for train, test in EventStratifiedKFold(2).split(X, y):
    ...     print(np.unique(y["subject"][train]), np.unique(y["subject"][test]))
    [1 4] [2 3]
    [2 3] [1 4]
    """

    n_splits: int = 5
    random_state: Seed = 0

    def split(
        self, X: Any, y: TargetLike, groups: Any = None
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield the row numbers of the training and the test rows of each fold.

        Parameters
        ----------
        X : DataFrame or array
            Not used, present for scikit-learn.
        y : target
            n rows, with or without subjects.
        groups : array-like of shape (n,), optional
            Subjects of the rows, as in scikit-learn; they must keep the subjects of ``y`` together.

        Yields
        ------
        train, test : int arrays
            Sorted row numbers.
        """
        target = as_target(y).grouped(groups)
        subjects = _shuffled_by_event(target, self.random_state)
        if not 2 <= self.n_splits <= len(subjects):
            units = "rows" if target.subject is None else "subjects"
            raise SettingError(
                f"n_splits must be at least 2 and at most the number of {units}, {len(subjects)}; "
                f"got {self.n_splits}."
            )
        # Deal out the subjects like cards, one event code after the other.
        fold_of_subject = np.empty(len(subjects), dtype=np.intp)
        fold_of_subject[subjects] = np.arange(len(subjects)) % self.n_splits
        fold_of_row = fold_of_subject[target.subject_numbers]
        for fold in range(self.n_splits):
            yield np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, optional
            Not used, present for scikit-learn.

        Returns
        -------
        int
            Number of folds.
        """
        return self.n_splits

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata that ``split`` requests in scikit-learn: ``groups``.

        Returns
        -------
        MetadataRequest
            The request.
        """
        # Importing this takes a second, and few users need it.
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        request.split.add_request(param="groups", alias=True)
        return request


def train_validation_split(
    y: TargetLike, rows: ArrayLike | None = None, fraction: float = 0.2, random_state: Seed = 0
) -> tuple[IndexArray, IndexArray]:
    """Return the numbers of training and validation rows, with equal shares of every event code.

    If the target has subjects, a share of the subjects is chosen, each with all its rows.

    Parameters
    ----------
    y : target
        n rows, with or without subjects.
    rows : array-like, optional
        The rows of ``y`` to split, by number or mask, such as the training rows of a fold; None for
        all.
    fraction : float, default 0.2
        Share of the validation rows, strictly between 0 and 1.
    random_state : int, Generator or None, default 0
        Random seed.

    Returns
    -------
    train, validation : int arrays
        Sorted row numbers of ``y``; the second has ``round(fraction * len(rows))`` of them, or the
        rows of that share of the subjects.

    Raises
    ------
    SettingError
        If ``fraction`` is not between 0 and 1, or there would be no training or no validation rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target
    >>> from lifemix.splits import train_validation_split
    >>> y = make_target(np.arange(1.0, 11.0), [0, 1] * 5)
    >>> train, validation = train_validation_split(y, fraction=0.2)
    >>> len(train), int(y["event"][validation].sum())
    (8, 1)
    """
    if not 0 < fraction < 1:
        raise SettingError(f"fraction must lie between 0 and 1; got {fraction}.")
    target = as_target(y)
    row_numbers = np.arange(len(target))
    if rows is not None:
        row_numbers = row_numbers[np.asarray(rows)]
        target = target.take(row_numbers)
    subjects = _shuffled_by_event(target, random_state)
    n_subjects, n_validation = len(subjects), round(fraction * len(subjects))
    if not 0 < n_validation < n_subjects:
        unit = "row" if target.subject is None else "subject"
        raise SettingError(
            f"training and validation need at least one {unit} each; got {n_validation} validation "
            f"{unit}s of {n_subjects}. Change fraction ({fraction}) or give more {unit}s."
        )
    # Evenly spaced among the subjects sorted by event code, so that every code gives its share.
    positions = (np.arange(n_validation) * n_subjects + n_subjects // 2) // n_validation
    is_validation = np.isin(target.subject_numbers, subjects[positions])
    return np.sort(row_numbers[~is_validation]), np.sort(row_numbers[is_validation])


def horizons(
    y: TargetLike, quantiles: Sequence[float] = (0.25, 0.5, 0.75), event: int | None = 1
) -> FloatArray:
    """Return quantiles of the event times without censored rows: the horizons of the paper.

    Parameters
    ----------
    y : target
        The whole data set, as in the paper. An event known to lie in an interval counts at its
        midpoint.
    quantiles : sequence of float, default (0.25, 0.5, 0.75)
        Levels in [0, 1].
    event : int or None, default 1
        The event type; None takes events of any type.

    Returns
    -------
    float array of shape (n_quantiles,)
        Times, in the order of the levels.

    Raises
    ------
    TargetError
        If no row has the event.

    Examples
    --------
    >>> from lifemix import make_target
    >>> from lifemix.splits import horizons
    >>> horizons(make_target([1, 2, 3, 4, 5], [1, 1, 1, 0, 1]))
    array([1.75, 2.5 , 3.5 ])

    """
    levels = np.asarray(quantiles, dtype=np.float64)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise SettingError(f"quantiles must lie between 0 and 1; got {list(quantiles)}.")
    event = None if event is None else check_event(event)
    return as_target(y).event_quantiles(levels.tolist(), event)


def default_horizons(y: TargetLike) -> FloatArray:
    """Return the times at which a model is evaluated by default.

    They are the quartiles of the times of events of any type, rounded to three significant digits,
    without those that are not positive or lie beyond the last time.

    Parameters
    ----------
    y : target
        The target that the model was fitted to.

    Returns
    -------
    float array of shape (n_horizons,)
        One to three distinct times, ascending.

    Examples
    --------
    >>> from lifemix import make_target
    >>> from lifemix.splits import default_horizons
    >>> default_horizons(make_target([101.23, 202.34, 303.45, 404.56], [1, 2, 1, 0]))
    array([152., 202., 253.])

    """
    target = as_target(y)
    last = float(np.fmax(target.time, target.upper).max())
    rounded = {float(f"{time:.3g}") for time in horizons(target, event=None)}
    times = sorted(time for time in rounded if 0 < time <= last)
    return np.array(times or [last])


def censor_artificially(y: TargetLike, fraction: float, random_state: Seed = 0) -> NDArray[np.void]:
    """Return the target with a random share of its events censored before they happened.

    ``round(fraction * n)`` of the n uncensored rows get event 0 and a time uniform between
    ``entry`` and the event time, both ends excluded. An event at time 0 becomes a row censored at
    0, which carries no information. Such censoring depends on the event time; the paper applies it
    to the training rows only.

    Parameters
    ----------
    y : target
        n subjects with exact or right-censored times.
    fraction : float
        Share of the events to censor, from 0 to 1.
    random_state : int, Generator or None, default 0
        Random seed.

    Returns
    -------
    structured array of shape (n,)
        The new target, as returned by ``make_target``.

    Raises
    ------
    TargetError
        If some events are interval-censored, or subjects have several intervals.

    Examples
    --------
    >>> from lifemix import make_target
    >>> from lifemix.splits import censor_artificially
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 1])
    >>> censored = censor_artificially(y, 0.5)
    >>> int((censored["event"] == 0).sum())
    2
    """
    if not 0 <= fraction <= 1:
        raise SettingError(f"fraction must lie between 0 and 1; got {fraction}.")
    target = as_target(y)
    if target.path is not None:
        raise TargetError(
            f"artificial censoring needs one row per subject; got {len(target)} intervals of "
            f"{len(target.joined())} paths. Censor the table before it is cut into intervals."
        )
    if target.interval.any():
        raise TargetError(
            f"artificial censoring needs exact event times; got {int(target.interval.sum())} "
            "interval-censored events. Leave these rows out."
        )
    rng = np.random.default_rng(random_state)
    uncensored = np.flatnonzero(target.event)
    rows = rng.permutation(uncensored)[: round(fraction * len(uncensored))]
    start, end = target.entry[rows], target.time[rows]
    lowest = np.minimum(np.nextafter(start, np.inf), end)
    highest = np.maximum(np.nextafter(end, 0), start)
    time, event = target.time.copy(), target.event.copy()
    time[rows] = np.clip(start + (end - start) * rng.random(len(rows)), lowest, highest)
    event[rows] = 0
    return replace(target, event=event, time=time).to_array()


def _shuffled_by_event(target: Target, random_state: Seed) -> IndexArray:
    """Return the numbers of the subjects (without subjects, of the rows) sorted by event code.

    Subjects are sorted by their number of events of the last code, then of the code before, and so
    on; ties are in random order.
    """
    target = target.joined()
    subject, n_subjects = target.subject_numbers, target.n_subjects
    counts = [
        np.bincount(subject[target.event == code], minlength=n_subjects)
        for code in np.unique(target.event)
    ]
    shuffled = np.random.default_rng(random_state).permutation(n_subjects)
    return shuffled[np.lexsort([count[shuffled] for count in counts])]
