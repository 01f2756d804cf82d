"""Statistics of the columns of a table, added block by block, from which a preprocessor learns.

Counts, means, standard deviations, extremes and levels are exact up to rounding; quantiles come
from a sample of the rows. A table in memory is one block, and its own sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..errors import CovariateError, SettingError
from .columns import Column, ColumnData, identifier_kind, usual_values

__all__ = ["ColumnOptions", "RunningStatistics"]

_ROUNDING = 10 * float(np.finfo(np.float64).eps)  # relative spread of a column of equal numbers
_OUTSIDE_KNOTS = 0.005  # share of the values beyond each outer knot


@dataclass(frozen=True)
class ColumnOptions:
    """The options of a ``TabularPreprocessor``; ``bins`` is 0 if numbers are only scaled."""

    fill_values: Mapping[str, float]
    missing_indicators: bool
    scale: bool
    bins: int


class _NumericStatistics:
    """Moments and extremes of one column of numbers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_rows = self.n_observed = 0
        self.mean = self.variance = np.float64(0.0)
        self.low, self.high, self.is_whole = np.inf, -np.inf, True

    def add(self, data: ColumnData) -> None:
        """Add rows (the update of Chan, Golub and LeVeque 1979)."""
        numbers = data.observed
        self.n_rows += len(data.missing)
        self.n_observed += len(numbers)
        if not len(numbers):
            return
        share = len(numbers) / self.n_observed
        with np.errstate(over="ignore", invalid="ignore"):  # ``column`` refuses the result
            mean = numbers.mean()
            mean += (numbers - mean).mean()  # corrects rounding
            variance = np.mean((numbers - mean) ** 2)
            distance = mean - self.mean
            between = distance * distance * share * (1 - share)
            self.variance = self.variance * (1 - share) + variance * share + between
        self.mean += distance * share
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))
        self.is_whole = self.is_whole and data.is_whole

    def column(self, options: ColumnOptions, sample: ColumnData) -> Column:
        """Return what is learned; ``sample`` holds the values of some rows, for quantiles."""
        if not self.n_observed:
            return Column(self.name, "empty", missing=1.0)
        share = self.n_observed / self.n_rows
        fill = float(options.fill_values.get(self.name, self.mean))
        distance = fill - self.mean
        # Mean and standard deviation after imputation.
        mean = float(self.mean + distance * (1 - share))
        spread = np.sqrt(self.variance) * np.sqrt(share)
        spread = float(np.hypot(spread, distance * np.sqrt(share * (1 - share))))
        if not np.isfinite(spread):
            raise CovariateError(
                f"column {self.name!r} has numbers up to {max(-self.low, self.high)}; their squares "
                "overflow. Scale the column, or replace a code for unknown by a missing value."
            )
        missing = (self.n_rows - self.n_observed) / self.n_rows
        indicator = options.missing_indicators and missing > 0
        if spread <= _ROUNDING * abs(mean):
            return Column(self.name, "constant", fill=fill, indicator=indicator, missing=missing)
        extremes = self.low, self.high
        numbers = sample.observed if len(sample.observed) else np.array(extremes)
        knots = None
        if options.bins:
            shares = np.linspace(_OUTSIDE_KNOTS, 1 - _OUTSIDE_KNOTS, options.bins + 1)
            knots = tuple(np.unique(np.quantile(numbers, shares, method="nearest")).tolist())
        return Column(
            self.name,
            "numeric",
            fill,
            mean=mean if options.scale else 0.0,
            scale=spread if options.scale else 1.0,
            indicator=indicator,
            knots=knots if knots is not None and len(knots) > 2 else None,  # two have no bend
            usual=usual_values(numbers, extremes, self.is_whole),
            is_whole=self.is_whole,
            missing=missing,
        )


class _LabelStatistics:
    """The levels of one column of labels and their counts."""

    def __init__(self, name: str, max_levels: int) -> None:
        self.name, self.max_levels = name, max_levels
        self.n_rows = 0
        self.counts: Counter[str] = Counter()

    def add(self, data: ColumnData) -> None:
        """Add rows; refuse the column as soon as it has too many levels."""
        data = data.as_labels()
        assert data.codes is not None
        counts = np.bincount(data.codes[data.codes >= 0], minlength=len(data.levels))
        self.counts.update(dict(zip(data.levels, counts.tolist(), strict=True)))
        self.n_rows += len(data.codes)
        if len(self.counts) > self.max_levels:
            raise CovariateError(
                f"column {self.name!r} may have at most max_levels={self.max_levels} levels; got "
                f"{len(self.counts)} in {self.n_rows} rows, such as {list(self.counts)[:3]}. Leave "
                "it out if it is an identifier, group its levels, or raise max_levels."
            )

    def column(self, options: ColumnOptions, sample: ColumnData) -> Column:
        """Return what is learned; ``sample`` holds the values of some rows."""
        if not self.counts:
            return Column(self.name, "empty", missing=1.0)
        sample = sample.as_labels()
        if identifier_kind(sample) == "identifier":
            raise CovariateError(
                f"column {self.name!r} must hold categories; got {sample.distinct} different texts in "
                f"{int((~sample.missing).sum())} rows, such as {list(sample.levels[:3])!r:.120}. Drop "
                "the column if it is an identifier; turn free text into a few categories or numbers "
                "before fit."
            )
        if self.name in options.fill_values:
            raise SettingError(
                f"fill_values are for columns of numbers; got {options.fill_values[self.name]} for "
                f"{self.name!r}, which holds labels such as {next(iter(self.counts))!r}. Leave it "
                "out of fill_values: the most frequent level is used."
            )
        levels = sorted(self.counts)
        with suppress(ValueError):  # not all are numbers
            levels = sorted(levels, key=float)
        missing = (self.n_rows - self.counts.total()) / self.n_rows
        return Column(
            self.name,
            "categorical" if len(levels) > 1 else "constant",
            fill=max(levels, key=self.counts.__getitem__),
            levels=tuple(levels),
            indicator=options.missing_indicators and missing > 0,
            missing=missing,
        )


class RunningStatistics:
    """Statistics of all columns of a table.

    Parameters
    ----------
    max_levels : int
        A column of labels with more levels is refused.

    """

    def __init__(self, max_levels: int) -> None:
        self.max_levels = max_levels
        self._columns: dict[str, _NumericStatistics | _LabelStatistics] = {}

    def add(self, columns: Iterable[ColumnData]) -> None:
        """Add the rows of a block.

        Parameters
        ----------
        columns : iterable of ColumnData
            The columns of the block; each holds either numbers or labels in all blocks.

        """
        for data in columns:
            if data.name not in self._columns:
                self._columns[data.name] = (
                    _NumericStatistics(data.name)
                    if data.codes is None
                    else _LabelStatistics(data.name, self.max_levels)
                )
            self._columns[data.name].add(data)

    def learn(self, options: ColumnOptions, sample: Iterable[ColumnData]) -> list[Column]:
        """Return what is learned from each column.

        Parameters
        ----------
        options : ColumnOptions
            The options of the preprocessor.
        sample : iterable of ColumnData
            The columns of some rows.

        Returns
        -------
        list of Column

        """
        return [self._columns[data.name].column(options, data) for data in sample]
