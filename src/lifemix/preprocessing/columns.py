"""One column of a table: what it holds, what is learnt from it, and the numbers it becomes.

A column of numbers becomes ``(x - mean) / scale``, a missing ``x`` first replaced by ``fill``; ``mean`` and ``scale``
(divisor n) are those of the training column after that replacement; with knots it becomes several numbers, one a bin
(see ``piecewise``). A column of labels becomes one 0/1 column a level. Either may add a 0/1 column that says where the
value was missing. A column that is constant in training, or empty, becomes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import CovariateError, SettingError
from .piecewise import learn_knots

__all__ = ["Column", "factorize", "holds_numbers", "learn_column", "to_floats", "usual_values"]

Floats = NDArray[np.float64]

_NUMBER_OBJECTS = {"integer", "floating", "mixed-integer-float", "decimal", "boolean"}
_ROUNDING = 10 * float(np.finfo(np.float64).eps)
_SHORT_RANGE = 20
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Column:
    """What was learnt from one column of the training table.

    kind: ``numeric``, ``categorical``, ``constant`` (one value in training) or ``empty`` (all values missing).
    fill: stands in for a missing value; a number, or one of the ``levels``; None where the column is empty.
    knots: the edges of the bins that a number is encoded by; None where it is only scaled.
    usual: of a column of numbers, a low, the middle and a high value of training (see ``usual_values``).
    whole: whether all its training values are whole numbers.
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
    whole: bool = False
    missing: float = 0.0

    @property
    def outputs(self) -> list[str]:
        """The names of the numbers that this column becomes; that of a bin tells its upper edge."""
        values = {"numeric": [self.name], "categorical": [f"{self.name}={level}" for level in self.levels or ()]}
        if self.knots is not None:
            values["numeric"] = [f"{self.name}<={edge:.17g}" for edge in self.knots[1:]]
        return values.get(self.kind, []) + ([f"missing_{self.name}"] if self.indicator else [])


def learn_column(
    name: str, values: pd.Series[Any], fill: float | None, scale: bool, indicators: bool, max_levels: int, bins: int = 0
) -> Column:
    """Learn one column from its training values; ``bins`` > 0 encodes numbers piecewise."""
    missing = int(values.isna().sum())
    if missing == len(values):
        return Column(name, "empty", missing=1.0)
    share = missing / len(values)
    indicator = indicators and missing > 0
    if holds_numbers(name, values):
        return replace(_learn_numbers(name, to_floats(name, values), fill, scale, indicator, bins), missing=share)
    if fill is not None:
        raise SettingError(
            f"fill_values are for columns of numbers; got {fill} for {name!r}, which holds {values.dtype} values such "
            f"as {values.dropna().iloc[0]!r}. Leave it out of fill_values: the most frequent level is used."
        )
    return replace(_learn_levels(name, values, indicator, max_levels), missing=share)


def _learn_numbers(name: str, x: Floats, fill: float | None, scale: bool, indicator: bool, bins: int) -> Column:
    observed = x[~np.isnan(x)]
    if fill is None:
        center, spread = _moments(observed)
        fill, spread = center, spread * float(np.sqrt(len(observed) / len(x)))
    else:
        center, spread = _moments(np.where(np.isnan(x), fill, x))
    if spread <= _ROUNDING * abs(center) or spread < _TINY:
        return Column(name, "constant", fill=float(fill), indicator=indicator)
    mean, divisor = (center, spread) if scale else (0.0, 1.0)
    knots = learn_knots(observed, bins) if bins > 0 else None
    usual, whole = usual_values(observed)
    return Column(
        name, "numeric", float(fill), mean, divisor, indicator=indicator, knots=knots, usual=usual, whole=whole
    )


