"""Histories: repeated measurements of each subject with their times, alone or beside a table.

A history is what is known of a subject up to some time. ``Histories.until`` cuts it there, and
``Histories.landmarks`` makes the rows from which a model learns to predict from any time on. Models
with an encoder for sequences (``lifemix.encoders``) take histories as X.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray, IndexArray
from .checks import Whole, as_numbers, as_pandas, check_same_rows, check_times, refuse_rows, shown
from .errors import CovariateError, InputError, SettingError
from .target import Target, TargetLike, as_target, subject_codes

__all__ = [
    "HEAD",
    "TIME_FEATURES",
    "ArrayRows",
    "Block",
    "Histories",
    "InputLike",
    "Landmarks",
    "Sources",
    "as_input",
]

HEAD = 3  # numbers before the visits in a packed row: count, landmark, time since the last visit
TIME_FEATURES = 2  # features before the values of a visit: time, gap
_LATEST_QUANTILE = 0.9  # of the times of the target; later, few subjects are at risk


class SelectableRows(ABC):
    """Inputs with rows to select by ``[rows]``, ``.iloc[rows]`` and ``.take(rows)``."""

    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        return self.take([rows] if isinstance(rows, (int, np.integer)) else rows)

    @property
    def iloc(self) -> Self:
        """The object itself, so that ``.iloc[rows]`` selects rows."""
        return self

    def take(self, rows: Any, axis: int = 0) -> Self:
        """Return selected rows.

        Parameters
        ----------
        rows : slice, row numbers or mask
            The rows; a row may occur several times.
        axis : int, default 0
            Only rows can be taken; scikit-learn passes the axis.

        Returns
        -------
        the same type
        """
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        return self._take(np.arange(len(self))[index])

    @abstractmethod
    def _take(self, rows: IndexArray) -> Self:
        """Return the rows of these numbers."""


@dataclass(frozen=True, eq=False)
class Visits:
    """A table of visits, sorted by subject and then by time.

    Attributes
    ----------
    frame : DataFrame
        One row per visit, one column per measurement.
    times : float array
        The time of each visit.
    subject : int array
        The number of the subject of each visit, ascending.
    """

    frame: pd.DataFrame
    times: FloatArray
    subject: IndexArray

    @classmethod
    def sort(cls, frame: pd.DataFrame, times: FloatArray, subject: NDArray[Any]) -> Visits:
        """Return sorted visits; visits of a subject at the same time keep their order."""
        return cls(frame, times, subject).take(np.lexsort([times, subject]))

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def missing(self) -> BoolArray:
        """Which values are missing, ``[n_visits, n_columns]``."""
        return self.frame.isna().to_numpy()

    @cached_property
    def carried(self) -> pd.DataFrame:
        """The measurements; a missing value is the subject's last value before, if there is one."""
        if not self.missing.any():
            return self.frame
        return self.frame.groupby(self.subject, sort=False).ffill()

    def take(self, visits: IndexArray) -> Visits:
        """Return the visits of these numbers."""
        frame = self.frame.iloc[visits].reset_index(drop=True)
        return Visits(frame, self.times[visits], self.subject[visits].astype(np.intp))


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


