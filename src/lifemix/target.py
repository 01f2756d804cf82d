"""The target of a survival model: observation times, event types, entry times, censoring intervals and subjects.

``event`` is 0 for a row that was right-censored at ``time`` and 1..M for the event type that happened at ``time``. An
event that is only known to lie in an interval has ``upper > time`` and fell in ``(time, upper]``; with ``time`` 0 it is
left-censored. A row that came under observation at ``entry`` is left-truncated. Rows with the same ``subject``
belong together: no split, fold or resample separates them. Without ``subject`` one row is one subject. With ``subject``
and ``entry`` the rows of one subject are its path: consecutive intervals with the covariates that held in each.

``as_target`` is the only parser of ``y`` in the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray, IntArray
from .checks import as_numbers, as_pandas, refuse_masked, warn_user
from .errors import SettingError, TargetError
from .start_stop import checked_starts, path_order

__all__ = [
    "LARGEST_CODE",
    "Target",
    "TargetLike",
    "TrainingRows",
    "as_target",
    "event_names",
    "first_appearance",
    "make_target",
    "names_of_labels",
    "no_censored_row",
    "refuse_large_codes",
    "refuse_missing_types",
    "refuse_swapped",
    "refuse_unknown_types",
    "subject_codes",
]


_FIELDS = ("event", "time", "entry", "upper")
_OPTIONAL = ("entry", "upper", "subject")
_FORMS = (
    "make_target(time, event, entry=None, upper=None, subject=None), a structured array with fields (event, time), "
    "a DataFrame with columns 'event' and 'time' (or 'duration'), or a pair (time, event)"
)


@dataclass(frozen=True, eq=False)
class Target:
    """The parsed target; every field has one value per row.

    Attributes
    ----------
    event : int array of shape (n,)
        0 for right-censored, 1..M for the event type.
    time : float array of shape (n,)
        Time of the event or of the censoring; the lower end of an interval.
    entry : float array of shape (n,)
        Time at which observation began; 0 where a subject was observed from the origin.
    upper : float array of shape (n,)
        Upper end of an interval; NaN where the time is exact or right-censored.
    subject : int array of shape (n,) or None
        Code of the subject that the row belongs to (see ``lifemix.target``); None where every row is a subject of
        its own.
    path : int array of shape (n,) or None
        Number of the path that the row is an interval of; None where every row is an observation of its own.
    """

    event: IntArray
    time: FloatArray
    entry: FloatArray
    upper: FloatArray
    subject: IntArray | None = None
    path: IntArray | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def n_events(self) -> int:
        """The largest event code among the rows (0 where all are censored)."""
        return int(self.event.max(initial=0))

    @property
    def interval(self) -> BoolArray:
        """Which rows have an event known only to lie in ``(time, upper]``."""
        return ~np.isnan(self.upper)

    @property
    def truncated(self) -> BoolArray:
        """Which rows came under observation after the origin (left truncation)."""
        return self.entry > 0

    @property
    def subject_numbers(self) -> IntArray:
        """The subject of each row, numbered 0, 1, 2 ... by first appearance; without subjects, the row numbers."""
        return np.arange(len(self)) if self.subject is None else first_appearance(self.subject)[0]

    @property
    def n_subjects(self) -> int:
        """The number of different subjects; without subjects, the number of rows."""
        return len(self) if self.subject is None else first_appearance(self.subject)[1]

    @property
    def path_numbers(self) -> IntArray:
        """The path of each row, numbered 0, 1, 2 ... by first appearance; without paths, the row numbers."""
        return np.arange(len(self)) if self.path is None else first_appearance(self.path)[0]

    @property
    def event_times(self) -> FloatArray:
        """The distinct times of events of any type, ascending; intervals count at their upper ends."""
        return np.unique(np.fmax(self.time, self.upper)[self.event > 0])

    def event_quantiles(self, levels: Sequence[float], event: int | None) -> FloatArray:
        """Return quantiles of the times of an event type, None for all; an interval counts at its middle."""
        seen = self.event > 0 if event is None else self.event == event
        if not seen.any():
            what = "an event" if event is None else f"event {event}"
            raise TargetError(
                f"horizons need rows with {what}; got none among the codes {np.unique(self.event)}."
            )
        times = np.where(self.interval, (self.time + self.upper) / 2, self.time)
        return np.asarray(np.quantile(times[seen], levels), dtype=np.float64)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many rows of which kind, and the first of them."""
        codes, counts = np.unique(self.event, return_counts=True)
        kinds = (
            f"{count:,} {'censored' if code == 0 else f'event {code}'}"
            for code, count in zip(codes, counts, strict=True)
        )
        first = pd.DataFrame(self.take(slice(0, 5)).to_array())
        return f"<p>Target of {len(self):,} rows: {', '.join(kinds)}</p>{first.to_html()}"

    def take(self, rows: Any) -> Target:
        """Return some of the rows, by index or mask."""
        subject = None if self.subject is None else self.subject[rows]
        path = None if self.path is None else self.path[rows]
        return Target(
            self.event[rows], self.time[rows], self.entry[rows], self.upper[rows], subject, path
        )

    def joined(self) -> Target:
        """Return one row per path, from its first start to its last end, in the order of their first rows.

        What counts subjects and not rows (censoring, horizons, shares of events) is estimated from it. Without paths
        the target itself.
        """
        if self.path is None:
            return self
        order, firsts = path_order(self.path_numbers, self.entry, self.time)
        lasts = np.append(firsts[1:], len(order)) - 1
        return replace(self.take(order[lasts]), entry=self.entry[order[firsts]], path=None)

    def followed_by(self, other: Target) -> Target:
        """Return these rows and then those of another target; subjects only where both have them."""
        columns: dict[str, Any] = {
            name: (getattr(self, name), getattr(other, name)) for name in _FIELDS
        }
        if self.subject is not None and other.subject is not None:
            columns["subject"] = (self.subject, other.subject)
        if self.path is not None or other.path is not None:
            first, second = self.path_numbers, other.path_numbers
            columns["path"] = (first, second + first.max(initial=-1) + 1)
        return Target(**{name: np.concatenate(parts) for name, parts in columns.items()})

    def grouped(self, groups: Any) -> Target:
        """Return the target with ``groups`` as subjects, as in scikit-learn; None leaves it as it is.

        Groups that separate the rows of one subject are refused.
        """
        if groups is None:
            return self
        codes = subject_codes(groups, "groups")
        if len(codes) != len(self):
            raise TargetError(
                f"groups must have one value per row; got {len(codes)} values for {len(self)} rows."
            )
        if self.subject is not None:
            pairs = len(pd.DataFrame({"subject": self.subject, "group": codes}).drop_duplicates())
            if pairs > self.n_subjects:
                raise TargetError(
                    f"groups must keep the rows of one subject together; got {self.n_subjects} subjects in the target "
                    f"and {pairs} pairs of subject and group. Leave groups out, or make the target without subject."
                )
        return replace(self, subject=codes)

    def to_array(self) -> NDArray[np.void]:
        """Return the structured array of ``make_target``; ``entry`` and ``upper`` only where some row needs them."""
        columns: dict[str, NDArray[Any]] = {"event": self.event, "time": self.time}
        if self.truncated.any():
            columns["entry"] = self.entry
        if self.interval.any():
            columns["upper"] = self.upper
        if self.subject is not None:
            columns["subject"] = self.subject
        if self.path is not None:
            columns["path"] = self.path
        array = np.empty(
            len(self), dtype=[(name, values.dtype) for name, values in columns.items()]
        )
        for name, values in columns.items():
            array[name] = values
        return array


