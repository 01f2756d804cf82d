"""One column of a table: what is learned from its training values, and the numbers it becomes.

A column of numbers becomes ``(x - mean) / scale``, a missing ``x`` first replaced by ``fill``; ``mean`` and ``scale``
(divisor n) are those of the training column after that replacement; with knots it becomes several numbers, one per bin
(see ``piecewise``). A column of labels becomes one 0/1 column per level. Either may add a missing-value indicator. A
column that is constant in training, or empty, becomes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CovariateError, SettingError
from .piecewise import learn_knots
from .reading import ColumnData

__all__ = ["Column", "learn_column", "usual_values"]

Floats = NDArray[np.float64]

_ROUNDING = 10 * float(np.finfo(np.float64).eps)
_SHORT_RANGE = 20
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Column:
    """What was learned from one column of the training table.

    kind: ``numeric``, ``categorical``, ``constant`` (one value in training) or ``empty`` (all values missing).
    fill: imputed for a missing value; a number, or one of the ``levels``; None where the column is empty.
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
    data: ColumnData, fill: float | None, scale: bool, indicators: bool, max_levels: int, bins: int = 0
) -> Column:
    """Learn one column from its training values; ``bins`` > 0 encodes numbers piecewise."""
    numbers = data.numbers
    missing = int(data.missing.sum())
    if missing == len(data.missing):
        return Column(data.name, "empty", missing=1.0)
    share = missing / len(data.missing)
    indicator = indicators and missing > 0
    if numbers is not None:
        return replace(_learn_numbers(data, numbers, fill, scale, indicator, bins), missing=share)
    if fill is not None:
        values = data.values
        raise SettingError(
            f"fill_values are for columns of numbers; got {fill} for {data.name!r}, which holds {values.dtype} values "
            f"such as {values.dropna().iloc[0]!r}. Leave it out of fill_values: the most frequent level is used."
        )
    return replace(_learn_levels(data, indicator, max_levels), missing=share)


def _learn_numbers(data: ColumnData, x: Floats, fill: float | None, scale: bool, indicator: bool, bins: int) -> Column:
    name, observed = data.name, data.seen
    if fill is None:
        center, spread = _moments(observed)
        fill, spread = center, spread * float(np.sqrt(len(observed) / len(x)))
    else:
        center, spread = _moments(np.where(data.missing, fill, x))
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


def _learn_levels(data: ColumnData, indicator: bool, max_levels: int) -> Column:
    codes, levels = data.coded
    if len(levels) > max_levels:
        raise CovariateError(
            f"column {data.name!r} may have at most max_levels={max_levels} levels; got {len(levels)} in {len(codes)} "
            f"rows, such as {list(levels[:3])}. Leave it out if it is an identifier, group its levels, or raise "
            "max_levels."
        )
    counted = dict(zip(levels, np.bincount(codes[codes >= 0], minlength=len(levels)).tolist(), strict=True))
    counts = {level: counted[level] for level in _sorted_levels(levels)}
    mode = max(counts, key=counts.__getitem__)  # the first of the sorted levels where several are most frequent
    kind = "categorical" if len(counts) > 1 else "constant"
    return Column(data.name, kind, fill=mode, levels=tuple(counts), indicator=indicator)


def _sorted_levels(levels: tuple[str, ...]) -> list[str]:
    """Sort levels as numbers where all of them are, else as text."""
    unique = sorted(levels)
    try:
        return sorted(unique, key=float)
    except ValueError:
        return unique