class Histories(SelectableRows):
    """The measurements of each subject in the order of their times: a ragged sequence per subject.

    Use ``Histories.from_long`` for a table of visits, or ``Histories.from_array``.
    ``histories[rows]`` selects subjects by number, mask or slice, so that splits, searches and
    cross-validation can take histories as X; ``histories.until(s)`` returns what was known at time
    s. Selections share the table of visits; nothing is copied.

    ``from_long`` and ``until`` refuse a subject without any visit unless ``empty="keep"``; then its
    sequence has length zero, and a model predicts from its other sources.

    Parameters
    ----------
    visits : Visits
        The visits of all subjects, sorted; ``from_long`` makes them.
    starts, stops : int arrays of shape (n,)
        The positions of the first visit of each row, and after its last one.
    subjects : array of shape (n,)
        The identifier of the subject of each row.
    at : float array of shape (n,), optional
        The time up to which each history is known; NaN if it was never cut.

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
    >>> visits = pd.DataFrame(
    ...     {"id": [1, 1, 1, 2], "day": [0, 90, 200, 0], "bili": [1.1, 1.4, 3.0, 0.7]}
    ... )
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
            The subject of each row of the result, such as the identifiers beside the target; visits
            of others are left out. Without it all subjects in the order of their first rows.
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
        >>> visits = pd.DataFrame(
        ...     {"id": ["b", "a", "b"], "day": [30, 0, 0], "bili": [1.4, 0.7, None]}
        ... )
        >>> Histories.from_long(visits, "id", "day", subjects=["a", "b"]).n_visits
        array([1, 2])
        """
        table = as_pandas(frame)
        if not isinstance(table, pd.DataFrame):
            raise CovariateError(
                f"the visits must be a DataFrame, one row per visit; got {type(frame).__name__}."
            )
        for name in [subject, time, *(columns or ())]:
            if name not in table.columns:
                raise CovariateError(
                    f"the table of visits has no column {name!r}; it has "
                    f"{list(table.columns)[:20]}."
                )
        if columns is None:
            columns = [name for name in table.columns if name not in (subject, time)]
        if not columns:
            raise CovariateError(
                "the table of visits needs a column of measurements beside "
                f"{subject!r} and {time!r}."
            )
        is_missing = table[subject].isna()
        if is_missing.any():
            raise CovariateError(
                f"column {subject!r} must be known in every row; got a missing value at row "
                f"{int(is_missing.argmax())} ({int(is_missing.sum())} such rows). Drop them."
            )
        codes, identifiers = pd.factorize(table[subject])
        visits = Visits.sort(table[list(columns)], _visit_times(table[time], time), codes)
        rows = pd.Index(identifiers if subjects is None else np.asarray(subjects))
        position = pd.Index(identifiers).get_indexer(rows)  # -1 without a visit
        bounds = np.searchsorted(visits.subject, np.arange(len(identifiers) + 1))
        starts = np.where(position >= 0, bounds[position], 0).astype(np.intp)
        stops = np.where(position >= 0, bounds[position + 1], 0).astype(np.intp)
        histories = cls(visits, starts, stops, rows.to_numpy())
        return histories._check_visits(empty, "have no row in the table of visits")

    @classmethod
    def from_array(
        cls, values: ArrayLike, times: ArrayLike | None = None, columns: Any = None
    ) -> Histories:
        """Return the histories in an array of three dimensions.

        A step in which all values are missing is no visit.

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
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 3:
            raise CovariateError(
                "an array of histories must have the shape (subjects, steps, columns); got "
                f"{array.shape}. An array of another rank needs an encoder of your own (nn.Module)."
            )
        n_rows, n_steps, n_columns = array.shape
        times = np.asarray(np.arange(n_steps) if times is None else times, dtype=np.float64)
        if times.shape not in ((n_steps,), (n_rows, n_steps)) or not np.isfinite(times).all():
            raise CovariateError(
                f"times must be finite, of shape ({n_steps},) or ({n_rows}, {n_steps}); got shape "
                f"{times.shape}."
            )
        names = [f"x{i}" for i in range(n_columns)] if columns is None else list(map(str, columns))
        if len(names) != n_columns:
            raise CovariateError(
                f"columns must name the {n_columns} columns of the array; got {len(names)} names."
            )
        is_visit = ~np.isnan(array).all(2)
        frame = pd.DataFrame(array[is_visit], columns=names)
        times = np.broadcast_to(times, (n_rows, n_steps))
        visits = Visits.sort(frame, times[is_visit], np.nonzero(is_visit)[0])
        bounds = np.searchsorted(visits.subject, np.arange(n_rows + 1)).astype(np.intp)
        return cls(visits, bounds[:-1], bounds[1:], np.arange(n_rows))

    def __repr__(self) -> str:
        counts = self.n_visits
        per_row = f"{counts.min()} to {counts.max()} each" if len(self) else "none"
        names = ", ".join(self.columns[:8]) + (", ..." if len(self.columns) > 8 else "")
        return (
            f"<Histories of {len(self)} subjects, {counts.sum()} visits ({per_row}), "
            f"columns: {names}>"
        )

    def _take(self, rows: IndexArray) -> Self:
        starts, stops = self._starts[rows], self._stops[rows]
        return type(self)(self._visits, starts, stops, self.subjects[rows], self.at[rows])

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

    def _times_at(self, visits: IndexArray) -> FloatArray:
        has_visit, times = self.n_visits > 0, np.full(len(self), np.nan)
        times[has_visit] = self._visits.times[visits[has_visit]]
        return times

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
        limits = as_numbers(s, "s")
        if limits.shape not in ((), (len(self),)) or not np.isfinite(limits).all():
            raise InputError(
                f"s must be a finite number, or one per row, shape ({len(self)},); got {shown(s)}. "
                "Times count from the origin of the target's times."
            )
        limits = np.broadcast_to(limits, len(self))
        rows, visits = self._rows_and_visits()
        is_before = self._visits.times[visits] <= limits[rows]
        stops = self._starts + np.bincount(rows[is_before], minlength=len(self))
        at = np.fmin(self.at, limits)
        histories = Histories(self._visits, self._starts, stops, self.subjects, at)
        return histories._check_visits(empty, "have no visit at or before s")

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
        if not len(self._visits):
            return pd.DataFrame(np.nan, index=range(len(self)), columns=self.columns)
        has_visit = self.n_visits > 0
        frame = self._visits.carried if carry else self._visits.frame
        frame = frame.iloc[np.where(has_visit, self._stops - 1, 0)].reset_index(drop=True)
        return frame if has_visit.all() else frame.where(pd.Series(has_visit))

    def to_long(self) -> pd.DataFrame:
        """Return the visits as a long table, with ``row`` and ``time`` before the measurements.

        Returns
        -------
        DataFrame
            One row per visit of each row.
        """
        rows, visits = self._rows_and_visits()
        frame = self._visits.frame.iloc[visits].reset_index(drop=True)
        frame.insert(0, "row", rows)
        frame.insert(1, "time", self._visits.times[visits])
        return frame

    def landmarks(
        self,
        y: TargetLike,
        times: ArrayLike | None = None,
        n_per_subject: int | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> Landmarks:
        """Return rows to learn predictions from any time on: each history cut at several landmarks.

        A landmark s of a subject is used if the subject is still under observation and
        event-free at s and has a visit by then; the row has the history until s and the target with
        ``entry=s``. Times count from the origin. All rows of a subject share its ``subject``
        in the target, so that every split keeps them together.

        Landmarks must not depend on the future of the subject, or predictions are biased: times
        drawn between 0 and the subject's own end would favour short times. So they are the same for
        all (``times``), drawn for every subject from the same interval (``n_per_subject``), or its
        visits, which is the default.

        Parameters
        ----------
        y : target of n rows
            The times and events of the same subjects.
        times : array-like of shape (n_times,), optional
            Landmarks that all subjects share.
        n_per_subject : int, optional
            How many landmarks to draw for each subject, uniformly from the first visit of all to
            the 90 % quantile of the times of the target; those at which it is no longer at risk are
            dropped.
        random_state : int, Generator or None, default 0
            Random seed of the draws.

        Returns
        -------
        Landmarks
            A tuple ``(histories, y, rows)``: the histories, their target, and from which row each
            is.

        Examples
        --------
        >>> import pandas as pd
        >>> from lifemix import make_target
        >>> from lifemix.histories import Histories
        >>> visits = pd.DataFrame(
        ...     {"id": [1, 1, 1, 2], "day": [0, 90, 200, 0], "bili": [1.1, 1.4, 3.0, 0.7]}
        ... )
        >>> histories = Histories.from_long(visits, "id", "day")
        >>> X, y, rows = histories.landmarks(make_target([250.0, 80.0], [1, 0]), times=[50, 100])
        >>> y["entry"], rows
        (array([ 50., 100.,  50.]), array([0, 0, 1]))
        >>> X.n_visits
        array([1, 2, 1])
        """
        target = as_target(y)
        n_rows = len(target)
        check_same_rows(len(self), n_rows, "landmarks: ")
        if times is not None and n_per_subject is not None:
            raise SettingError("times and n_per_subject exclude each other; got both. Drop one.")
        if times is not None:
            shared = np.sort(check_times(times))
            rows, at = np.repeat(np.arange(n_rows), len(shared)), np.tile(shared, n_rows)
        elif n_per_subject is not None:
            n_draws = Whole(1)("n_per_subject", n_per_subject)
            low = max(float(np.nanmin(self.first_times, initial=np.inf)), 0.0)
            high = float(np.quantile(target.time, _LATEST_QUANTILE))
            if low >= high:
                raise InputError(
                    f"visits must begin before most targets end; got a first visit at {low:g} and "
                    f"the 90 % quantile of the times at {high:g}. Give times=."
                )
            draws = np.random.default_rng(random_state).uniform(low, high, (n_rows, n_draws))
            rows, at = np.repeat(np.arange(n_rows), n_draws), np.sort(draws, axis=1).ravel()
        else:
            rows, visits = self._rows_and_visits()
            at = self._visits.times[visits]
            is_new = np.append(True, (np.diff(rows) != 0) | (np.diff(at) != 0))[: len(at)]
            rows, at = rows[is_new], at[is_new]
        at_risk = (at >= target.entry[rows]) & (at < target.time[rows])
        is_usable = at_risk & (at >= 0) & (self.first_times[rows] <= at)
        rows, at = rows[is_usable], at[is_usable]
        if not len(rows):
            raise InputError(
                "no subject is under observation with a visit at any landmark; got no rows. Check "
                "that visits, landmarks and target count time from the same origin, in the same "
                "unit."
            )
        subject = subject_codes(self.subjects) if target.subject is None else target.subject
        # Each row is an observation of its own that begins at its landmark.
        cut = Target(target.event[rows], target.time[rows], at, target.upper[rows], subject[rows])
        return Landmarks(self.take(rows).until(at), cut.to_array(), rows)

    def visits_and_bounds(self) -> tuple[Visits, IndexArray, IndexArray]:
        """Return the visits that the rows refer to, and where each row begins and ends among them.

        Returns
        -------
        tuple
            ``(visits, starts, stops)``.
        """
        index = np.unique(self._rows_and_visits()[1])
        if len(index) == len(self._visits):
            return self._visits, self._starts, self._stops
        starts, stops = np.searchsorted(index, self._starts), np.searchsorted(index, self._stops)
        return self._visits.take(index), starts, stops

    def _rows_and_visits(self) -> tuple[IndexArray, IndexArray]:
        """Return the number of the row and of the visit, for every visit of every row."""
        counts = self.n_visits
        rows = np.repeat(np.arange(len(self)), counts)
        n_before = counts.cumsum() - counts
        return rows, np.arange(len(rows)) + (self._starts - n_before)[rows]

    def __reduce__(self) -> Any:
        # a pickle has no visits of other rows
        return Histories, (*self.visits_and_bounds(), self.subjects, self.at)

    def _check_visits(self, empty: str, problem: str) -> Histories:
        """Return the histories; refuse rows without a visit unless they may be empty."""
        if empty not in ("refuse", "keep"):
            raise SettingError(f"empty must be 'refuse' or 'keep'; got {empty!r}.")
        subjects = self.subjects[self.n_visits == 0]
        if empty == "refuse" and len(subjects):
            examples = ", ".join(map(str, subjects[:5])) + (", ..." if len(subjects) > 5 else "")
            raise CovariateError(
                f"every subject needs a visit; {len(subjects)} of {len(self)} {problem}: "
                f"{examples}. Drop them (empty='keep' and histories[histories.n_visits > 0]), or "
                "keep them with empty='keep'."
            )
        return self


def _visit_times(column: pd.Series[Any], name: str) -> FloatArray:
    """Return the times of visits, which must be finite numbers."""
    times = as_numbers(column, name, CovariateError)
    expected = f"column {name!r} must hold finite times"
    refuse_rows(~np.isfinite(times), times, expected, "Drop these visits", CovariateError)
    return times


class ArrayRows(SelectableRows):
    """An array of more than two dimensions, one row per subject.

    Parameters
    ----------
    values : array-like of shape (n, ...)
        Numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.histories import ArrayRows
    >>> ArrayRows(np.zeros((10, 3, 8, 8)))[:4].shape
    (4, 192)
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values: NDArray[Any] = np.asarray(values)
        if self.values.ndim < 2:
            raise CovariateError(
                f"an array must have rows of numbers; got shape {self.values.shape}."
            )
        self.shape = len(self.values), math.prod(self.values.shape[1:])

    def __repr__(self) -> str:
        return f"<array of shape {self.values.shape}>"

    def _take(self, rows: IndexArray) -> Self:
        return type(self)(self.values[rows])

    @property
    def columns(self) -> list[str]:
        """The names of the numbers of a row."""
        return [f"x{i}" for i in range(self.shape[1])]


