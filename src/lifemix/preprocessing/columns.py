"""One column of a table: its values, what is learned from them, and the numbers it becomes.

``read_column`` returns the values as ``ColumnData``: numbers, or codes of levels. ``learn_column``
returns the ``Column`` that was learned from training values; ``Column.write`` turns values into
inputs of a model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import BoolArray, FloatArray, IndexArray
from ..checks import warn_user
from ..errors import CovariateError, SettingError
from ..registry import register_model

__all__ = [
    "Column",
    "ColumnData",
    "ColumnOptions",
    "IdentifierKind",
    "identifier_kind",
    "is_plain",
    "label_column",
    "learn_column",
    "moments",
    "numeric_column",
    "read_column",
    "refuse_free_text",
    "refuse_infinite",
    "refuse_many_levels",
    "usual_values",
]

IdentifierKind = Literal["", "row numbers", "identifier", "repeated subjects"]

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_MISSING = (type(None), type(pd.NA), type(pd.NaT))
_LABELS = (str, pd.Interval, *_NUMBERS)
_ROUNDING = 10 * float(np.finfo(np.float64).eps)  # relative spread of a column of equal numbers
_USUAL_SHARES = (0.01, 0.5, 0.99)
_SHORT_RANGE = 20
_OUTSIDE_KNOTS = 0.005  # share of the values beyond each outer knot
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
        if self.codes is not None:
            return np.asarray(self.codes < 0)
        return np.isnan(self.as_numbers())

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
    if as_labels or not _holds_numbers(name, values):
        return ColumnData(name, values, None, *_codes_and_levels(name, values))
    if is_plain(values.dtype):
        numbers = np.ascontiguousarray(values.to_numpy(), dtype=np.float64)
    else:
        numbers = values.astype(object).to_numpy(dtype=np.float64, na_value=np.nan)
    refuse_infinite(name, numbers)
    return ColumnData(name, values, numbers)


def is_plain(dtype: Any) -> bool:
    """Return whether a type is one of NumPy's real numbers or its boolean."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _holds_numbers(name: str, values: pd.Series[Any]) -> bool:
    dtype = values.dtype
    if is_plain(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return is_plain(dtype)
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
    labels: Any = values
    dtype: Any = values.dtype
    is_categorical = isinstance(dtype, pd.CategoricalDtype)
    if is_categorical or pd.api.types.is_object_dtype(dtype):
        objects = dtype.categories if is_categorical else values.array
        types = set(map(type, objects))
        refused = tuple(kind for kind in types if not issubclass(kind, (*_LABELS, *_MISSING)))
        if refused:
            example = next(value for value in objects if isinstance(value, refused))
            raise _wrong_type(name, f"{type(example).__name__} objects such as {example!r:.60}")
        if not is_categorical and not types <= {str, float, type(None)}:
            # Other equal objects may have different texts, such as True and 1.
            texts = [None if pd.isna(value) else _level_text(value) for value in objects]
            labels = np.array(texts, dtype=object)
    elif not (_holds_numbers(name, values) or pd.api.types.is_string_dtype(dtype)):
        raise _wrong_type(name, str(dtype))
    if is_categorical:
        codes, uniques = values.array.codes, dtype.categories
    else:
        codes, uniques = pd.factorize(labels)
    levels = [_level_text(label) for label in uniques]
    code_of_level = {level: code for code, level in enumerate(dict.fromkeys(levels))}
    new_codes = np.array([*(code_of_level[level] for level in levels), -1])
    return _used_levels(new_codes[codes], tuple(code_of_level))


def _used_levels(codes: IndexArray, levels: tuple[str, ...]) -> tuple[IndexArray, tuple[str, ...]]:
    """Return codes and levels without the levels that no row has."""
    used = np.flatnonzero(np.bincount(codes + 1, minlength=len(levels) + 1)[1:])
    if len(used) == len(levels):
        return codes, levels
    new_codes = np.full(len(levels) + 1, -1)  # the last entry is for missing values
    new_codes[used] = np.arange(len(used))
    return new_codes[codes], tuple(levels[code] for code in used)


def _wrong_type(name: str, received: str) -> CovariateError:
    return CovariateError(
        f"column {name!r} must hold numbers, booleans or labels; got {received}. Turn dates into "
        "numbers, such as days since a common origin, and other types into numbers or text."
    )


def _level_text(label: Any) -> str:
    if isinstance(label, str):
        return str.__str__(label)  # the characters, also of an Enum
    if isinstance(label, _NUMBERS) and not isinstance(label, (bool, np.bool_)):
        return str(int(label)) if float(label).is_integer() else str(float(label))
    return str(label)


def refuse_infinite(name: str, numbers: FloatArray) -> None:
    """Raise ``CovariateError`` if a column has an infinite number."""
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise CovariateError(
            f"column {name!r} must be finite; got infinity ({numbers[row]}) at row {row} "
            f"({int(infinite.sum())} such rows). Replace it by a number, or by NaN where the value "
            "is unknown."
        )


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
        levels = self.levels or ()
        has_fill = {
            "numeric": isinstance(self.fill, Real) and math.isfinite(self.fill),
            "categorical": self.fill in levels,
            "constant": self.fill is not None,
            "empty": self.fill is None,
        }
        if not has_fill.get(self.kind, False) or len(set(levels)) < len(levels):
            raise ValueError(
                f"column {self.name!r:.60} must have different levels and be filled with a number "
                "or a level"
            )
        if not math.isfinite(self.mean) or not 0 < self.scale < math.inf:
            raise ValueError(
                f"column {self.name!r:.60} must have a finite mean and a scale above 0"
            )
        if self.knots is not None and not (len(self.knots) > 1 and (np.diff(self.knots) > 0).all()):
            raise ValueError(f"column {self.name!r:.60} must have two or more ascending knots")

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
                out[:, 0] = self._scaled(filled)
            else:
                # Gorishniy, Rubachev and Babenko (2022): how far x has come through each bin.
                lower, upper = np.array(self.knots[:-1]), np.array(self.knots[1:])
                inside = np.clip(filled[:, None], lower, upper)  # [n_rows, n_bins]
                out[:, : len(lower)] = (inside - lower) / (upper - lower) - 0.5
        elif self.kind == "categorical":
            self._write_levels(data.as_labels(), out)
        if self.indicator:
            out[:, -1] = data.missing

    def _scaled(self, numbers: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            scaled = (numbers - self.mean) / self.scale
        if not np.isfinite(scaled).all():
            raise CovariateError(
                f"column {self.name!r} has values too far from those of training (mean "
                f"{self.mean}, standard deviation {self.scale}); got from {numbers.min()} to "
                f"{numbers.max()}. Check its unit."
            )
        return scaled

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


@dataclass(frozen=True)
class ColumnOptions:
    """The options of a ``TabularPreprocessor``; ``bins`` is 0 if numbers are only scaled."""

    fill_values: Mapping[str, float]
    missing_indicators: bool
    scale: bool
    max_levels: int
    bins: int


def learn_column(data: ColumnData, options: ColumnOptions) -> Column:
    """Return what is learned from the training values of a column."""
    n_rows, n_missing = len(data.missing), int(data.missing.sum())
    if n_missing == n_rows:
        return Column(data.name, "empty", missing=1.0)
    if data.codes is not None:
        refuse_free_text(data)
        counts = np.bincount(data.codes[data.codes >= 0], minlength=len(data.levels)).tolist()
        return label_column(data.name, options, dict(zip(data.levels, counts, strict=True)), n_rows)
    fill, observed = options.fill_values.get(data.name), data.observed
    if fill is None or n_missing == 0:
        mean, spread = moments(observed)
        spread *= float(np.sqrt(len(observed) / n_rows))  # the imputed values equal the mean
    else:
        mean, spread = moments(np.where(data.missing, fill, data.as_numbers()))
    return numeric_column(
        data.name,
        options,
        mean=mean,
        spread=spread,
        missing=n_missing / n_rows,
        extremes=(float(observed.min()), float(observed.max())),
        is_whole=data.is_whole,
        sample=observed,
    )


def moments(numbers: FloatArray) -> tuple[float, float]:
    """Return mean (corrected for rounding) and standard deviation (divisor n)."""
    with np.errstate(over="ignore", invalid="ignore"):  # ``numeric_column`` refuses the result
        mean = numbers.mean()
        mean += (numbers - mean).mean()
        return float(mean), float(np.sqrt(np.mean((numbers - mean) ** 2)))


def numeric_column(
    name: str,
    options: ColumnOptions,
    *,
    mean: float,
    spread: float,
    missing: float,
    extremes: tuple[float, float],
    is_whole: bool,
    sample: FloatArray,
) -> Column:
    """Return what is learned from a column of numbers.

    Parameters
    ----------
    name : str
        The name of the column.
    options : ColumnOptions
        The options of the preprocessor.
    mean, spread : float
        Mean and standard deviation after imputation.
    missing : float
        The share of missing values.
    extremes : tuple of float
        The smallest and the largest observed number.
    is_whole : bool
        Whether all observed numbers are whole.
    sample : array
        All or some of the observed numbers, for quantiles.

    Returns
    -------
    Column

    """
    if not np.isfinite(spread):
        raise CovariateError(
            f"column {name!r} has numbers up to {max(map(abs, extremes))}; their squares overflow. "
            "Scale the column, or replace a code for unknown by a missing value."
        )
    fill = float(options.fill_values.get(name, mean))
    indicator = options.missing_indicators and missing > 0
    if spread <= _ROUNDING * abs(mean):
        return Column(name, "constant", fill=fill, indicator=indicator, missing=missing)
    knots = None
    if options.bins:
        shares = np.linspace(_OUTSIDE_KNOTS, 1 - _OUTSIDE_KNOTS, options.bins + 1)
        knots = tuple(np.unique(np.quantile(sample, shares, method="nearest")).tolist())
    return Column(
        name,
        "numeric",
        fill,
        mean=mean if options.scale else 0.0,
        scale=spread if options.scale else 1.0,
        indicator=indicator,
        knots=knots if knots is not None and len(knots) > 2 else None,  # two have no bend
        usual=usual_values(sample, extremes, is_whole),
        is_whole=is_whole,
        missing=missing,
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


def label_column(
    name: str, options: ColumnOptions, counts: Mapping[str, int], n_rows: int
) -> Column:
    """Return what is learned from a column of labels with so many rows of each level."""
    if name in options.fill_values:
        raise SettingError(
            f"fill_values are for columns of numbers; got {options.fill_values[name]} for "
            f"{name!r}, which holds labels such as {next(iter(counts))!r}. Leave it out of "
            "fill_values: the most frequent level is used."
        )
    refuse_many_levels(name, options.max_levels, counts, n_rows)
    levels = sorted(counts)
    with suppress(ValueError):  # not all are numbers
        levels = sorted(levels, key=float)
    missing = (n_rows - sum(counts.values())) / n_rows
    return Column(
        name,
        "categorical" if len(levels) > 1 else "constant",
        fill=max(levels, key=counts.__getitem__),
        levels=tuple(levels),
        indicator=options.missing_indicators and missing > 0,
        missing=missing,
    )


def refuse_many_levels(name: str, max_levels: int, counts: Mapping[str, int], n_rows: int) -> None:
    """Raise ``CovariateError`` if a column has more than ``max_levels`` levels."""
    if len(counts) > max_levels:
        raise CovariateError(
            f"column {name!r} may have at most max_levels={max_levels} levels; got {len(counts)} "
            f"in {n_rows} rows, such as {list(counts)[:3]}. Leave it out if it is an identifier, "
            "group its levels, or raise max_levels."
        )


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
    n_observed = int((~data.missing).sum())
    is_numeric = data.codes is None
    if n_observed < _IDENTIFIER_ROWS or data.distinct < 2 or (is_numeric and not data.is_whole):
        return ""
    has_name = bool(_IDENTIFIER_NAME.search(data.name))
    if not is_numeric:
        is_identifier = data.distinct >= 0.95 * n_observed
    elif data.distinct == n_observed:
        steps = np.diff(data.observed)
        if steps[0] > 0 and (steps == steps[0]).all():
            return "row numbers"
        n_possible = float(np.ptp(data.observed)) + 1
        all_differ_by_chance = np.exp(-n_observed * (n_observed - 1) / (2 * n_possible))
        is_identifier = has_name or bool(all_differ_by_chance < 1e-3)
    else:
        is_identifier = False
    if is_identifier:
        return "identifier"
    share = data.distinct / n_observed
    names_subjects = data.distinct >= 20 and share > 0.01 and _SUBJECT_NAME.search(data.name)
    if names_subjects or (has_name and share > 0.1):
        return "repeated subjects"
    return ""


def refuse_free_text(data: ColumnData) -> None:
    """Raise ``CovariateError`` if the values of a text column hardly repeat."""
    if identifier_kind(data) == "identifier":
        raise CovariateError(
            f"column {data.name!r} must hold categories; got {data.distinct} different texts in "
            f"{int((~data.missing).sum())} rows, such as {list(data.levels[:3])!r:.120}. Drop the "
            "column if it is an identifier; turn free text into a few categories or numbers "
            "before fit."
        )
