"""The target of a survival model: times, events, late entry, censoring intervals and subjects.

``event`` is 0 for a row that is right-censored at ``time``, and 1..M for the type of the event that
happened at ``time``. If an event is only known to lie in ``(time, upper]``, the row is
interval-censored (with ``time`` 0: left-censored). A row under observation from ``entry > 0`` on is
left-truncated. Rows of one ``subject`` stay together in every split, fold and resample; without
subjects each row is a subject. Rows with the same ``path`` are consecutive intervals of one
subject, each with the covariates that held in it.

``as_target`` is the only parser of ``y`` in the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray, IndexArray, IntArray
from .checks import as_numbers, as_pandas, refuse_rows, shown, warn_user
from .errors import SettingError, TargetError
from .start_stop import checked_starts, path_order

__all__ = [
    "Target",
    "TargetLike",
    "as_target",
    "event_names",
    "make_target",
    "names_of_labels",
    "refuse_missing_types",
    "refuse_unknown_types",
    "subject_codes",
    "warn_no_censored_row",
]

_FIELDS = ("event", "time", "entry", "upper", "subject", "path")
_LARGEST_CODE = 1000  # larger codes of events are times, dates or identifiers
_LARGEST_EXACT = 2**53  # larger whole numbers are rounded in double precision
_refuse = partial(refuse_rows, error=TargetError)
_GENERAL_LABELS = {"true", "yes", "event"}  # labels that say only that there was an event


@dataclass(frozen=True, eq=False)
class Target:
    """The parsed target, one value per row in every field.

    Attributes
    ----------
    event : int array of shape (n,)
        0 for right-censored, 1..M for the event type.
    time : float array of shape (n,)
        Time of the event or of the censoring; the lower end of an interval.
    entry : float array of shape (n,)
        Time at which observation began; 0 for rows observed from the origin.
    upper : float array of shape (n,)
        Upper end of an interval; NaN if the time is exact or right-censored.
    subject : int array of shape (n,) or None
        Code of the subject (see ``subject_codes``); None if every row is a subject.
    path : int array of shape (n,) or None
        Number of the subject whose consecutive intervals the rows are; None if every row is an
        observation of its own.
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
        """The largest event code; 0 if all rows are censored."""
        return int(self.event.max(initial=0))

    @property
    def interval(self) -> BoolArray:
        """Which rows are interval-censored."""
        return ~np.isnan(self.upper)

    @property
    def truncated(self) -> BoolArray:
        """Which rows are left-truncated."""
        return self.entry > 0

    @property
    def informative(self) -> BoolArray:
        """Which rows are not censored at time 0."""
        return (self.time > 0) | (self.event > 0)

    @property
    def subject_numbers(self) -> IndexArray:
        """The subject of each row, numbered 0, 1, 2 ... by first appearance (see ``subject``)."""
        return _numbered(self.subject, len(self))

    @property
    def n_subjects(self) -> int:
        """The number of subjects."""
        return int(self.subject_numbers.max(initial=-1)) + 1

    @property
    def path_numbers(self) -> IndexArray:
        """The path of each row, numbered 0, 1, 2 ... by first appearance (see ``path``)."""
        return _numbered(self.path, len(self))

    @property
    def event_times(self) -> FloatArray:
        """The distinct times of events of any type, ascending; the upper ends of intervals."""
        return np.unique(np.fmax(self.time, self.upper)[self.event > 0])

    def event_quantiles(self, levels: Sequence[float], event: int | None) -> FloatArray:
        """Return quantiles of the times of an event type (None: any), with the middle of intervals."""
        has_event = self.event > 0 if event is None else self.event == event
        if not has_event.any():
            expected = "an event" if event is None else f"event {event}"
            raise TargetError(
                f"horizons need rows with {expected}; got none among the codes "
                f"{np.unique(self.event)}."
            )
        times = np.where(self.interval, (self.time + self.upper) / 2, self.time)
        return np.asarray(np.quantile(times[has_event], levels), dtype=np.float64)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fields by name, without ``subject`` and ``path`` if they are None."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return {name: values for name, values in fields.items() if values is not None}

    def to_array(self) -> NDArray[np.void]:
        """Return the structured array of ``make_target``."""
        columns = self.columns()
        if not self.truncated.any():
            del columns["entry"]
        if not self.interval.any():
            del columns["upper"]
        dtype = [(name, values.dtype) for name, values in columns.items()]
        array = np.empty(len(self), dtype=dtype)
        for name, values in columns.items():
            array[name] = values
        return array

    def take(self, rows: Any) -> Target:
        """Return rows by index or mask."""
        return Target(**{name: values[rows] for name, values in self.columns().items()})

    def joined(self) -> Target:
        """Return one row per path, from its first start to its last end, in order of appearance.

        Estimates that count subjects (censoring, horizons, shares of events) use these rows.
        """
        if self.path is None:
            return self
        order, firsts = path_order(self.path_numbers, self.entry, self.time)
        lasts = np.append(firsts[1:], len(order)) - 1
        return replace(self.take(order[lasts]), entry=self.entry[order[firsts]], path=None)

    def followed_by(self, target: Target) -> Target:
        """Return these rows and then those of another target; subjects only if both have them."""
        first, second = self.columns(), target.columns()
        if "path" in first or "path" in second:
            first["path"] = self.path_numbers
            second["path"] = target.path_numbers + first["path"].max(initial=-1) + 1
        return Target(
            **{name: np.append(first[name], second[name]) for name in first if name in second}
        )

    def grouped(self, groups: Any) -> Target:
        """Return the target with ``groups`` as subjects; None leaves it unchanged.

        Groups that separate the rows of one subject are refused.
        """
        if groups is None:
            return self
        codes = subject_codes(groups, "groups")
        if len(codes) != len(self):
            raise TargetError(
                f"groups must have one value per row; got {len(codes)} values for {len(self)} rows."
            )
        pairs = pd.DataFrame({"subject": self.subject, "group": codes}).drop_duplicates()
        n_pairs = len(pairs)  # more than subjects if a subject is in two groups
        if self.subject is not None and n_pairs > self.n_subjects:
            raise TargetError(
                f"groups must keep the rows of one subject together; got {self.n_subjects} "
                f"subjects in the target and {n_pairs} pairs of subject and group. Leave groups "
                "out, or make the target without subject."
            )
        return replace(self, subject=codes)

    def with_paths(
        self, path: Any, subject: Any = None, row_numbers: IntArray | None = None
    ) -> Target:
        """Return the target with the rows of each path as consecutive intervals; refuse others.

        ``subject`` and ``row_numbers`` identify the rows in messages.
        """
        numbers, labels = pd.factorize(np.asarray(path))
        if len(labels) == len(self):
            return self
        columns = self.entry, self.time, self.event
        return replace(
            self, entry=checked_starts(numbers, subject, *columns, row_numbers), path=numbers
        )


