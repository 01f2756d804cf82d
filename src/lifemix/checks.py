"""Checks of arguments, shared by every model, metric and distribution.

Data that cannot be used (times, events, weights, levels) is an ``InputError``; an option that cannot have its value is
a ``SettingError``. An estimator declares what its options may be once, as rules by name in ``_rules``;
``check_settings`` applies them before any work is done.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._types import FloatArray
from .errors import InputError, LifemixWarning, SettingError

__all__ = [
    "Check",
    "Choice",
    "Flag",
    "HasRules",
    "Jobs",
    "Number",
    "Rule",
    "Seed",
    "Whole",
    "Widths",
    "as_array",
    "as_numbers",
    "as_pandas",
    "check_event",
    "check_same_rows",
    "check_settings",
    "check_shares",
    "check_times",
    "check_weight",
    "refuse_masked",
    "shown",
    "warn_user",
]


_HUGE = 1e30  # leaves room below the largest float32
_MOST = 2**31 - 1  # of counts: beyond it there is no memory anyway


# Data.


def check_times(
    times: ArrayLike, name: str = "times", *, warn_unsorted: bool = False
) -> FloatArray:
    """Return times as a vector of its own, in one piece; they must be finite numbers and not negative.

    With ``warn_unsorted``, for arguments that look like a grid, another order gives a warning: it is probably a
    mistake.
    """
    array = as_numbers(times, name)
    if array.ndim > 1 or array.size == 0:
        raise InputError(
            f"{name} must be a number or a vector of at least one; got shape {array.shape}. Flatten or fill it."
        )
    array = np.array(
        array, order="C", ndmin=1
    )  # views may be reversed or read-only, which tensors cannot be
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        raise InputError(
            f"{name} must be finite and >= 0; got {array[bad][0]} ({int(bad.sum())} such values). "
            "Times count from the origin of the target's times."
        )
    if warn_unsorted and (np.diff(array) < 0).any():
        warn_user(
            f"{name} are not sorted; the results come in the order given. Sort them if a curve is meant."
        )
    return array


def check_shares(values: ArrayLike, name: str) -> FloatArray:
    """Return levels of probability as a vector; they must lie in [0, 1]."""
    array = as_numbers(values, name)
    if array.ndim > 1 or array.size == 0 or not ((array >= 0) & (array <= 1)).all():
        raise InputError(
            f"{name} must be a number or a vector of numbers from 0 to 1; got {values!r}."
        )
    return np.atleast_1d(array)


def check_event(event: object, n_events: int | None = None) -> int:
    """Return the event type as an integer from 1 on, up to ``n_events`` where that is known; 1.0 is 1."""
    if not _is_whole(event) or not 1 <= _as_float(event) <= (
        _MOST if n_events is None else n_events
    ):
        known = ">= 1" if n_events is None else f"in 1..{n_events}, the event types seen in fit"
        raise InputError(f"event must be a whole number {known}; got {shown(event)}.")
    return int(float(event))


def _is_whole(value: object) -> TypeGuard[Real]:
    return (
        not isinstance(value, (bool, np.bool_)) and isinstance(value, Real) and bool(value % 1 == 0)
    )


def check_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return one case weight per row, finite and not negative; ones where none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = as_numbers(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight must have one value per row, shape ({n_rows},); got shape {weight.shape}. Reshape it."
        )
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"sample_weight must be finite and >= 0; got {weight[row]} at row {row} ({int(bad.sum())} such rows). "
            "Use 0 to leave a row out."
        )
    return weight


def check_same_rows(n_x: int, n_y: int, where: str = "") -> None:
    """Refuse a table and a target of different length."""
    if n_x != n_y:
        raise InputError(
            f"{where}X and y must have the same rows; got {n_x} in X and {n_y} in y. Select the rows of both together."
        )


def _as_float(value: Real) -> float:
    """Return a number in double precision; one beyond all bounds is infinite."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


# Options.


