"""Checks of arguments, and warnings at the user's line.

Data that cannot be used (times, weights, an event) raise ``InputError``; an option with a value
that it cannot have raises ``SettingError``. An estimator lists the rules of its options in
``_rules``; ``check_settings`` applies them before any work is done.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ._types import BoolArray, FloatArray
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
    "refuse_rows",
    "shown",
    "take_rows",
    "warn_user",
]

_LARGEST = 1e30  # leaves room below the largest float32
_LARGEST_COUNT = 2**31 - 1  # larger counts do not fit into memory


def warn_user(message: str) -> None:
    """Issue a ``LifemixWarning`` at the innermost line outside of lifemix, sklearn and joblib."""
    package, level, frame = str(Path(__file__).parent), 2, sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(package)
        or frame.f_globals.get("__name__", "").startswith(("sklearn.", "joblib."))
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LifemixWarning, stacklevel=level)


def shown(value: Any) -> str:
    """Return the first 60 characters of ``repr(value)`` on one line, for messages."""
    try:
        return " ".join(repr(value).split())[:60]
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "a number of thousands of digits"


# Tables and arrays.


def as_pandas(table: Any) -> Any:
    """Return a table of polars or Arrow as a DataFrame of pandas, a tensor of PyTorch as an array.

    Anything else is returned unchanged.
    """
    library = type(table).__module__.partition(".")[0]
    if library == "torch" and hasattr(table, "detach"):
        is_numpy_type = str(table.dtype) != "torch.bfloat16"
        return (table if is_numpy_type else table.float()).detach().cpu().numpy()
    if library == "pyarrow" and hasattr(table, "num_columns"):
        return table.to_pandas()
    if library == "polars" and hasattr(table, "lazy"):  # polars' own to_pandas needs pyarrow
        return pd.DataFrame({column.name: column.to_numpy() for column in table.lazy().collect()})
    return table


def as_array(table: Any) -> NDArray[Any]:
    """Return an array; a nested list of numbers and texts becomes one of objects, not of texts."""
    array = np.asanyarray(table)
    if array.dtype.kind in "US" and isinstance(table, (list, tuple)):
        return np.asarray(table, dtype=object)
    return array


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows of a table, an array or a sparse matrix by number."""
    X = as_pandas(X)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if sparse.issparse(X) else as_array(X)[rows]


def refuse_masked(values: object, name: str, error: type[InputError] = InputError) -> None:
    """Refuse an array with masked values: a plain array would contain the values under the mask."""
    n_masked = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
    if n_masked:
        raise error(
            f"{name} must not be masked; got a masked array with {n_masked} masked values. Write "
            f"{name}.filled(np.nan) if they are missing, np.asarray({name}) to ignore the mask."
        )


def as_numbers(values: object, name: str, error: type[InputError] = InputError) -> FloatArray:
    """Return numbers in double precision, NaN for missing ones; refuse dates and complex numbers."""
    refuse_masked(values, name, error)
    try:
        array = np.asarray(as_pandas(values))
        if array.dtype.kind in "mMc":
            raise TypeError(f"{array.dtype} is no type of numbers")
        if array.dtype.kind == "O":
            array = np.where(pd.isna(array), np.nan, array)
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, ArithmeticError, RuntimeError) as reason:
        # Decimal("sNaN") and 10**400 are arithmetic errors, tensors in a list runtime errors.
        raise error(
            f"{name} must be numbers; got {shown(values)} ({reason}). Convert it to numbers first: "
            "divide durations by a unit such as a day, map labels to codes, take the real part of "
            "complex numbers."
        ) from None


# Data.


def check_times(
    times: ArrayLike, name: str = "times", *, warn_unsorted: bool = False
) -> FloatArray:
    """Return a new vector of times, which must be finite and not negative.

    With ``warn_unsorted`` times in another order than ascending give a warning.
    """
    # Copied in C order: the user's array may be read-only or reversed, which tensors cannot be.
    array = np.array(as_numbers(times, name), order="C", ndmin=1)
    if array.ndim > 1 or array.size == 0:
        raise InputError(
            f"{name} must be a number or a vector of at least one; got shape {array.shape}. "
            "Flatten or fill it."
        )
    invalid = ~np.isfinite(array) | (array < 0)
    if invalid.any():
        raise InputError(
            f"{name} must be finite and >= 0; got {array[invalid][0]} ({int(invalid.sum())} such "
            "values). Times count from the origin of the target's times."
        )
    if warn_unsorted and (np.diff(array) < 0).any():
        warn_user(
            f"{name} are not sorted; the results come in the order given. Sort them to get a curve."
        )
    return array


def check_shares(values: ArrayLike, name: str) -> FloatArray:
    """Return a vector of probabilities, which must lie in [0, 1]."""
    array = as_numbers(values, name)
    if array.ndim > 1 or array.size == 0 or not ((array >= 0) & (array <= 1)).all():
        raise InputError(
            f"{name} must be a number or a vector of numbers from 0 to 1; got {values!r}."
        )
    return np.atleast_1d(array)