def _numbered(codes: IntArray | None, n_rows: int) -> IndexArray:
    return np.arange(n_rows) if codes is None else pd.factorize(codes)[0]


# The forms of ``y`` that ``as_target`` takes.
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
        0 for right-censored, 1..M for the event type (the cause, under competing risks). Booleans
        mean 0 and 1.
    entry : array-like of shape (n,), optional
        Time at which observation began (left truncation). 0 or missing: at the origin.
    upper : array-like of shape (n,), optional
        Upper end of an interval-censored event: it fell in ``(time, upper]``. With ``time`` 0 the
        row is left-censored. Missing or equal to ``time``: the time is exact.
    subject : array-like of shape (n,), optional
        Identifier of the subject of each row (a patient, a machine): numbers, texts, or anything
        that can be hashed, without missing values. Rows of one subject stay together in every
        split, fold, early stopping and resample. Without it every row is a subject.
    paths : bool, default True
        If both ``entry`` and ``subject`` are given, whether the rows of one subject are consecutive
        intervals ``(entry, time]``, each with the covariates that held in it; only the last may end
        with an event. False: they are separate observations, each with its own late entry, such as
        the members of one family. Without any positive ``entry`` rows are always separate.

    Returns
    -------
    structured array of shape (n,)
        Fields ``event`` and ``time``; ``entry`` and ``upper`` if some row needs them; ``subject``
        if given, an integer code: whole numbers unchanged, other identifiers hashed; ``path`` if
        some subject has several intervals.

    Raises
    ------
    TargetError
        If times are negative or not finite, event codes are not whole numbers, ``upper`` lies below
        ``time`` or ``entry`` after it, a ``subject`` is missing, intervals of one subject overlap,
        leave a gap or continue after an event, arguments differ in length, or times and events look
        swapped.

    Warns
    -----
    LifemixWarning
        If there are several event types and no row is censored: a code may stand for censored.

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
    _refuse_swapped(time, event)
    target = _parse(time, event, entry, upper, subject, paths=paths)
    warn_no_censored_row(target.event)
    return target.to_array()


