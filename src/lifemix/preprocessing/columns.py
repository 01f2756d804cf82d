"""One column of a table: its values, what was learned from it, and the numbers it becomes.

``read_column`` returns the values as ``ColumnData``: numbers, or codes of levels. ``Column`` holds
what was learned from training values; ``Column.write`` turns values into inputs of a model.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import BoolArray, FloatArray, IndexArray
from ..checks import warn_user
from ..errors import CovariateError
from ..registry import register_model

__all__ = [
    "Column",
    "ColumnData",
    "IdentifierKind",
    "identifier_kind",
    "read_column",
    "usual_values",
]

IdentifierKind = Literal["", "row numbers", "identifier", "repeated subjects"]

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_MISSING = (type(None), type(pd.NA), type(pd.NaT))
_LABELS = (str, pd.Interval, *_NUMBERS)
_USUAL_SHARES = (0.01, 0.5, 0.99)
_SHORT_RANGE = 20
_IDENTIFIER_ROWS = 20  # in fewer rows all values may differ by chance
_IDENTIFIER_NAME = re.compile(
    r"(^|[_.\- ])(id|uuid|guid|mrn|ssn|nhs|pid|sno|identifier|rownames|index|unnamed)([_.\- ]|$|:)|"
    r"(patient|subject|person|record|case|study|row)[_.\- ]?(id|no|nr|num|number|key|code)s?$",
    re.IGNORECASE,
)
_SUBJECT_NAME = re.compile(
    r"^(patient|subject|person|participant|animal|customer|machine|unit)s?"
    r"([_.\- ]?(id|no|nr|number|key|code))?$|^(p?id|mrn|ssn)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class ColumnData:
    """The values of one column: numbers or labels.

    values: the column as it was given.
    numbers: float64 with NaN where missing, booleans as 0 and 1; None if the column holds labels.
    codes: the index of each row's level, -1 where missing; None if the column holds numbers.
    levels: the different labels as text; () if the column holds numbers.
    """

    name: str
    values: pd.Series[Any]
    numbers: FloatArray | None = None
    codes: IndexArray | None = None
    levels: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["numeric", "categorical"]:
        """Whether the column holds numbers or labels."""
        return "numeric" if self.codes is None else "categorical"

    @cached_property
    def missing(self) -> BoolArray:
        """Which values are missing."""
        return np.isnan(self.as_numbers()) if self.codes is None else self.codes < 0

    @property
    def observed(self) -> FloatArray:
        """The numbers that are not missing."""
        numbers = self.as_numbers()
        return numbers[~self.missing] if self.missing.any() else numbers

    @cached_property
    def distinct(self) -> int:
        """The number of different values."""
        return len(np.unique(self.observed)) if self.codes is None else len(self.levels)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the column holds whole numbers only."""
        return self.codes is None and bool((self.observed == np.rint(self.observed)).all())

    def as_numbers(self) -> FloatArray:
        """Return the numbers, also those of a pandas Categorical; refuse labels."""
        if self.numbers is not None:
            return self.numbers
        if isinstance(self.values.dtype, pd.CategoricalDtype):
            return read_column(self.name, self.values.astype(object)).as_numbers()
        present = self.values.dropna()
        example = next((value for value in present if isinstance(value, str)), present.iloc[0])
        raise CovariateError(
            f"column {self.name!r} held numbers in training; got {self.values.dtype} values such "
            f"as {example!r}. Convert it, or use NaN where the value is unknown."
        )

    def as_labels(self) -> ColumnData:
        """Return the column with its numbers, if it holds any, as labels."""
        return self if self.codes is not None else read_column(self.name, self.values, True)

    def take(self, rows: Any) -> ColumnData:
        """Return some rows; a column of labels keeps the levels that these rows have."""
        values = self.values.iloc[rows]
        if self.codes is None:
            return ColumnData(self.name, values, self.as_numbers()[rows])
        return ColumnData(self.name, values, None, *_used_levels(self.codes[rows], self.levels))


def read_column(name: str, values: pd.Series[Any], as_labels: bool = False) -> ColumnData:
    """Return what a column holds.

    Numbers and booleans are numbers; text, a Categorical and text mixed with numbers are labels.
    Values with the same text are one level: 3, 3.0 and ``"3"`` are, True and 1 are not. A column
    without any value holds numbers.

    Parameters
    ----------
    name : str
        The name of the column.
    values : Series
        Its values.
    as_labels : bool, default False
        Whether to read numbers as labels, because the training column held labels.

    Returns
    -------
    ColumnData

    Raises
    ------
    CovariateError
        If the column holds infinity, dates or other objects.

    """
    dtype = values.dtype
    try:
        if as_labels or not _holds_numbers(name, values):
            return ColumnData(name, values, None, *_codes_and_levels(name, values))
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            numbers = np.ascontiguousarray(values.to_numpy(), dtype=np.float64)
        else:
            numbers = values.astype(object).to_numpy(dtype=np.float64, na_value=np.nan)
    except ArithmeticError as error:
        is_decimal = isinstance(error, InvalidOperation)
        received = "Decimal('sNaN')" if is_decimal else "an integer beyond 1.8e308"
        raise CovariateError(
            f"column {name!r} must hold numbers of double precision; got {received}. Correct it, "
            "or use NaN where the value is unknown."
        ) from None
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise CovariateError(
            f"column {name!r} must be finite; got infinity ({numbers[row]}) at row {row} "
            f"({int(infinite.sum())} such rows). Replace it by a number, or by NaN where the value "
            "is unknown."
        )
    return ColumnData(name, values, numbers)