class Sources(SelectableRows):
    """Several inputs of the same subjects: tables, histories and arrays, each under a name.

    ``fit`` and ``predict`` of a model with an encoder take a dict of them; as ``Sources`` rows can
    be selected, which scikit-learn's splits and searches need.

    Parameters
    ----------
    parts : mapping from str to table, Histories or array
        The sources; all have the same rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from lifemix.histories import Histories, Sources
    >>> clinic = pd.DataFrame({"age": [61, 48]})
    >>> visits = Histories.from_array(np.zeros((2, 3, 1)), columns=["bili"])
    >>> X = Sources({"clinic": clinic, "visits": visits})
    >>> X.columns
    ['clinic.age', 'visits.bili']
    >>> len(X[[0]])
    1
    """

    def __init__(self, parts: Mapping[str, Any]) -> None:
        if not parts:
            raise CovariateError("X must have at least one source; got an empty dict.")
        self.parts = {str(name): _as_source(str(name), source) for name, source in parts.items()}
        lengths = {name: len(source) for name, source in self.parts.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"all sources must have the same rows; got {lengths}. Select the rows of all "
                "together, or give Histories.from_long the order of subjects."
            )
        self.columns = [
            f"{name}.{column}" for name, source in self.parts.items() for column in source.columns
        ]
        self.shape = next(iter(lengths.values())), len(self.columns)

    def __repr__(self) -> str:
        return f"<Sources of {len(self)} rows: {', '.join(self.parts)}>"

    def _take(self, rows: IndexArray) -> Self:
        return type(self)({name: source.iloc[rows] for name, source in self.parts.items()})