def as_target(y: TargetLike) -> Target:
    """Parse any accepted form of ``y``.

    Parameters
    ----------
    y : structured array, DataFrame, (time, event) pair or Target
        What ``make_target`` returns; a scikit-survival array (boolean event, time); a DataFrame
        with the columns ``event`` and ``time`` (or ``duration``), and optionally ``entry``,
        ``upper`` and ``subject``; or a pair of vectors.

    Returns
    -------
    Target
        The parsed target; a ``Target`` is returned unchanged.

    Raises
    ------
    TargetError
        If ``y`` has another form, or impossible values.

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
    if y is None:
        raise TargetError(
            "a model requires y to be passed, but the target y is None. Use make_target(time, event)."
        )
    y = as_pandas(y)
    if isinstance(y, pd.DataFrame):
        columns: dict[str, Any] = {str(name): column for name, column in y.items()}
    elif isinstance(y, np.ndarray) and y.dtype.names:
        columns = {name: y[name].reshape(-1) for name in y.dtype.names}
        if len(columns) == 2 and y.dtype[0] == np.bool_:  # scikit-survival: fields of any names
            columns = dict(zip(("event", "time"), columns.values(), strict=True))
    elif isinstance(y, (tuple, list)) and len(y) == 2 and all(np.ndim(values) == 1 for values in y):
        _refuse_swapped(*y)
        columns = {"time": y[0], "event": y[1]}
    else:
        shape = f" of shape {y.shape}" if isinstance(y, np.ndarray) else ""
        raise TargetError(
            f"y must hold times and events; got {type(y).__name__}{shape}. Give one of: make_target(time, event), "
            "a DataFrame with columns 'event' and 'time' (or 'duration'), a structured array of "
            "such fields, a pair (time, event)."
        )
    time_names = [name for name in ("time", "duration") if name in columns]
    if len(time_names) != 1 or "event" not in columns:
        raise TargetError(
            "y needs 'event' and one of 'time', 'duration' as columns or fields (or a boolean "
            f"event field and a time field, as in scikit-survival); got {list(columns)}. Rename "
            "them, or use make_target(time, event)."
        )
    optional = {name: columns.get(name) for name in _FIELDS[2:]}
    # In a structured array without the field ``path``, ``make_target`` found none.
    paths = isinstance(y, pd.DataFrame)
    return _parse(columns[time_names[0]], columns["event"], **optional, paths=paths)


def _parse(
    time: ArrayLike,
    event: ArrayLike,
    entry: ArrayLike | None,
    upper: ArrayLike | None,
    subject: Any,
    path: Any = None,
    paths: bool = True,
) -> Target:
    times = _vector(time, "time")
    n_rows = len(times)
    if n_rows == 0:
        raise TargetError(
            "the target has no rows; got 0, expected at least 1. Check how the rows were selected."
        )
    codes = _event_codes(event)
    entries = np.zeros(n_rows) if entry is None else _vector(entry, "entry")
    uppers = np.full(n_rows, np.nan) if upper is None else _vector(upper, "upper")
    subjects = None if subject is None else subject_codes(subject)
    columns = {"event": codes, "entry": entries, "upper": uppers, "subject": subjects}
    for name, values in columns.items():
        if values is not None and len(values) != n_rows:
            raise TargetError(
                f"{name} must have one value per row; got {len(values)} values for {n_rows} times. "
                "Select both together."
            )
    entries = np.where(np.isnan(entries), 0.0, entries)
    has_event, ends_later = codes > 0, uppers > times
    is_interval = has_event & ends_later
    _refuse(~np.isfinite(times), times, "time must be finite", "Drop or repair these rows")
    _refuse(times < 0, times, "time must be >= 0", "Drop these rows or move the time origin")
    fix = "Swap the two, or leave upper missing"
    _refuse(uppers < times, uppers, "upper must be >= time", fix)
    fix = "Set its event to 1, or leave upper missing"
    is_contradictory = ~has_event & ends_later & np.isfinite(uppers)  # (time, Inf) is censored in R
    _refuse(is_contradictory, uppers, "a censored row (event 0) has no upper", fix)
    fix = "Code an event that was never seen as event 0 at its last time"
    _refuse(has_event & np.isposinf(uppers), uppers, "upper must be finite", fix)
    fix = "Leave entry missing for rows observed from the origin"
    _refuse(~np.isfinite(entries), entries, "entry must be finite", fix)
    _refuse(entries < 0, entries, "entry must be >= 0", f"Move the time origin. {fix}")
    fix = "Drop rows never at risk; in intervals set time to entry"
    never_at_risk = (entries == times) & (times > 0) & ~is_interval
    _refuse((entries > times) | never_at_risk, entries, "entry must be < time", fix)
    target = Target(codes, times, entries, np.where(is_interval, uppers, np.nan), subjects)
    if path is None and paths and target.truncated.any():
        path = subjects
    return target if path is None else target.with_paths(path, path if subject is None else subject)


def _vector(values: ArrayLike, name: str) -> FloatArray:
    """Return a new vector of numbers."""
    values = as_pandas(values)
    array = as_numbers(values, name, TargetError)
    if array.ndim != 1:
        fix = "Take one column" if array.ndim else "Put single numbers into lists"
        raise TargetError(f"{name} must be one-dimensional; got shape {array.shape}. {fix}.")
    if name != "event" and np.asarray(values).dtype.kind == "b":
        raise TargetError(
            f"{name} must be numbers; got booleans. The order is make_target(time, event): are the "
            "two swapped?"
        )
    return array.copy()


def _event_codes(values: ArrayLike) -> IntArray:
    codes = _vector(values, "event")
    fix = "If -1 means censored, give event=status == 1" if -1 in codes else "Map labels to codes"
    _refuse(codes != np.floor(codes), codes, "event must be whole numbers (0 censored, 1..M)", fix)
    _refuse(codes < 0, codes, "event must be >= 0 (0 censored, 1..M event types)", fix)
    expected = f"event types are numbered 1, 2, ... up to {_LARGEST_CODE} (0 is censored)"
    _refuse(codes > _LARGEST_CODE, codes, expected, fix)
    return codes.astype(np.int64)


def _refuse_swapped(time: ArrayLike, event: ArrayLike) -> None:
    """Refuse what looks like (event, time), the order of scikit-survival."""
    times = as_numbers(time, "time", TargetError)
    events = as_numbers(event, "event", TargetError)
    is_binary = bool(np.isin(times, (0, 1)).all())
    if is_binary and events.size and events.max() > (3 if times.all() else 1):
        raise TargetError(
            "the order is make_target(time, event); got only 0 and 1 for the times, and "
            f"{events.flat[0]:g}, ... for the events. They look like events and times: swap "
            "the two."
        )


def subject_codes(values: Any, name: str = "subject") -> IntArray:
    """Return an integer code for each identifier; equal identifiers have equal codes in every call.

    A whole number is its own code. Other identifiers are hashed to 64 bits: two of ten million have
    the same code with a probability of 3 in a million.
    """
    values = as_pandas(values)
    fix = "Give a row whose subject is unknown a value of its own, or leave it out"
    try:
        array = values if isinstance(values, np.ndarray) else pd.Series(values).to_numpy()
        if array.ndim != 1:
            raise TargetError(f"{name} must be one-dimensional; got shape {array.shape}.")
        _refuse(np.asarray(pd.isna(array)), array, f"{name} must be known in every row", fix)
        if array.dtype.kind == "O":
            array = pd.Series(array).infer_objects().to_numpy()
        if array.dtype.kind in "bui" or (
            array.dtype.kind == "f"
            and (np.abs(array) < _LARGEST_EXACT).all()
            and (array == np.floor(array)).all()
        ):
            return array.astype(np.int64)
        numbers, labels = pd.factorize(array)
    except (TypeError, ArithmeticError):  # of a list, of Decimal("sNaN")
        raise TargetError(
            f"{name} must be identifiers that can be hashed; got {shown(values)}. Use numbers or "
            "texts."
        ) from None
    texts = np.array([str(label) for label in labels], dtype=object)
    return pd.util.hash_array(texts, categorize=False).view(np.int64)[numbers]


# Event types.


def warn_no_censored_row(codes: IntArray) -> None:
    """Warn if there are several event types and no censored row."""
    types = np.unique(codes).tolist()
    if len(types) < 2 or types[0] == 0:
        return
    advice = f"If one of the codes {types[:5]} stands for censored, give it the code 0."
    if types == [1, 2]:
        advice = (
            "If the column is coded 1 = censored, 2 = event, as in R, give event=status == 2; if "
            "these are two competing risks, ignore this warning."
        )
    warn_user(f"no row is censored, while there are {len(types)} event types. {advice}")


def refuse_missing_types(codes: IntArray) -> None:
    """Refuse training rows without any event, or without a row of some event type 1..M."""
    largest = int(codes.max(initial=0))
    if largest == 0:
        raise TargetError(
            f"all {len(codes)} rows are censored; expected some events (codes 1..M). Check how "
            "events are coded."
        )
    missing = np.setdiff1d(np.arange(1, largest + 1), codes).tolist()
    if missing:
        raise TargetError(
            f"event types must be 1..M without gaps; got codes up to {largest} but no row with "
            f"{', '.join(map(str, missing[:5]))}{', ...' if len(missing) > 5 else ''}. Number the "
            "event types anew, or add rows."
        )


def refuse_unknown_types(codes: IntArray, n_events: int, owner: str) -> None:
    """Refuse event types that a model with ``n_events`` types does not have."""
    largest = int(codes.max(initial=0))
    if largest > n_events:
        raise TargetError(
            f"{owner} has event {largest}; the training rows have 1..{n_events} only. Leave these "
            "rows out, or code the event as censored (0)."
        )


def event_names(names: Mapping[int, str] | Sequence[str] | None, n_events: int) -> tuple[str, ...]:
    """Return the name of each event type 1..M.

    Parameters
    ----------
    names : mapping from code to name, sequence of names, or None
        Names by code, as in ``Dataset.event_names``, or in the order of the codes. None means
        ``event`` for one event type, and ``event 1``, ``event 2``, ... for several.
    n_events : int
        The number of event types.

    Returns
    -------
    tuple of str
        One name for each of the codes 1..M.

    Raises
    ------
    SettingError
        If an event type has no name, or there is a name for another code.

    Examples
    --------
    >>> from lifemix.target import event_names
    >>> event_names({1: "death", 2: "relapse"}, 2)
    ('death', 'relapse')
    >>> event_names(None, 2)
    ('event 1', 'event 2')

    """
    codes = list(range(1, n_events + 1))
    if names is None:
        return ("event",) if n_events == 1 else tuple(f"event {code}" for code in codes)
    if isinstance(names, Mapping) and set(names) == set(codes):
        return tuple(str(names[code]) for code in codes)
    if isinstance(names, Sequence) and not isinstance(names, str) and len(names) == n_events:
        return tuple(map(str, names))
    raise SettingError(
        f"event_names must name each of the event types 1..{n_events}, as a mapping from code to "
        f"name or as a sequence of {n_events} names; got {names!r}."
    )


def names_of_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each event type from its label in a table.

    Parameters
    ----------
    labels : sequence of str
        The labels in the event column, one per event type.

    Returns
    -------
    tuple of str
        The label, or ``event 1`` if the label is 1; ``event`` if the only label is a number or says
        no more than that.

    Examples
    --------
    >>> from lifemix.target import names_of_labels
    >>> names_of_labels(["relapse", "2"])
    ('relapse', 'event 2')

    """
    names = [f"event {label}" if label.isdecimal() else label for label in labels]
    if len(labels) == 1 and (labels[0].isdecimal() or labels[0].lower() in _GENERAL_LABELS):
        names = ["event"]
    return tuple(names)