# What ``as_target`` takes: a Target, a structured array, a DataFrame or a pair of vectors.
TargetLike: TypeAlias = Target | pd.DataFrame | ArrayLike | tuple[ArrayLike, ArrayLike]


def make_target(
    time: ArrayLike,
    event: ArrayLike,
    entry: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    subject: ArrayLike | None = None,
    paths: bool = True,
) -> NDArray[np.void]:
    """Return the target of a survival model as a structured array.

    Exact, right-, left- and interval-censored rows may be mixed, each possibly left-truncated.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event or of the censoring, >= 0; for an interval, its lower end.
    event : array-like of shape (n,)
        0 for right-censored, 1..M for the event type (the cause, under competing risks). Booleans stand for 0 and 1.
    entry : array-like of shape (n,), optional
        Time at which observation began (left truncation). 0 or missing: at the origin.
    upper : array-like of shape (n,), optional
        Upper end of an interval-censored event: it fell in ``(time, upper]``. With ``time`` 0 the row is left-censored.
        Missing or equal to ``time``: the time is exact.
    subject : array-like of shape (n,), optional
        Identifier of the subject of each row (a patient, a machine): numbers, texts, or anything that can be hashed,
        without missing values. Rows of one subject stay together in every split, fold, early stopping and resample.
        Without it every row is a subject of its own.
    paths : bool, default True
        Whether, where ``entry`` and ``subject`` are both given, the rows of one subject are consecutive intervals
        ``(entry, time]``, each with the covariates that held in it, the last of which may end with an event. False:
        they are separate observations, each with a late entry of its own, such as the members of one family. Where all
        entries are 0 or missing they always are.

    Returns
    -------
    structured array of shape (n,)
        Fields ``event`` and ``time``, ``entry`` and ``upper`` where some row needs them, and ``subject``, an integer
        code, where it was given: whole numbers as they are, other identifiers hashed; ``path`` where some subject has
        several intervals.

    Raises
    ------
    TargetError
        For times that are negative or not finite, event codes that are not whole numbers, an ``upper`` below ``time``,
        an ``entry`` after ``time``, a missing ``subject``, intervals of one subject that overlap, leave a gap or go on
        after an event, arguments of different length, or times and events that look
        swapped.

    Warns
    -----
    LifemixWarning
        Where there are several event types and no row is censored: one of the codes may stand for censored.

    Examples
    --------
    >>> from lifemix import make_target
    >>> y = make_target(time=[5.0, 3.0, 8.0], event=[1, 0, 2])
    >>> y["event"]
    array([1, 0, 2])

    An event between 2 and 4, and a subject observed from time 1 on:

    >>> y = make_target([2.0, 6.0], [1, 1], entry=[0.0, 1.0], upper=[4.0, 6.0])
    >>> y.dtype.names
    ('event', 'time', 'entry', 'upper')

    Two visits of one patient and one of another:

    >>> y = make_target([5.0, 3.0, 8.0], [1, 0, 1], subject=[17, 17, 42])
    >>> y["subject"]
    array([17, 17, 42])

    A patient whose covariates changed at time 2, and one whose covariates did not change:

    >>> y = make_target([2.0, 5.0, 8.0], [0, 1, 0], entry=[0.0, 2.0, 0.0], subject=[17, 17, 42])
    >>> y["path"]
    array([0, 0, 1])
    """
    refuse_swapped(time, event)
    target = _check(time, event, entry, upper, subject, paths)
    suspicious = no_censored_row(target.event)
    if suspicious:
        warn_user(suspicious)
    return target.to_array()