def _as_source(name: str, source: Any) -> Any:
    """Return a source as a DataFrame, ``TableData``, ``Histories`` or ``ArrayRows``."""
    source = as_pandas(source)
    is_table = isinstance(source, pd.DataFrame) or hasattr(source, "frame")  # of a TableData
    if is_table or isinstance(source, (Histories, ArrayRows)):
        return source
    array = np.asarray(source)
    if array.ndim < 2:
        raise CovariateError(
            f"source {name!r} must be a table, a Histories or an array of at least two dimensions; "
            f"got {type(source).__name__} of shape {array.shape}."
        )
    rows = ArrayRows(array)
    return rows if array.ndim > 2 else pd.DataFrame(array, columns=rows.columns)


InputLike: TypeAlias = Histories | Sources | ArrayRows
"""Inputs that are no table."""


def as_input(X: Any) -> Any:
    """Return inputs that are no table as objects with rows, and others unchanged.

    A dict becomes ``Sources``, an array of more than two dimensions ``ArrayRows``.

    Parameters
    ----------
    X : any
        What a model is given.

    Returns
    -------
    Sources, ArrayRows, or X itself
        With ``shape``, ``len`` and ``iloc``.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.histories import as_input
    >>> as_input({"clinic": np.zeros((2, 3)), "images": np.zeros((2, 8, 8))})
    <Sources of 2 rows: clinic, images>
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
        return Sources(X)
    X = as_pandas(X)
    is_known = isinstance(X, (Histories, Sources, ArrayRows, pd.DataFrame))
    return X if is_known or len(getattr(X, "shape", ())) <= 2 else ArrayRows(X)


@dataclass(frozen=True)
class Block:
    """The part of a packed row that belongs to one source.

    Attributes
    ----------
    name : str
        The name of the source.
    kind : {"table", "visits", "array"}
        What it holds.
    shape : tuple of int
        Of a table ``(width,)``; of visits ``(most visits, features)``; of an array the shape of one
        row.
    n_values : int
        Of visits, how many of the features are values; those of time come before, the marks of
        missing values behind.

    Examples
    --------
    >>> from lifemix.histories import Block
    >>> Block("visits", "visits", (5, 6), n_values=3).width
    33
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    n_values: int = 0

    @property
    def width(self) -> int:
        """How many numbers it takes."""
        return math.prod(self.shape) + (HEAD if self.kind == "visits" else 0)