def _holds_numbers(name: str, values: pd.Series[Any]) -> bool:
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return True
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    if pd.api.types.is_object_dtype(dtype):
        types = set(map(type, values.array))
        return all(issubclass(kind, (*_NUMBERS, *_MISSING, Decimal)) for kind in types)
    if pd.api.types.is_complex_dtype(dtype):
        raise CovariateError(
            f"Complex data not supported: column {name!r} is {dtype}. Give real numbers."
        )
    is_number = pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
    return is_number or bool(values.isna().all())


def _codes_and_levels(name: str, values: pd.Series[Any]) -> tuple[IndexArray, tuple[str, ...]]:
    """Return the code of each row, -1 where missing, and the levels."""
    dtype: Any = values.dtype
    is_categorical = isinstance(dtype, pd.CategoricalDtype)
    labels = dtype.categories if is_categorical else values
    holds_objects = is_categorical or pd.api.types.is_object_dtype(dtype)
    types = set(map(type, labels)) if holds_objects else set()
    refused = tuple(kind for kind in types if not issubclass(kind, (*_LABELS, *_MISSING)))
    is_text = holds_objects or _holds_numbers(name, values) or pd.api.types.is_string_dtype(dtype)
    if refused or not is_text:
        example = next((value for value in labels if isinstance(value, refused)), None)
        received = f"{type(example).__name__} objects such as {example!r:.60}" if refused else dtype
        raise CovariateError(
            f"column {name!r} must hold numbers, booleans or labels; got {received}. Turn dates into "
            "numbers, such as days since a common origin, and other types into numbers or text."
        )
    if is_categorical:
        codes = values.array.codes
    else:
        if not types <= {str, float, type(None)}:
            # Other equal objects may have different texts, such as True and 1.
            labels = values.map(_level_text, na_action="ignore")
        codes, labels = pd.factorize(labels)
    levels = [_level_text(label) for label in labels]
    code_of_level = {level: code for code, level in enumerate(dict.fromkeys(levels))}
    new_codes = np.array([*(code_of_level[level] for level in levels), -1])
    return _used_levels(new_codes[codes], tuple(code_of_level))


def _used_levels(codes: IndexArray, levels: tuple[str, ...]) -> tuple[IndexArray, tuple[str, ...]]:
    """Return codes and levels without the levels that no row has."""
    used_codes = np.flatnonzero(np.bincount(codes + 1, minlength=len(levels) + 1)[1:])
    if len(used_codes) == len(levels):
        return codes, levels
    new_codes = np.full(len(levels) + 1, -1)  # the last entry is for missing values
    new_codes[used_codes] = np.arange(len(used_codes))
    return new_codes[codes], tuple(levels[code] for code in used_codes)


def _level_text(label: Any) -> str:
    if isinstance(label, str):
        return str.__str__(label)  # the characters, also of an Enum
    if isinstance(label, _NUMBERS) and not isinstance(label, (bool, np.bool_)):
        return str(int(label)) if float(label).is_integer() else str(float(label))
    return str(label)