def usual_values(observed: Floats) -> tuple[tuple[float, ...], bool]:
    """Return three of the sorted values, at the shares 0.01, 0.5 and 0.99, and whether all values are whole numbers.

    The outer two are the smallest and the largest for whole numbers over a short range, and where they would be equal.
    """
    places = [round(share * (len(observed) - 1)) for share in (0.0, 0.01, 0.5, 0.99, 1.0)]
    least, low, middle, high, most = np.partition(observed, places)[places].tolist()
    whole = bool((observed == np.rint(observed)).all())
    if low == high or (whole and most - least <= _SHORT_RANGE):
        low, high = least, most
    return (low, middle, high), whole


def _moments(x: Floats) -> tuple[float, float]:
    """Return mean and standard deviation, the same for ``x * 2**k`` up to that factor, without overflow."""
    exponent = int(np.frexp(np.abs(x).max())[1])
    x = np.ldexp(x, -exponent)
    mean = x.mean()
    mean += (x - mean).mean()
    deviation = x - mean
    spread = np.sqrt(np.mean(deviation * deviation))
    return float(np.ldexp(mean, exponent)), float(np.ldexp(spread, exponent))


def _learn_levels(name: str, values: pd.Series[Any], indicator: bool, max_levels: int) -> Column:
    codes, texts = factorize(name, values)
    if len(set(texts)) > max_levels:
        raise CovariateError(
            f"column {name!r} may have at most max_levels={max_levels} levels; got {len(set(texts))} in {len(values)} "
            f"rows, such as {texts[:3]}. Leave it out if it is an identifier, group its levels, or raise max_levels."
        )
    counts = dict.fromkeys(_sorted_levels(texts), 0)
    for text, count in zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)), strict=True):
        counts[text] += int(count)
    mode = max(counts, key=counts.__getitem__)  # the first of the sorted levels where several are most frequent
    kind = "categorical" if len(counts) > 1 else "constant"
    return Column(name, kind, fill=mode, levels=tuple(counts), indicator=indicator)


def _sorted_levels(texts: list[str]) -> list[str]:
    """Sort levels as numbers where all of them are, else as text."""
    unique = sorted(set(texts))
    try:
        return sorted(unique, key=float)
    except ValueError:
        return unique


def factorize(name: str, values: pd.Series[Any]) -> tuple[NDArray[np.intp], list[str]]:
    """Return for each row the position of its level (missing: -1), and the levels as text.

    Text makes levels fit for JSON; the whole numbers 3 and 3.0 are both ``"3"``.
    """
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:
        raise CovariateError(f"column {name!r} must hold numbers or labels; got {values.iloc[0]!r}.") from None
    return codes, [_level_text(level) for level in uniques]


def _level_text(level: Any) -> str:
    if isinstance(level, (int, float, np.number)) and not isinstance(level, bool) and float(level).is_integer():
        return str(int(level))
    return str(level)


def holds_numbers(name: str, values: pd.Series[Any]) -> bool:
    """Tell a column of numbers (booleans are 0 and 1) from one of labels; a pandas Categorical always holds labels."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return True
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    if pd.api.types.is_object_dtype(dtype):
        return pd.api.types.infer_dtype(values, skipna=True) in _NUMBER_OBJECTS
    if pd.api.types.is_complex_dtype(dtype):
        raise CovariateError(f"Complex data not supported: column {name!r} is {dtype}. Give real numbers.")
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return True
    if pd.api.types.is_string_dtype(dtype):
        return False
    raise CovariateError(
        f"column {name!r} must hold numbers, booleans or labels; got {dtype}. Turn dates into numbers, say days since "
        "a common origin, and other types into numbers or text."
    )


def to_floats(name: str, values: pd.Series[Any]) -> Floats:
    """Return a column of numbers as float64 with NaN where missing; infinite values are refused."""
    if pd.api.types.is_object_dtype(values.dtype):
        values = values.where(values.notna(), np.nan).astype(np.float64)
    if isinstance(values.dtype, np.dtype):
        numbers: Floats = values.to_numpy().astype(np.float64, copy=False)
    else:
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise CovariateError(
            f"column {name!r} must be finite; got infinity ({numbers[row]}) at row {row} ({int(infinite.sum())} such "
            "rows). Replace it by a number, or by NaN where the value is unknown."
        )
    return numbers