def as_target(y: TargetLike) -> Target:
    """Parse any accepted form of ``y``.

    Parameters
    ----------
    y : structured array, DataFrame, (time, event) pair or Target
        What ``make_target`` returns; a scikit-survival array (boolean event, time); a DataFrame with the columns
        ``event`` and ``time`` (or ``duration``), and optionally ``entry``, ``upper`` and ``subject``; or a pair of
        vectors.

    Returns
    -------
    Target
        The parsed target; a ``Target`` is returned as it is.

    Raises
    ------
    TargetError
        Where ``y`` has another form, or values that no target can have.

    Examples
    --------
    >>> from lifemix.target import as_target
    >>> target = as_target(([5.0, 3.0], [True, False]))
    >>> target.event
    array([1, 0])
    >>> target.n_events
    1
    """
    if isinstance(y, Target):
        return y
    y = as_pandas(y)
    if isinstance(y, pd.DataFrame):
        return _from_frame(y)
    if isinstance(y, np.ndarray) and y.dtype.names:
        return _from_structured(y)
    if isinstance(y, (tuple, list)) and len(y) == 2 and all(np.ndim(part) == 1 for part in y):
        refuse_swapped(y[0], y[1])
        return _check(y[0], y[1])
    raise TargetError(f"y must hold times and events; got {_describe(y)}. Give one of: {_FORMS}.")


def _describe(y: TargetLike) -> str:
    if isinstance(y, (np.ndarray, pd.Series)):
        return f"{type(y).__name__} of shape {y.shape} and type {y.dtype}"
    return type(y).__name__