@register_model
@dataclass(frozen=True)
class Column:
    """What was learned from one column of the training table.

    kind: ``numeric``, ``categorical``, ``constant`` (one value in training) or ``empty`` (all
    values missing).
    fill: imputed for a missing value: a number, or one of the levels; None if the column is empty.
    mean, scale: a number x becomes ``(x - mean) / scale``; statistics of the training values after
    imputation.
    levels: each becomes an output of 0 and 1.
    indicator: whether an output says that the value is missing.
    knots: the edges of the bins of a piecewise linear encoding; None if numbers are only scaled.
    usual: the values returned by ``usual_values``; None unless numeric.
    is_whole: whether all training values are whole numbers.
    missing: the share of the training rows without a value.
    """

    name: str
    kind: str
    fill: Any = None
    mean: float = 0.0
    scale: float = 1.0
    levels: tuple[str, ...] | None = None
    indicator: bool = False
    knots: tuple[float, ...] | None = None
    usual: tuple[float, ...] | None = None
    is_whole: bool = False
    missing: float = 0.0

    def __post_init__(self) -> None:
        levels, knots = self.levels or (), self.knots
        has_fill = {
            "numeric": isinstance(self.fill, Real) and math.isfinite(self.fill),
            "categorical": self.fill in levels,
            "constant": self.fill is not None,
            "empty": self.fill is None,
        }
        is_valid = (
            isinstance(self.name, str)
            and has_fill.get(self.kind, False)
            and len(set(levels)) == len(levels)
            and math.isfinite(self.mean)
            and math.isfinite(self.scale)
            and self.scale > 0
            and np.isfinite(knots or 0.0).all()
            and (knots is None or (len(knots) > 1 and (np.diff(knots) > 0).all()))
        )
        if not is_valid:
            raise ValueError(
                f"column {self.name!r:.60} must have a name, a fill value, different levels, a finite "
                "mean, a scale above 0 and ascending knots"
            )

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; that of a bin contains the bin's upper edge."""
        names: tuple[str, ...] = ()
        if self.kind == "categorical":
            names = tuple(f"{self.name}={level}" for level in self.levels or ())
        elif self.kind == "numeric" and self.knots is not None:
            names = tuple(f"{self.name}<={edge:.17g}" for edge in self.knots[1:])
        elif self.kind == "numeric":
            names = (self.name,)
        return (*names, f"missing_{self.name}") if self.indicator else names

    def write(self, data: ColumnData, out: NDArray[np.float64]) -> None:
        """Write the numbers that a column becomes.

        Parameters
        ----------
        data : ColumnData
            Values of the column.
        out : array of shape (n_rows, n_outputs)
            Zeros, which are overwritten.

        """
        if self.kind == "numeric":
            filled = np.where(data.missing, self.fill, data.as_numbers())
            if self.knots is None:
                out[:, 0] = (filled - self.mean) / self.scale
            else:
                # Gorishniy, Rubachev and Babenko (2022): how far x has come through each bin.
                lower, upper = np.array(self.knots[:-1]), np.array(self.knots[1:])
                inside = np.clip(filled[:, None], lower, upper)  # [n_rows, n_bins]
                out[:, : len(lower)] = (inside - lower) / (upper - lower) - 0.5
        elif self.kind == "categorical":
            self._write_levels(data.as_labels(), out)
        if self.indicator:
            out[:, -1] = data.missing

    def _write_levels(self, data: ColumnData, out: NDArray[np.float64]) -> None:
        position = {level: i for i, level in enumerate(self.levels or ())}
        positions = [position.get(level, -1) for level in data.levels]
        # Missing values have the code -1, which takes the last entry.
        output = np.array([*positions, position[self.fill]])[data.codes]
        rows = np.flatnonzero(output >= 0)
        out[rows, output[rows]] = 1.0
        if -1 in positions:
            unseen = sorted(level for level in data.levels if level not in position)
            shortened = ", ".join(map(repr, unseen[:5])) + (", ..." if len(unseen) > 5 else "")
            warn_user(
                f"column {self.name!r} has levels that training did not have: {shortened} "
                f"({len(output) - len(rows)} rows); they are coded as none of the {len(position)} "
                "known levels."
            )


def usual_values(
    sample: FloatArray, extremes: tuple[float, float], is_whole: bool
) -> tuple[float, float, float]:
    """Return three of the sorted values, at the shares 0.01, 0.5 and 0.99.

    The outer two are the extremes for whole numbers over a short range, and if they would be equal.
    """
    ranks = [round(share * (len(sample) - 1)) for share in _USUAL_SHARES]
    low, middle, high = np.partition(sample, ranks)[ranks].tolist()
    if low == high or (is_whole and extremes[1] - extremes[0] <= _SHORT_RANGE):
        low, high = extremes
    return low, middle, high


def identifier_kind(data: ColumnData) -> IdentifierKind:
    """Return what a column identifies; "" if it is a covariate.

    Row numbers increase by the same step from row to row. An identifier is text that differs in
    nearly all rows, or whole numbers that all differ, under a name such as ``pid``, or although so
    many numbers from their range would repeat by chance. Subjects with several rows have a name
    such as ``patient_id`` and values that repeat.

    Parameters
    ----------
    data : ColumnData
        A column of a ``TableData``.

    Returns
    -------
    {"", "row numbers", "identifier", "repeated subjects"}

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing import TableData
    >>> from lifemix.preprocessing.columns import identifier_kind
    >>> table = TableData(pd.DataFrame({"pid": range(101, 131), "age": [50.5, 61.0, 72.5] * 10}))
    >>> [identifier_kind(column) for column in table.data]
    ['row numbers', '']

    """
    n_observed, is_text = int((~data.missing).sum()), data.codes is not None
    if n_observed < _IDENTIFIER_ROWS or data.distinct < 2 or not (is_text or data.is_whole):
        return ""
    has_name = bool(_IDENTIFIER_NAME.search(data.name))
    share = data.distinct / n_observed
    if is_text and share >= 0.95:
        return "identifier"
    if not is_text and share == 1:
        steps = np.diff(data.observed)
        if steps[0] > 0 and (steps == steps[0]).all():
            return "row numbers"
        n_possible = float(np.ptp(data.observed)) + 1
        all_differ_by_chance = np.exp(-n_observed * (n_observed - 1) / (2 * n_possible))
        if has_name or all_differ_by_chance < 1e-3:
            return "identifier"
    names_subjects = data.distinct >= 20 and share > 0.01 and _SUBJECT_NAME.search(data.name)
    return "repeated subjects" if names_subjects or (has_name and share > 0.1) else ""