def check_event(event: object, n_events: int | None = None) -> int:
    """Return an event type as an integer in 1..``n_events``; 1.0 counts as 1."""
    largest = _LARGEST_COUNT if n_events is None else n_events
    is_number = isinstance(event, Real) and not isinstance(event, bool)
    if not is_number or not 1 <= event <= largest or event % 1 != 0:  # type: ignore[operator]
        expected = ">= 1" if n_events is None else f"in 1..{n_events}, the event types seen in fit"
        raise InputError(f"event must be a whole number {expected}; got {shown(event)}.")
    return int(event)  # type: ignore[call-overload]


def check_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return one case weight per row, which must be finite and not negative; None means ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = as_numbers(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise InputError(
            f"sample_weight must have one value per row, shape ({n_rows},); got shape "
            f"{weight.shape}. Reshape it."
        )
    invalid = ~np.isfinite(weight) | (weight < 0)
    fix = "Use 0 to leave a row out"
    refuse_rows(invalid, weight, "sample_weight must be finite and >= 0", fix)
    return weight


def refuse_rows(
    invalid: BoolArray,
    values: NDArray[Any],
    expected: str,
    fix: str,
    error: type[InputError] = InputError,
) -> None:
    """Raise an error with the first of the invalid rows, if there is any."""
    if invalid.any():
        row = int(np.flatnonzero(invalid)[0])
        raise error(
            f"{expected}; got {values[row]} at row {row} ({int(invalid.sum())} such rows). {fix}."
        )


def check_same_rows(n_x: int, n_y: int, context: str = "") -> None:
    """Refuse a table and a target of different length."""
    if n_x != n_y:
        raise InputError(
            f"{context}X and y must have the same rows; got {n_x} in X and {n_y} in y. "
            "Select the rows of both together."
        )


# Options.


@dataclass(frozen=True)
class Rule:
    """The allowed values of an option."""

    expected: str
    accepts: Callable[[Any], bool]
    optional: bool = False

    def __call__(self, name: str, value: Any) -> Any:
        """Return the value, or raise a ``SettingError``."""
        if (value is None and self.optional) or self.accepts(value):
            return value
        expected = f"{self.expected} or None" if self.optional else self.expected
        raise SettingError(f"{name} must be {expected}; got {shown(value)}.")


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


class Whole(Rule):
    """A whole number from ``least`` to ``most``."""

    def __init__(
        self, least: int = 1, most: int = _LARGEST_COUNT, *, optional: bool = False
    ) -> None:
        span = f"of at least {least}" if most == _LARGEST_COUNT else f"from {least} to {most}"
        super().__init__(
            f"a whole number {span}",
            lambda value: _is_integer(value) and least <= value <= most,
            optional,
        )


class Number(Rule):
    """A number from ``least`` to ``most``, or above ``above``."""

    def __init__(
        self,
        least: float = 0.0,
        most: float = _LARGEST,
        *,
        above: float | None = None,
        optional: bool = False,
    ) -> None:
        if above is not None:
            span = f"above {above:g}" + ("" if most == _LARGEST else f" and at most {most:g}")
        else:
            span = f"of at least {least:g}" if most == _LARGEST else f"from {least:g} to {most:g}"

        def accepts(value: Any) -> bool:
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            return is_number and least <= value <= most and (above is None or value > above)

        super().__init__(f"a number {span}", accepts, optional)


class Choice(Rule):
    """One of several values, usually names."""

    def __init__(self, *values: object) -> None:
        super().__init__(
            f"one of {', '.join(map(repr, values))}",
            lambda value: any(isinstance(value, type(v)) and value == v for v in values),
        )


Flag = partial(Rule, "True or False", lambda value: isinstance(value, (bool, np.bool_)))
Seed = partial(
    Rule,
    "a whole number >= 0, a generator",
    lambda value: (
        isinstance(value, (np.random.Generator, np.random.RandomState))
        or (_is_integer(value) and value >= 0)
    ),
    optional=True,
)
Jobs = partial(
    Rule, "a whole number other than 0", lambda n: _is_integer(n) and n != 0, optional=True
)
Widths = partial(
    Rule,
    "a sequence of widths such as (100,) or (64, 32)",
    lambda widths: (
        isinstance(widths, Iterable) and all(_is_integer(width) and width >= 1 for width in widths)
    ),
)


class Check(Rule):
    """A function of the value that raises ``SettingError``, to whose message the name is added."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__("", function)

    def __call__(self, name: str, value: Any) -> Any:
        """Return the value, or raise a ``SettingError``."""
        try:
            self.accepts(value)
        except SettingError as error:
            raise error if name in str(error) else SettingError(f"{name}: {error}") from None
        return value


class HasRules(Protocol):
    """An estimator with rules for its options."""

    _rules: ClassVar[Mapping[str, Rule]]


def check_settings(estimator: HasRules) -> None:
    """Apply the rules of an estimator to its options, in the order of ``_rules``."""
    for name, rule in estimator._rules.items():
        value = getattr(estimator, name)
        try:
            rule(name, value)
        except SettingError:
            raise
        except (
            TypeError,
            ValueError,
            ArithmeticError,
        ) as error:  # of pd.NA, arrays, NaN of Decimal
            raise SettingError(
                f"{name} cannot be used; got {shown(value)} ({error}). See the documentation of "
                f"{type(estimator).__name__} for its values."
            ) from error