def _from_frame(frame: pd.DataFrame) -> Target:
    times = [name for name in ("time", "duration") if name in frame.columns]
    if len(times) != 1 or "event" not in frame.columns:
        raise TargetError(
            f"a DataFrame target needs the column 'event' and one of 'time', 'duration'; got {list(frame.columns)}. "
            "Rename the columns, or use make_target(time, event)."
        )
    optional: dict[str, Any] = {name: frame.get(name) for name in _OPTIONAL}
    if "path" in frame.columns:  # what make_target returned, as a table
        target = _check(frame[times[0]], frame["event"], **optional, paths=False)
        return _with_paths(target, frame["path"], frame.get("subject", frame["path"]))
    return _check(frame[times[0]], frame["event"], **optional)


def _from_structured(array: NDArray[np.void]) -> Target:
    array = array.reshape(-1)
    names = array.dtype.names or ()
    if "event" in names and ("time" in names or "duration" in names):
        optional = {name: array[name] if name in names else None for name in _OPTIONAL}
        target = _check(
            array["time" if "time" in names else "duration"],
            array["event"],
            **optional,
            paths=False,
        )
        if "path" in names:
            target = _with_paths(
                target, array["path"], array["subject" if "subject" in names else "path"]
            )
        return target
    if (
        len(names) == 2 and array.dtype[0] == np.bool_
    ):  # scikit-survival: (boolean event, time) under any names
        return _check(array[names[1]], array[names[0]])
    raise TargetError(
        f"a structured target needs the fields 'event' and 'time', or a boolean event field and a time field "
        f"as in scikit-survival; got {array.dtype}. Use make_target(time, event)."
    )


def _check(
    time: ArrayLike,
    event: ArrayLike,
    entry: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    subject: Any = None,
    paths: bool = True,
) -> Target:
    times = _numbers(time, "time")
    n = len(times)
    if n == 0:
        raise TargetError(
            "the target has no rows; got 0, expected at least 1. Check how the rows were selected."
        )
    events = _event_codes(event)
    entries = np.zeros(n) if entry is None else _numbers(entry, "entry")
    uppers = np.full(n, np.nan) if upper is None else _numbers(upper, "upper")
    subjects = None if subject is None else subject_codes(subject)
    for name, values in (
        ("event", events),
        ("entry", entries),
        ("upper", uppers),
        ("subject", subjects),
    ):
        if values is not None and len(values) != n:
            raise TargetError(
                f"{name} must have one value per row; got {len(values)} values for {n} times. Select both together."
            )
    entries = np.where(np.isnan(entries), 0.0, entries)
    _refuse(~np.isfinite(times), times, "time must be finite", "Drop or repair these rows")
    _refuse(times < 0, times, "time must be >= 0", "Drop these rows or move the time origin")
    uppers = _check_upper(times, events, uppers)
    _check_entry(times, entries, ~np.isnan(uppers))
    target = Target(events, times, entries, uppers, subjects)
    follow = paths and subjects is not None and bool(target.truncated.any())
    return _with_paths(target, subjects, subject) if follow else target


def _with_paths(target: Target, codes: Any, names: Any) -> Target:
    """Return the target with its rows as intervals of paths; a target with one row per path needs none."""
    number, count = first_appearance(np.asarray(codes, dtype=np.int64))
    if count == len(target):
        return target
    entry = checked_starts(number, names, target.entry, target.time, target.event)
    return replace(target, entry=entry, path=number)


def _check_upper(times: FloatArray, events: IntArray, uppers: FloatArray) -> FloatArray:
    given = ~np.isnan(uppers)
    censored = events == 0
    _refuse(
        given & (uppers < times),
        uppers,
        "upper must be >= time",
        "Swap the two, or leave upper missing",
    )
    # R's way to write right-censoring, (time, Inf), means the same as event 0.
    contradiction = censored & given & (uppers > times) & np.isfinite(uppers)
    _refuse(
        contradiction,
        uppers,
        "a censored row (event 0) has no upper",
        "Set its event to 1, or leave upper missing",
    )
    endless = ~censored & np.isposinf(uppers)
    _refuse(
        endless,
        uppers,
        "upper must be finite",
        "Code an event that was never seen as event 0 at its last time",
    )
    return np.where(censored | (uppers == times), np.nan, uppers)