class Rule(Protocol):
    """What the value of an option may be."""

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""


@dataclass(frozen=True)
class Whole:
    """A whole number of at least ``least``; None too where it is optional."""

    least: int = 1
    optional: bool = False

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if self.optional and value is None:
            return None
        if (
            isinstance(value, (bool, np.bool_))
            or not isinstance(value, Integral)
            or int(value) < self.least
        ):
            also = " or None" if self.optional else ""
            raise SettingError(
                f"{name} must be a whole number of at least {self.least}{also}; got {shown(value)}."
            )
        if int(value) > _MOST:
            raise SettingError(
                f"{name} must be a whole number of at most {_MOST:,}; got {shown(value)}."
            )
        return int(value)


@dataclass(frozen=True)
class Number:
    """A number from ``least`` to ``most``, or above ``above``; None too where it is optional."""

    least: float = 0.0
    most: float = _HUGE
    above: float | None = None
    optional: bool = False

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if self.optional and value is None:
            return None
        low = self.least if self.above is None else self.above
        real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        number = _as_float(value) if isinstance(value, Real) else np.nan
        if not real or not low <= number <= self.most or (self.above is not None and number == low):
            also = " or None" if self.optional else ""
            raise SettingError(
                f"{name} must be a number {self._span(low)}{also}; got {shown(value)}."
            )
        return number

    def _span(self, low: float) -> str:
        if self.most == _HUGE:
            return f"of at least {low:g}" if self.above is None else f"above {low:g}"
        return (
            f"from {low:g} to {self.most:g}"
            if self.above is None
            else f"above {low:g} and at most {self.most:g}"
        )


class Choice:
    """One of some values, mostly names."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if not (value is None or isinstance(value, (str, int, float))) or value not in self.values:
            raise SettingError(
                f"{name} must be one of {', '.join(map(repr, self.values))}; got {value!r}."
            )
        return value


class Flag:
    """True or False."""

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if not isinstance(value, (bool, np.bool_)):
            raise SettingError(f"{name} must be True or False; got {value!r}.")
        return bool(value)


@dataclass(frozen=True)
class Widths:
    """A sequence of whole numbers, such as the widths of hidden layers; None too where it is optional."""

    optional: bool = False

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if self.optional and value is None:
            return None
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise SettingError(
                f"{name} must be a sequence of widths such as (100,) or (64, 32); got {value!r}."
            )
        return tuple(Whole(1)(f"each width in {name}", width) for width in value)


class Seed:
    """A random seed: a whole number from 0 on, a NumPy generator, or None for a fresh one each time."""

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if value is None or isinstance(value, (np.random.Generator, np.random.RandomState)):
            return value
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or int(value) < 0:
            raise SettingError(
                f"{name} must be a whole number >= 0, a generator or None; got {value!r}."
            )
        return int(value)


class Jobs:
    """How many processes or threads work at a time, as in joblib: a whole number other than 0, or None."""

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if value is None:
            return None
        if (
            isinstance(value, (bool, np.bool_))
            or not isinstance(value, Integral)
            or int(value) == 0
        ):
            raise SettingError(
                f"{name} must be a whole number other than 0, or None; got {value!r}."
            )
        return int(value)


@dataclass(frozen=True)
class Check:
    """A rule of its own: a function of the value that raises ``SettingError``; the option's name is put before it."""

    function: Callable[[Any], Any]

    def __call__(self, name: str, value: object) -> Any:
        """Return the value, or raise a ``SettingError``."""
        try:
            self.function(value)
        except SettingError as error:
            raise error if name in str(error) else SettingError(f"{name}: {error}") from None
        return value


class HasRules(Protocol):
    """An estimator that declares what its options may be."""

    _rules: ClassVar[Mapping[str, Rule]]


def check_settings(estimator: HasRules) -> None:
    """Apply the rules of an estimator to its options, in the order in which they are declared."""
    for name, rule in estimator._rules.items():
        rule(name, getattr(estimator, name))


