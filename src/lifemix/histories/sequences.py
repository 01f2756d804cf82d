"""Ragged sequences of measurements, one per subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray, IndexArray
from ..errors import CovariateError, InputError, SettingError
from .long_tables import long_table, visits_of_array
from .selection import SelectableRows
from .visits import Visits, positions_until

if TYPE_CHECKING:
    from ..target import TargetLike
    from .landmarks import Landmarks

__all__ = ["Histories"]


class Histories(SelectableRows):
    """The measurements of each subject in the order of their times: a ragged sequence per subject.

    Made by ``Histories.from_long`` from a table of visits, or by ``Histories.from_array``. ``histories[rows]`` are
    those of some subjects (numbers, a mask, a slice), so that splits, searches and cross-validation can take them as X;
    ``histories.until(s)`` is what was known at time s. Parts share the table of visits; nothing is copied.

    A subject without any visit is refused by ``from_long`` and ``until`` unless ``empty="keep"``; then its sequence has
    length zero, and a model predicts for it from what else it knows.

    Parameters
    ----------
    visits : Visits
        The visits of all subjects, sorted; ``from_long`` makes them.
    starts, stops : int arrays of shape (n,)
        Where the visits of each row begin and end among them.
    subjects : array of shape (n,)
        The identifier of the subject of each row.
    at : float array of shape (n,), optional
        The time up to which each history is known; NaN where it was never cut.

    Attributes
    ----------
    columns : list of str
        The names of the measurements.
    shape : tuple of int
        The number of subjects (rows) and of columns.

    See Also
    --------
    lifemix.encoders.Recurrent : The encoder for models that take histories.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.histories import Histories
    >>> visits = pd.DataFrame({"id": [1, 1, 1, 2], "day": [0, 90, 200, 0], "bili": [1.1, 1.4, 3.0, 0.7]})
    >>> histories = Histories.from_long(visits, subject="id", time="day")
    >>> histories
    <Histories of 2 subjects, 4 visits (1 to 3 each), columns: bili>
    >>> histories.n_visits
    array([3, 1])
    >>> histories.until(100).n_visits
    array([2, 1])
    >>> histories.until(100).last()["bili"].tolist()
    [1.4, 0.7]
    """

    def __init__(
        self,
        visits: Visits,
        starts: IndexArray,
        stops: IndexArray,
        subjects: NDArray[Any],
        at: FloatArray | None = None,
    ) -> None:
        self._visits, self._starts, self._stops = visits, starts, stops
        self.subjects = subjects
        self.at = np.full(len(starts), np.nan) if at is None else at
        self.columns = [str(name) for name in visits.frame.columns]
        self.shape = len(starts), len(self.columns)

    @classmethod
    def from_long(
        cls,
        frame: Any,
        subject: str,
        time: str,
        columns: Sequence[str] | None = None,
        subjects: ArrayLike | None = None,
        empty: str = "refuse",
    ) -> Histories:
        """Return the histories in a long table: one row per visit.

        Parameters
        ----------
        frame : DataFrame
            The visits, in any order; visits of one subject at the same time keep theirs.
        subject : str
            The column that says whose visit it is.
        time : str
            The column with the time of the visit, counted from the origin of the target's times.
        columns : sequence of str, optional
            The measurements: numbers, categories, missing values. Without it all other columns.
        subjects : array-like of shape (n,), optional
            The subject of each row of the result, such as the identifiers beside the target; visits of others are left
            out. Without it all subjects in the order of their first rows.
        empty : {"refuse", "keep"}, default "refuse"
            What to do with subjects that have no visit.

        Returns
        -------
        Histories
            One row per subject.

        Raises
        ------
        CovariateError
            Where a column is not there, a time or subject is missing, or a subject has no visit.

        Examples
        --------
        >>> import pandas as pd
        >>> from lifemix.histories import Histories
        >>> visits = pd.DataFrame({"id": ["b", "a", "b"], "day": [30, 0, 0], "bili": [1.4, 0.7, None]})
        >>> Histories.from_long(visits, "id", "day", subjects=["a", "b"]).n_visits
        array([1, 2])
        """
        _check_empty(empty)
        visits, known = long_table(frame, subject, time, columns)
        wanted = known if subjects is None else pd.Index(np.asarray(subjects))
        place = known.get_indexer(wanted)
        bounds = np.searchsorted(visits.owner, np.arange(len(known) + 1))
        starts = np.where(place >= 0, bounds[place], 0).astype(np.intp)
        stops = np.where(place >= 0, bounds[place + 1], 0).astype(np.intp)
        found = cls(visits, starts, stops, wanted.to_numpy())
        return (
            found if empty == "keep" else found._refuse_empty("have no row in the table of visits")
        )

    @classmethod
    def from_array(
        cls, values: ArrayLike, times: ArrayLike | None = None, columns: Any = None
    ) -> Histories:
        """Return the histories in an array of three dimensions; a step in which all values are missing is no visit.

        Parameters
        ----------
        values : array-like of shape (n, n_steps, n_columns)
            The measurements; NaN where missing.
        times : array-like of shape (n_steps,) or (n, n_steps), optional
            The times of the steps; without them 0, 1, 2 ...
        columns : sequence of str, optional
            The names of the columns; without them x0, x1 ...

        Returns
        -------
        Histories
            One row per row of the array.

        Examples
        --------
        >>> import numpy as np
        >>> from lifemix.histories import Histories
        >>> Histories.from_array(np.zeros((4, 3, 2)))
        <Histories of 4 subjects, 12 visits (3 to 3 each), columns: x0, x1>
        """
        visits, n = visits_of_array(values, times, columns)
        bounds = np.searchsorted(visits.owner, np.arange(n + 1)).astype(np.intp)
        return cls(visits, bounds[:-1], bounds[1:], np.arange(n))

    def __repr__(self) -> str:
        counts = self.n_visits
        each = f"{counts.min()} to {counts.max()} each" if len(self) else "none"
        names = ", ".join(self.columns[:8]) + (", ..." if len(self.columns) > 8 else "")
        return (
            f"<Histories of {len(self)} subjects, {counts.sum()} visits ({each}), columns: {names}>"
        )

    def _taken(self, rows: IndexArray) -> Self:
        return type(self)(
            self._visits, self._starts[rows], self._stops[rows], self.subjects[rows], self.at[rows]
        )

    @property
    def n_visits(self) -> IndexArray:
        """The number of visits of each row."""
        return self._stops - self._starts

    @property
    def first_times(self) -> FloatArray:
        """The time of the first visit of each row; NaN without any."""
        return self._times_at(self._starts)

    @property
    def last_times(self) -> FloatArray:
        """The time of the last visit of each row; NaN without any."""
        return self._times_at(self._stops - 1)

    def _times_at(self, places: IndexArray) -> FloatArray:
        known = self.n_visits > 0
        found = np.full(len(self), np.nan)
        found[known] = self._visits.times[places[known]]
        return found

    def until(self, s: ArrayLike, empty: str = "refuse") -> Histories:
        """Return what was known at a time: the visits at or before it.

        Parameters
        ----------
        s : float or array-like of shape (n,)
            The time, one for all rows or one per row.
        empty : {"refuse", "keep"}, default "refuse"
            What to do with rows that have no visit left: an error, or a sequence of length zero.

        Returns
        -------
        Histories
            The same subjects; ``at`` is s.

        Raises
        ------
        InputError
            Where s is not a finite number or has another length, or a row has no visit left.
        """
        _check_empty(empty)
        limits = np.asarray(s, dtype=np.float64)
        if limits.shape not in ((), (len(self),)) or not np.isfinite(limits).all():
            raise InputError(
                f"s must be a finite number, or one per row, shape ({len(self)},); got {_described(limits)}. Times "
                "count from the origin of the target's times."
            )
        limits = np.broadcast_to(limits, len(self)).astype(np.float64)
        stops = positions_until(self._visits.times, self._starts, self._stops, limits)
        cut = Histories(self._visits, self._starts, stops, self.subjects, np.fmin(self.at, limits))
        return cut if empty == "keep" else cut._refuse_empty("have no visit at or before s")

    def last(self, carry: bool = True) -> pd.DataFrame:
        """Return the last visit of each row as a table, for models that take tables.

        Parameters
        ----------
        carry : bool, default True
            Whether a missing value is the last one known before; otherwise it stays missing.

        Returns
        -------
        DataFrame
            One row per subject; missing values where there is no visit.
        """
        source = self._visits.carried if carry else self._visits.frame
        known = self.n_visits > 0
        if not len(source):
            return pd.DataFrame(np.nan, index=range(len(self)), columns=self.columns)
        found = source.iloc[np.where(known, self._stops - 1, 0)].reset_index(drop=True)
        return found if known.all() else found.where(pd.Series(known))

    def to_long(self) -> pd.DataFrame:
        """Return the visits as a long table with the columns ``row`` and ``time`` before the measurements.

        Returns
        -------
        DataFrame
            One row per visit of each row.
        """
        counts = self.n_visits
        places = np.arange(counts.sum()) + np.repeat(
            self._starts - (counts.cumsum() - counts), counts
        )
        frame = self._visits.frame.iloc[places].reset_index(drop=True)
        frame.insert(0, "row", np.repeat(np.arange(len(self)), counts))
        frame.insert(1, "time", self._visits.times[places])
        return frame

    def landmarks(
        self,
        y: TargetLike,
        times: ArrayLike | None = None,
        n_per_subject: int | None = None,
        between: tuple[float, float] | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> Landmarks:
        """Return rows to learn predictions from any time on: each history cut at several landmarks.

        A landmark s of a subject is kept where the subject is still under observation and event-free at s and has a
        visit by then; the row has the history until s and the target with ``entry=s``. Times stay counted from the
        origin. All rows of a subject share its ``subject`` in the target, so that every split keeps them together.

        Landmarks must not depend on the future of the subject, or predictions are biased: times drawn between 0 and
        the subject's own end would favour short times. So they are the same for all (``times``), drawn for every
        subject from the same interval (``n_per_subject``), or its visits, which is the default.

        Parameters
        ----------
        y : target of n rows
            The times and events of the same subjects.
        times : array-like of shape (n_times,), optional
            Landmarks that all subjects share.
        n_per_subject : int, optional
            How many landmarks to draw for each subject, uniformly in ``between``; those at which it is no longer at
            risk are dropped.
        between : pair of float, optional
            The interval to draw from; from the first visit of all to the 90 % quantile of the times of the target.
        random_state : int, Generator or None, default 0
            Random seed of the draws.

        Returns
        -------
        Landmarks
            A tuple ``(histories, y, rows)``: the histories, their target, and from which row each is.

        Examples
        --------
        >>> import pandas as pd
        >>> from lifemix import make_target
        >>> from lifemix.histories import Histories
        >>> visits = pd.DataFrame({"id": [1, 1, 1, 2], "day": [0, 90, 200, 0], "bili": [1.1, 1.4, 3.0, 0.7]})
        >>> histories = Histories.from_long(visits, "id", "day")
        >>> X, y, rows = histories.landmarks(make_target([250.0, 80.0], [1, 0]), times=[50, 100])
        >>> y["entry"], rows
        (array([ 50., 100.,  50.]), array([0, 0, 1]))
        >>> X.n_visits
        array([1, 2, 1])
        """
        from .landmarks import draw_landmarks

        return draw_landmarks(self, y, times, n_per_subject, between, random_state)

    # What other parts of the package need.

    def parts(self) -> tuple[Visits, IndexArray, IndexArray]:
        """Return the visits that the rows refer to, and where each row begins and ends among them.

        Returns
        -------
        tuple
            ``(visits, starts, stops)``.
        """
        steps = np.zeros(len(self._visits) + 1, dtype=np.intp)
        np.add.at(steps, self._starts, 1)
        np.add.at(steps, self._stops, -1)
        used = steps.cumsum()[:-1] > 0
        if used.all():
            return self._visits, self._starts, self._stops
        number = np.append(0, used.cumsum())
        return self._visits.take(np.flatnonzero(used)), number[self._starts], number[self._stops]

    def __reduce__(self) -> Any:
        return Histories, (
            *self.parts(),
            self.subjects,
            self.at,
        )  # a pickle has no visits of others

    def _refuse_empty(self, why: str) -> Histories:
        none = np.flatnonzero(self.n_visits == 0)
        if len(none):
            shown = ", ".join(str(one) for one in self.subjects[none[:5]]) + (
                ", ..." if len(none) > 5 else ""
            )
            raise CovariateError(
                f"every subject needs a visit; {len(none)} of {len(self)} {why}: {shown}. Leave them out "
                "(empty='keep' and histories[histories.n_visits > 0]), or keep them with empty='keep'."
            )
        return self


def _check_empty(empty: object) -> None:
    if empty not in ("refuse", "keep"):
        raise SettingError(f"empty must be 'refuse' or 'keep'; got {empty!r}.")


def _described(values: FloatArray) -> str:
    if values.ndim == 0:
        return f"{values}"
    bad = values[~np.isfinite(values)]
    return f"{bad[0]} among {values.shape}" if bad.size else f"shape {values.shape}"
