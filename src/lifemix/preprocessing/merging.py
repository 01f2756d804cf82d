"""Statistics of columns that can be merged, so that a table read in blocks gives the preprocessor of the whole table.

Counts, means, squares, extremes and levels are exact up to rounding. Quantiles (the usual values, the knots of a
piecewise encoding) come from a sample of the rows; where that is the whole table they are the same as in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import CovariateError, SettingError
from .choice import Passthrough
from .columns import Column, mode_of, sorted_levels
from .numbers import is_constant, usual_of
from .piecewise import learn_knots
from .reading import ColumnData, Floats, refuse_infinite
from .tabular import TabularPreprocessor

__all__ = ["LevelStatistics", "NumberStatistics", "TableStatistics", "preprocessor_of"]

_ROWS = 2**13  # taken at once, so that some twenty columns stay in a cache


@dataclass
class NumberStatistics:
    """Counts, moments and extremes of columns of numbers, one value per column."""

    names: list[str]
    rows: int = 0
    seen: Floats = field(default_factory=lambda: np.empty(0))
    mean: Floats = field(default_factory=lambda: np.empty(0))
    squares: Floats = field(default_factory=lambda: np.empty(0))  # sums of squared deviations from the mean
    least: Floats = field(default_factory=lambda: np.empty(0))
    most: Floats = field(default_factory=lambda: np.empty(0))
    whole: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    def __post_init__(self) -> None:
        if not len(self.seen):
            n = len(self.names)
            self.seen, self.mean, self.squares = np.zeros((3, n))
            self.least, self.most, self.whole = np.full(n, np.inf), np.full(n, -np.inf), np.ones(n, dtype=bool)

    def add(self, values: Floats) -> None:
        """Add rows: ``[columns, rows]``, NaN where missing."""
        for start in range(0, values.shape[1], _ROWS):
            self._add(values[:, start : start + _ROWS])

    def _add(self, values: Floats) -> None:
        missing = np.isnan(values)
        incomplete = bool(missing.any())
        least = np.where(missing, np.inf, values).min(axis=1) if incomplete else values.min(axis=1)
        most = np.where(missing, -np.inf, values).max(axis=1) if incomplete else values.max(axis=1)
        for i in np.flatnonzero(np.isneginf(least) | np.isposinf(most)):
            refuse_infinite(self.names[i], values[i])
        seen = values.shape[1] - missing.sum(axis=1).astype(np.float64)
        filled = np.where(missing, 0.0, values) if incomplete else values
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused in the end
            mean, squares = _moments(filled, missing if incomplete else None, np.maximum(seen, 1.0))
        whole = np.zeros(len(self.names), dtype=bool)
        which = np.flatnonzero(self.whole)
        whole[which] = (filled[which] == np.rint(filled[which])).all(axis=1)
        self._join(values.shape[1], seen, mean, squares, least, most, whole)

    def merge(self, other: NumberStatistics) -> None:
        """Add the rows of other statistics of the same columns."""
        self._join(other.rows, other.seen, other.mean, other.squares, other.least, other.most, other.whole)

    def _join(
        self,
        rows: int,
        seen: Floats,
        mean: Floats,
        squares: Floats,
        least: Floats,
        most: Floats,
        whole: NDArray[np.bool_],
    ) -> None:
        """Join the moments of two sets of rows (Chan, Golub and LeVeque 1979)."""
        total = self.seen + seen
        share = seen / np.maximum(total, 1.0)
        apart = mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            self.squares += squares + apart * apart * self.seen * share
            self.mean = self.mean + apart * share
        self.rows, self.seen = self.rows + rows, total
        self.least, self.most = np.minimum(self.least, least), np.maximum(self.most, most)
        self.whole &= whole

    def column(self, place: int, sample: Floats, rules: TabularPreprocessor, bins: int) -> Column:
        """Return what was learned of one column; ``sample`` are its values in some rows."""
        name, fill = self.names[place], (rules.fill_values or {}).get(self.names[place])
        seen, missing = float(self.seen[place]), self.rows - float(self.seen[place])
        if not seen:
            return Column(name, "empty", missing=1.0)
        center, squares = float(self.mean[place]), float(self.squares[place])
        if fill is not None and missing:
            squares += seen * missing / self.rows * (float(fill) - center) ** 2
            center += (float(fill) - center) * missing / self.rows
        if not np.isfinite(squares):
            raise CovariateError(
                f"column {name!r} has numbers up to {max(-self.least[place], self.most[place])}, whose squares no "
                "float can hold. Scale it, or replace a code for unknown by a missing value."
            )
        alike = self.least[place] == self.most[place] and center == self.least[place]
        spread = 0.0 if alike else float(np.sqrt(squares / self.rows))
        filled = center if fill is None else float(fill)
        indicator, share = bool(rules.missing_indicators) and missing > 0, missing / self.rows
        if is_constant(center, spread):
            return Column(name, "constant", fill=filled, indicator=indicator, missing=share)
        observed = sample[~np.isnan(sample)]
        if not len(observed):
            observed = np.array([self.least[place], self.most[place]])
        whole = bool(self.whole[place])
        usual = usual_of(observed, float(self.least[place]), float(self.most[place]), whole)
        mean, divisor = (center, spread) if rules.scale else (0.0, 1.0)
        knots = learn_knots(observed, bins) if bins > 0 else None
        return Column(name, "numeric", filled, mean, divisor, None, indicator, knots, usual, whole, share)


def _moments(values: Floats, missing: NDArray[np.bool_] | None, seen: Floats) -> tuple[Floats, Floats]:
    """Return mean and sum of squared deviations of each column; missing values are 0."""
    mean = values.sum(axis=1) / seen
    deviation = values - mean[:, None]
    if missing is not None:
        deviation[missing] = 0.0
    rest = deviation.sum(axis=1) / seen  # of rounding
    squares = np.einsum("ij,ij->i", deviation, deviation) - rest * rest * seen
    return mean + rest, np.maximum(squares, 0.0)


@dataclass
class LevelStatistics:
    """The levels of one column of labels and how often each occurs."""

    name: str
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, values: pd.Series[Any], max_levels: int) -> None:
        """Add rows; more levels than that are refused at once."""
        codes, levels = ColumnData(self.name, values).coded
        counted = np.bincount(codes[codes >= 0], minlength=len(levels))
        self.counts.update(dict(zip(levels, counted.tolist(), strict=True)))
        self.rows += len(codes)
        self._check(max_levels)

    def merge(self, other: LevelStatistics, max_levels: int) -> None:
        """Add the rows of other statistics of the same column."""
        self.counts.update(other.counts)
        self.rows += other.rows
        self._check(max_levels)

    def _check(self, max_levels: int) -> None:
        if len(self.counts) > max_levels:
            raise CovariateError(
                f"column {self.name!r} may have at most max_levels={max_levels} levels; got {len(self.counts)} in "
                f"{self.rows} rows, such as {list(self.counts)[:3]}. Leave it out if it is an identifier, group its "
                "levels, or raise max_levels."
            )

    def column(self, rules: TabularPreprocessor) -> Column:
        """Return what was learned of the column."""
        present = {level: count for level, count in self.counts.items() if count}
        missing = self.rows - sum(present.values())
        if not present:
            return Column(self.name, "empty", missing=1.0)
        if self.name in (rules.fill_values or {}):
            raise SettingError(
                f"fill_values are for columns of numbers; got one for {self.name!r}, which holds labels such as "
                f"{next(iter(present))!r}. Leave it out of fill_values: the most frequent level is used."
            )
        levels = sorted_levels(tuple(present))
        kind = "categorical" if len(levels) > 1 else "constant"
        indicator = bool(rules.missing_indicators) and missing > 0
        fill = mode_of({level: present[level] for level in levels})
        return Column(
            self.name, kind, fill=fill, levels=tuple(levels), indicator=indicator, missing=missing / self.rows
        )


@dataclass
class TableStatistics:
    """The statistics of all columns of a table; ``order`` are its columns, numbers and labels mixed."""

    order: list[str]
    numbers: NumberStatistics
    labels: dict[str, LevelStatistics]
    max_levels: int

    @classmethod
    def of(cls, order: Sequence[str], labels: Sequence[str], max_levels: int) -> TableStatistics:
        """Return the statistics of a table without rows; ``labels`` names its columns of labels."""
        numbers = [name for name in order if name not in labels]
        counts = {name: LevelStatistics(name) for name in labels}
        return cls(list(order), NumberStatistics(numbers), counts, max_levels)

    def add(self, numbers: Floats, labels: Mapping[str, pd.Series[Any]]) -> None:
        """Add rows: the columns of numbers ``[columns, rows]`` in the order of the table, and those of labels."""
        if numbers.shape[1]:
            self.numbers.add(numbers)
        for name, values in labels.items():
            self.labels[name].add(values, self.max_levels)

    def merge(self, other: TableStatistics) -> None:
        """Add the rows of another part of the table."""
        self.numbers.merge(other.numbers)
        for name, own in self.labels.items():
            own.merge(other.labels[name], self.max_levels)

    def columns(self, rules: TabularPreprocessor, sample: Floats, bins: int) -> list[Column]:
        """Return what was learned of every column; ``sample`` are numbers of some rows, as in ``add``."""
        place = {name: i for i, name in enumerate(self.numbers.names)}
        return [
            self.labels[name].column(rules)
            if name in self.labels
            else self.numbers.column(place[name], sample[place[name]], rules, bins)
            for name in self.order
        ]


def preprocessor_of(preprocessor: Any, statistics: TableStatistics, sample: Floats) -> Any:
    """Return the fitted preprocessor of a table by its statistics; ``learn_preprocessor`` does the same in memory."""
    if preprocessor is None:
        if statistics.labels:
            raise CovariateError(
                f"preprocessor=None takes numbers only; got labels in {sorted(statistics.labels)}. Use 'auto'."
            )
        return Passthrough(list(statistics.order), named=True)
    rules = TabularPreprocessor() if isinstance(preprocessor, str) else preprocessor
    return TabularPreprocessor(**rules.get_params()).fit_columns(
        lambda own, bins: statistics.columns(own, sample, bins), statistics.order
    )