def _check_entry(times: FloatArray, entries: FloatArray, interval: BoolArray) -> None:
    _refuse(
        ~np.isfinite(entries),
        entries,
        "entry must be finite",
        "Leave entry missing where there was none",
    )
    _refuse(
        entries < 0, entries, "entry must be >= 0", "Move the time origin, or leave entry missing"
    )
    late = (entries > times) | ((entries == times) & (times > 0) & ~interval)
    _refuse(
        late,
        entries,
        "entry must be < time",
        "Drop rows never at risk; in intervals set time to entry",
    )


def _numbers(values: ArrayLike, name: str) -> FloatArray:
    array = as_numbers(values, name, TargetError)
    if array.ndim != 1:
        fix = "Take one column" if array.ndim else "Put single numbers into lists"
        raise TargetError(f"{name} must be one-dimensional; got shape {array.shape}. {fix}.")
    if np.asarray(values).dtype.kind == "b":
        raise TargetError(
            f"{name} must be numbers; got booleans. Are the arguments in the order (time, event)?"
        )
    return array.copy()  # the user's may change


def _event_codes(values: ArrayLike) -> IntArray:
    refuse_masked(values, "event", TargetError)
    array = np.asarray(values)
    if array.dtype.kind not in "bui":
        if array.dtype.kind in "USmM" or (
            array.dtype.kind == "O" and any(isinstance(v, str) for v in array.flat)
        ):
            raise TargetError(
                f"event must be whole numbers (0 censored, 1..M event types) or booleans; got {array.dtype} "
                f"such as {array.reshape(-1)[:3].tolist()}. Map the labels to codes first."
            )
        numbers = _numbers(array, "event")
        whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
        _refuse(
            ~whole,
            numbers,
            "event must be whole numbers (0 censored, 1..M)",
            "Map the labels to codes first",
        )
        array = numbers
    if array.ndim != 1:
        raise TargetError(f"event must be one-dimensional; got shape {array.shape}.")
    fix = (
        "Where -1 means censored, give event=status == 1"
        if array.min(initial=0) == -1
        else "Map labels to codes"
    )
    _refuse(array < 0, array, "event must be >= 0 (0 censored, 1..M event types)", fix)
    refuse_large_codes(array)
    return array.astype(np.int64)


