"""Statistics of a table that is read in blocks: the preprocessor of the whole table, without holding the table.

Counts, means, standard deviations, extremes and levels are exact up to rounding. Quantiles (usual values, knots of a
piecewise encoding) come from a sample of the rows. A table of one block gives the same numbers as in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .._types import FloatArray
from ..errors import CovariateError, SettingError
from .choice import Passthrough
from .columns import Column, mode_of, sorted_levels
from .identifiers import refuse_free_text
from .numbers import is_constant, moments, usual_of
from .piecewise import learn_knots
from .reading import ColumnData, refuse_infinite
from .tabular import TabularPreprocessor

__all__ = ["RunningStatistics"]


@dataclass
class _NumericColumn:
    """Moments and extremes of one column of numbers."""

    name: str
    n_rows: int = 0
    n_observed: int = 0
    mean: float = 0.0
    variance: float = 0.0
    least: float = np.inf
    most: float = -np.inf
    whole: bool = True

    def add(self, values: FloatArray) -> None:
        """Add rows, NaN where missing (the update of Chan, Golub and LeVeque 1979)."""
        observed = values[~np.isnan(values)]
        self.n_rows += len(values)
        if not len(observed):
            return
        least, most = float(observed.min()), float(observed.max())
        if not np.isfinite(least) or not np.isfinite(most):
            refuse_infinite(self.name, values)
        mean, spread = moments(observed[None], np.array([max(abs(least), abs(most))]))
        self.n_observed += len(observed)
        share = len(observed) / self.n_observed
        distance = float(mean[0]) - self.mean
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # learned() refuses a variance that is not finite
            between = np.float64(distance) * distance * share * (1 - share)
            self.variance = float(
                self.variance * (1 - share) + spread[0] * spread[0] * share + between
            )
        self.mean += distance * share
        self.least, self.most = min(self.least, least), max(self.most, most)
        self.whole = self.whole and bool((observed == np.rint(observed)).all())

    def learned(self, rules: TabularPreprocessor, sample: FloatArray, bins: int) -> Column:
        """Return what the preprocessor needs; ``sample`` holds the column's values in some rows."""
        if not self.n_observed:
            return Column(self.name, "empty", missing=1.0)
        if not np.isfinite(self.variance):
            raise CovariateError(
                f"column {self.name!r} has numbers up to {max(-self.least, self.most)}; their squares overflow. Scale "
                "the column, or replace a code for unknown by a missing value."
            )
        fill, observed_share = (
            (rules.fill_values or {}).get(self.name),
            self.n_observed / self.n_rows,
        )
        mean, spread = self.mean, float(np.sqrt(self.variance)) * float(np.sqrt(observed_share))
        if fill is not None and observed_share < 1:
            distance = float(fill) - mean
            between = distance * distance * observed_share * (1 - observed_share)
            spread = float(np.sqrt(spread * spread + between))
            mean += distance * (1 - observed_share)
        fill = mean if fill is None else float(fill)
        missing = (self.n_rows - self.n_observed) / self.n_rows
        indicator = bool(rules.missing_indicators) and missing > 0
        if self.least == self.most and observed_share == 1 or is_constant(mean, spread):
            return Column(self.name, "constant", fill=fill, indicator=indicator, missing=missing)
        observed = sample[~np.isnan(sample)]
        if not len(observed):
            observed = np.array([self.least, self.most])
        usual = usual_of(observed, self.least, self.most, self.whole)
        knots = learn_knots(observed, bins) if bins > 0 else None
        center, divisor = (mean, spread) if rules.scale else (0.0, 1.0)
        return Column(
            self.name,
            "numeric",
            fill,
            center,
            divisor,
            None,
            indicator,
            knots,
            usual,
            self.whole,
            missing,
        )


@dataclass
class _LabelColumn:
    """The levels of one column and their counts."""

    name: str
    max_levels: int
    n_rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, values: pd.Series[Any]) -> None:
        """Add rows; refuse the column as soon as it has too many levels."""
        codes, levels = ColumnData(self.name, values).coded
        counts = np.bincount(codes[codes >= 0], minlength=len(levels)).tolist()
        self.counts.update(
            {level: count for level, count in zip(levels, counts, strict=True) if count}
        )
        self.n_rows += len(codes)
        if len(self.counts) > self.max_levels:
            raise CovariateError(
                f"column {self.name!r} may have at most max_levels={self.max_levels} levels; got {len(self.counts)} in "
                f"{self.n_rows} rows, such as {list(self.counts)[:3]}. Leave it out if it is an identifier, group its "
                "levels, or raise max_levels."
            )

    def learned(self, rules: TabularPreprocessor) -> Column:
        """Return what the preprocessor needs."""
        if not self.counts:
            return Column(self.name, "empty", missing=1.0)
        if self.name in (rules.fill_values or {}):
            raise SettingError(
                f"fill_values are for columns of numbers; got one for {self.name!r}, which holds labels such as "
                f"{next(iter(self.counts))!r}. Leave it out of fill_values: the most frequent level is used."
            )
        counts = {level: self.counts[level] for level in sorted_levels(tuple(self.counts))}
        kind = "categorical" if len(counts) > 1 else "constant"
        missing = (self.n_rows - sum(counts.values())) / self.n_rows
        indicator = bool(rules.missing_indicators) and missing > 0
        fill = mode_of(counts)
        return Column(
            self.name, kind, fill=fill, levels=tuple(counts), indicator=indicator, missing=missing
        )


class RunningStatistics:
    """Statistics of all columns of a table, added block by block; ``labels`` names the columns of labels."""

    def __init__(self, columns: Sequence[str], labels: Sequence[str], max_levels: int) -> None:
        self.columns: dict[str, _NumericColumn | _LabelColumn] = {
            name: _LabelColumn(name, max_levels) if name in labels else _NumericColumn(name)
            for name in columns
        }

    def add(self, frame: pd.DataFrame) -> None:
        """Add the rows of a block: float64 columns, and Categoricals for labels."""
        for name, column in self.columns.items():
            if isinstance(column, _LabelColumn):
                column.add(frame[name])
            else:
                column.add(frame[name].to_numpy())

    def fitted(self, preprocessor: Any, sample: pd.DataFrame) -> Any:
        """Return the fitted preprocessor of the whole table; ``sample`` holds some of its rows."""
        labels = [name for name, column in self.columns.items() if isinstance(column, _LabelColumn)]
        for name in labels:
            refuse_free_text(ColumnData(name, sample[name]))
        if preprocessor is None:
            if labels:
                raise CovariateError(
                    f"preprocessor=None takes numbers only; got labels in {labels}. Use 'auto'."
                )
            return Passthrough(list(self.columns), named=True)
        rules = TabularPreprocessor() if isinstance(preprocessor, str) else preprocessor

        def learn(own_rules: TabularPreprocessor, bins: int) -> list[Column]:
            return [
                column.learned(own_rules)
                if isinstance(column, _LabelColumn)
                else column.learned(own_rules, sample[name].to_numpy(), bins)
                for name, column in self.columns.items()
            ]

        return TabularPreprocessor(**rules.get_params()).fit_columns(learn, list(self.columns))
