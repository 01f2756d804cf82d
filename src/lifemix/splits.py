"""Folds, validation rows, horizons and artificial censoring: the paper's evaluation protocol, reproducible by seed.

Where the target has subjects, all rows of a subject are on one side of every split.
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
    """Split rows into folds with the same share of every event type and of censoring; a scikit-learn splitter.

    Sizes of the folds differ by at most one row, and so do the counts of each event code. Where the target has
    subjects, or groups are given, whole subjects are distributed: their numbers differ by at most one, and subjects
    with the same events are spread evenly. ``cv=EventStratifiedKFold(5)`` works wherever scikit-learn takes a splitter,
    with any form of target.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds; the paper has 5, for METABRIC 10.
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

    >>> y = make_target(np.arange(1.0, 9.0), [0, 1, 0, 1, 0, 1, 0, 1], subject=[1, 1, 2, 2, 3, 3, 4, 4])
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
        """Yield the row numbers of training and test part for each fold.

        Parameters
        ----------
        X : DataFrame or array
            Not used; there for scikit-learn.
        y : target
            n rows; their subjects, where it has them.
        groups : array-like of shape (n,), optional
            Subjects of the rows, as in scikit-learn; they must keep the subjects of ``y`` together.

        Yields
        ------
        train, test : int arrays
            Sorted row numbers.
        """
        target = as_target(y).grouped(groups)
        order = _shuffled_by_event(target, self.random_state)
        if not 2 <= self.n_splits <= len(order):
            units = "rows" if target.subject is None else "subjects"
            raise SettingError(
                f"n_splits must be at least 2 and at most the number of {units}, {len(order)}; got {self.n_splits}."
            )
        fold = np.empty(len(order), dtype=np.intp)
        # Dealing out the subjects like cards, one event code after the other.
        fold[order] = np.arange(len(order)) % self.n_splits
        fold = fold[target.subject_numbers]
        for i in range(self.n_splits):
            yield np.flatnonzero(fold != i), np.flatnonzero(fold == i)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, optional
            Not used; there for scikit-learn.

        Returns
        -------
        int
            Number of folds.
        """
        return self.n_splits

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn that ``split`` takes ``groups``.

        Returns
        -------
        MetadataRequest
            What is asked for.
        """
        from sklearn.utils.metadata_routing import (
            MetadataRequest,
        )  # a second of imports that few need

        request = MetadataRequest(owner=type(self).__name__)
        request.split.add_request(param="groups", alias=True)
        return request


def train_validation_split(
    y: TargetLike, rows: ArrayLike | None = None, fraction: float = 0.2, random_state: Seed = 0
) -> tuple[IndexArray, IndexArray]:
    """Split rows into training and validation part with the same share of every event code.

    Where the target has subjects, a share of the subjects is chosen, each with all its rows.

    Parameters
    ----------
    y : target
        n rows; their subjects, where it has them.
    rows : array-like, optional
        Which rows of ``y`` to split, by number or mask, such as the training part of a fold; None for all.
    fraction : float, default 0.2
        Share of the validation part, strictly between 0 and 1.
    random_state : int, Generator or None, default 0
        Random seed.

    Returns
    -------
    train, validation : int arrays
        Sorted row numbers of ``y``; the second has ``round(fraction * len(rows))`` of them, or the rows of that share
        of the subjects.

    Raises
    ------
    SettingError
        Where ``fraction`` is not between 0 and 1, or one part would be empty.

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
    target = as_target(y)
    chosen = np.arange(len(target)) if rows is None else np.arange(len(target))[np.asarray(rows)]
    target = target.take(chosen)
    if not 0 < fraction < 1:
        raise SettingError(f"fraction must lie between 0 and 1; got {fraction}.")
    order = _shuffled_by_event(target, random_state)
    n_validation = round(fraction * len(order))
    if not 0 < n_validation < len(order):
        unit = "row" if target.subject is None else "subject"
        raise SettingError(
            f"both parts need at least one {unit}; got {n_validation} validation {unit}s of {len(order)}. Change "
            f"fraction ({fraction}) or give more {unit}s."
        )
    # Evenly spaced among subjects sorted by event code, so that every code gives its share.
    taken = order[(np.arange(n_validation) * len(order) + len(order) // 2) // n_validation]
    validation = np.zeros(len(order), dtype=bool)
    validation[taken] = True
    validation = validation[target.subject_numbers]
    return np.sort(chosen[~validation]), np.sort(chosen[validation])


def horizons(
    y: TargetLike, quantiles: Sequence[float] = (0.25, 0.5, 0.75), event: int | None = 1
) -> FloatArray:
    """Return quantiles of the event times, censored rows left out: where the paper evaluates.

    Parameters
    ----------
    y : target
        The whole data set, as in the paper. An event known to lie in an interval counts at its midpoint.
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
        Where no row has the event.

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
    return as_target(y).event_quantiles(
        levels.tolist(), None if event is None else check_event(event)
    )


def default_horizons(y: TargetLike) -> FloatArray:
    """Return the times at which a model is measured and shown where none are given.

    They are the quartiles of the times of events of any type, rounded to three significant digits; those that are not
    positive, or beyond the last time, are left out.

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
    rounded = {float(f"{time:.3g}") for time in horizons(target, event=None).tolist()}
    kept = sorted(time for time in rounded if 0 < time <= last)
    return np.array(kept or [last], dtype=np.float64)


def censor_artificially(y: TargetLike, fraction: float, random_state: Seed = 0) -> NDArray[np.void]:
    """Return the target with a random part of its events censored before they happened.

    ``round(fraction * n)`` of the n uncensored rows get event 0 and a time uniform between ``entry`` (0 where there was
    none) and their event time T, both ends excluded. An event at time 0 leaves no room: it becomes a row censored at 0,
    which carries no information. Such censoring depends on T; the paper applies it to the training rows only.

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
        Where some events are interval-censored.

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
            f"artificial censoring needs one row per subject; got {len(target)} intervals of {len(target.joined())} "
            "paths. Censor the table before it is cut into intervals."
        )
    if target.interval.any():
        raise TargetError(
            f"artificial censoring needs exact event times; got {int(target.interval.sum())} events known only to lie "
            "in an interval. Leave these rows out."
        )
    rng = np.random.default_rng(random_state)
    uncensored = np.flatnonzero(target.event)
    rows = rng.permutation(uncensored)[: round(fraction * len(uncensored))]
    time, event = target.time.copy(), target.event.copy()
    start, end = target.entry[rows], time[rows]
    drawn = start + (end - start) * rng.random(len(rows))
    time[rows] = np.clip(
        drawn, np.minimum(np.nextafter(start, np.inf), end), np.maximum(np.nextafter(end, 0), start)
    )
    event[rows] = 0
    return replace(target, event=event, time=time).to_array()


def _shuffled_by_event(target: Target, random_state: Seed) -> IndexArray:
    """Return the numbers of the subjects (without subjects, of the rows) sorted by event code, else in random order.

    Subjects are sorted by how many events of the last code they have, then of the one before, and so on.
    """
    target = target.joined()
    if target.subject is None:
        keys = [target.event]
    else:
        subject, n_subjects = target.subject_numbers, target.n_subjects
        codes = np.unique(target.event)
        keys = [np.bincount(subject[target.event == code], minlength=n_subjects) for code in codes]
    shuffled = np.random.default_rng(random_state).permutation(len(keys[0]))
    return shuffled[np.lexsort([key[shuffled] for key in keys])]