def as_numbers(values: object, name: str, error: type[InputError] = InputError) -> FloatArray:
    """Return an array of numbers, NaN where a value is missing.

    Parameters
    ----------
    values : array-like
        What a user gave.
    name : str
        What messages call it.
    error : type, default InputError
        Of what is raised.

    Returns
    -------
    array of float
        Of the same shape; the given one where it is of that type already.
    """
    refuse_masked(values, name, error)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "mMc":
            complete = array if array.dtype.kind != "O" else np.where(pd.isna(array), np.nan, array)
            return complete.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise error(
            f"{name} must be numbers; got {_some(values)} ({wrong}). Convert it to numbers first."
        ) from None
    fix = (
        "Take the real part"
        if array.dtype.kind == "c"
        else "Divide the differences by a unit, say a day"
    )
    raise error(f"{name} must be numbers; got {_some(array)}. {fix}.")


def as_array(table: Any) -> NDArray[Any]:
    """Return an array in which numbers beside texts stay numbers: of a nested list NumPy makes texts of all of them.

    Parameters
    ----------
    table : array or nested sequence
        What a user gave.

    Returns
    -------
    array
        The given one where it is one.
    """
    array = np.asanyarray(table)
    made_texts = array.dtype.kind in "US" and isinstance(table, (list, tuple))
    return np.asarray(table, dtype=object) if made_texts else array


def _some(values: Any) -> str:
    """Return the type and the first values of an array, or anything else as it is."""
    if not hasattr(values, "dtype"):
        return shown(values)
    array = np.asarray(values)
    return f"{array.dtype} such as {shown(array.reshape(-1)[:3].astype(object).tolist())}"


def refuse_masked(values: object, name: str, error: type[InputError] = InputError) -> None:
    """Refuse an array with masked values: other arrays would show what is under the mask.

    Parameters
    ----------
    values : any
        What a user gave.
    name : str
        What messages call it.
    error : type, default InputError
        Of what is raised.
    """
    count = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if count:
        raise error(
            f"{name} must not be masked; got a masked array with {count} masked values. Write {name}.filled(np.nan) "
            "if they are missing, np.asarray(...) of it if the mask means nothing."
        )


def shown(value: Any) -> str:
    """Return a value as a message shows it; whole numbers of thousands of digits have no text.

    Parameters
    ----------
    value : any
        What a user gave.

    Returns
    -------
    str
        At most 60 characters.
    """
    try:
        return f"{value!r:.60}"
    except ValueError:
        return "a number of thousands of digits"


def as_pandas(table: Any) -> Any:
    """Return a DataFrame of polars or a table of Arrow as a DataFrame of pandas; anything else is returned as it is.

    Parameters
    ----------
    table : any
        What a user gave.

    Returns
    -------
    any
        A pandas DataFrame where it was one of these.
    """
    home = type(table).__module__.partition(".")[0]
    if home == "pyarrow" and hasattr(table, "num_columns"):  # a Table or a RecordBatch
        return table.to_pandas()
    if home != "polars":
        return table
    if hasattr(table, "collect"):  # a LazyFrame
        table = table.collect()
    if not hasattr(table, "iter_columns"):
        return table
    return pd.DataFrame(
        {str(column.name): _values(column) for column in table.iter_columns()}, copy=False
    )


def _values(column: Any) -> Any:
    values = column.to_numpy()
    return pd.Series(values, dtype=object) if values.dtype.kind == "O" else values


_PACKAGE = str(Path(__file__).parent)
_CALLERS = ("sklearn", "joblib")  # packages that call this one for the user


def warn_user(message: str) -> None:
    """Issue a ``LifemixWarning`` at the innermost line outside of this package, scikit-learn and joblib."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_library(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LifemixWarning, stacklevel=level)


def _is_library(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return package in _CALLERS or frame.f_code.co_filename.startswith(_PACKAGE)