def _refuse(bad: BoolArray, values: NDArray[Any], expected: str, fix: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TargetError(
            f"{expected}; got {values[row]} at row {row} ({int(bad.sum())} such rows). {fix}."
        )


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


Hashes = NDArray[np.uint64]
_LARGEST_EXACT = 2.0**53  # from there on a float no longer tells whole numbers apart


def subject_codes(values: Any, name: str = "subject") -> IntArray:
    """Return the codes of one-dimensional identifiers: numbers, texts, or anything that can be hashed."""
    array = _one_dimensional(values, name)
    missing = pd.isna(array)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise TargetError(
            f"{name} must be known in every row; got {array[row]} at row {row} ({int(missing.sum())} such rows). "
            "Give a row whose subject is unknown a value of its own, or leave it out."
        )
    if array.dtype.kind in "bui":
        return array.astype(np.int64)
    if (
        array.dtype.kind == "f"
        and (np.abs(array) < _LARGEST_EXACT).all()
        and (array == np.floor(array)).all()
    ):
        return array.astype(np.int64)
    try:
        numbers, labels = pd.factorize(array)
    except TypeError:
        raise TargetError(
            f"{name} must be identifiers that can be hashed; got {type(array[0]).__name__}. Use numbers or texts."
        ) from None
    return _label_codes(labels)[numbers]


def first_appearance(codes: IntArray) -> tuple[IntArray, int]:
    """Number the subjects 0, 1, 2 ... in the order of their first rows; return the number of each row, and how many."""
    numbers, labels = pd.factorize(codes)
    return numbers.astype(np.int64, copy=False), len(labels)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Hashes of the rows that a model was fitted to, and of their subjects; in memory only, no file contains them.

    Attributes
    ----------
    subjects : sorted array of shape (n_subjects,)
        One hash per subject.
    rows : sorted array of shape (n_rows,)
        One hash per row, of its subject and its outcome.
    """

    subjects: Hashes
    rows: Hashes

    @classmethod
    def of(cls, subject: IntArray, *outcome: NDArray[Any]) -> Self:
        """Hash the subjects of rows, and the rows themselves by subject and outcome (event, time, entry, upper)."""
        return cls(np.unique(_row_hashes(subject)), np.sort(_row_hashes(subject, *outcome)))

    def count_other_rows(self, subject: IntArray, *outcome: NDArray[Any]) -> int:
        """Return how many of these rows are no training rows, although their subjects have training rows."""
        rows = _row_hashes(subject, *outcome)
        if _all_differ(self.rows) and _all_differ(np.sort(rows)):
            is_training_row = np.isin(rows, self.rows)
        else:  # rows with the same subject and outcome cannot be identified one by one
            is_training_row = np.full(len(rows), np.array_equal(np.sort(rows), self.rows))
        return int((np.isin(_row_hashes(subject), self.subjects) & ~is_training_row).sum())


def _row_hashes(*columns: NDArray[Any]) -> Hashes:
    hashes = pd.util.hash_pandas_object(pd.DataFrame(dict(enumerate(columns))), index=False)
    return np.asarray(hashes, dtype=np.uint64)


def _all_differ(ascending: Hashes) -> bool:
    return bool((ascending[1:] != ascending[:-1]).all())


def _one_dimensional(values: Any, name: str) -> NDArray[Any]:
    array = values if isinstance(values, np.ndarray) else pd.Series(values).to_numpy()
    if array.ndim != 1:
        raise TargetError(f"{name} must be one-dimensional; got shape {array.shape}.")
    return array


def _label_codes(labels: Any) -> IntArray:
    texts = np.array([str(label) for label in labels], dtype=object)
    codes = pd.util.hash_array(texts, categorize=False).view(np.int64)
    for i, label in enumerate(labels):
        if _is_whole(label):
            codes[i] = int(label)
    return codes


def _is_whole(label: Any) -> bool:
    if isinstance(label, (int, np.integer)):
        return abs(int(label)) < 2**63
    if isinstance(label, (float, np.floating)):
        return abs(float(label)) < _LARGEST_EXACT and float(label).is_integer()
    return False


YES = {"true", "yes", "event"}
"""Labels of an event column that say only that there was one."""


def event_names(given: Mapping[int, str] | Sequence[str] | None, n_events: int) -> tuple[str, ...]:
    """Return the name of each event type 1..M.

    Parameters
    ----------
    given : mapping from code to name, sequence of names, or None
        Names by code, as ``Dataset.event_names`` has them, or in the order of the codes. None stands for ``event``
        where there is one event type, and ``event 1``, ``event 2``, ... where there are several.
    n_events : int
        The number of event types.

    Returns
    -------
    tuple of str
        One name for each of the codes 1..M.

    Raises
    ------
    SettingError
        Where some event type has no name, or a name is given for one that does not exist.

    Examples
    --------
    >>> from lifemix.target import event_names
    >>> event_names({1: "death", 2: "relapse"}, 2)
    ('death', 'relapse')
    >>> event_names(None, 2)
    ('event 1', 'event 2')

    """
    codes = range(1, n_events + 1)
    if given is None:
        return ("event",) if n_events == 1 else tuple(f"event {code}" for code in codes)
    if isinstance(given, Mapping) and set(given) == set(codes):
        return tuple(str(given[code]) for code in codes)
    if (
        not isinstance(given, (str, bytes, Mapping))
        and isinstance(given, Sequence)
        and len(given) == n_events
    ):
        return tuple(map(str, given))
    raise SettingError(
        f"event_names must name each of the event types 1..{n_events}, as a mapping from code to name or as a sequence "
        f"of {n_events} names; got {given!r}."
    )


def names_of_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each event type from its label in a table.

    Parameters
    ----------
    labels : sequence of str
        What stood in the event column, one label per event type.

    Returns
    -------
    tuple of str
        The label, or ``event 1`` where that is a number; ``event`` where there is one that says no more.

    Examples
    --------
    >>> from lifemix.target import names_of_labels
    >>> names_of_labels(["relapse", "2"])
    ('relapse', 'event 2')

    """
    if len(labels) == 1 and (labels[0].isdecimal() or labels[0].lower() in YES):
        return event_names(None, 1)
    return tuple(f"event {label}" if label.isdecimal() else label for label in labels)
