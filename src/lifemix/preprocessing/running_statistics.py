"""The preprocessor of a table that is read in blocks, from running statistics of its columns.

Counts, means, standard deviations, extremes and levels are exact up to rounding; quantiles come
from a sample of the rows. A table of one block gives the same numbers as in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from .._types import FloatArray
from ..errors import CovariateError
from .columns import (
    Column,
    ColumnOptions,
    label_column,
    moments,
    numeric_column,
    read_column,
    refuse_free_text,
    refuse_infinite,
    refuse_many_levels,
)
from .tabular import Passthrough, TabularPreprocessor

__all__ = ["RunningStatistics"]


class _NumericStatistics:
    """Moments and extremes of one column of numbers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_rows = self.n_observed = 0
        self.mean = self.variance = 0.0
        self.low, self.high, self.is_whole = np.inf, -np.inf, True

    def add(self, numbers: FloatArray) -> None:
        """Add rows, NaN where missing (the update of Chan, Golub and LeVeque 1979)."""
        refuse_infinite(self.name, numbers)
        observed = numbers[~np.isnan(numbers)]
        self.n_rows += len(numbers)
        if not len(observed):
            return
        self.n_observed += len(observed)
        mean, spread = moments(observed)
        share = len(observed) / self.n_observed
        with np.errstate(over="ignore", invalid="ignore"):  # ``numeric_column`` refuses the result
            distance = np.float64(mean) - self.mean
            between = distance * distance * share * (1 - share)
            variance = self.variance * (1 - share) + np.float64(spread) * spread * share + between
        self.mean, self.variance = float(self.mean + distance * share), float(variance)
        self.low = min(self.low, float(observed.min()))
        self.high = max(self.high, float(observed.max()))
        self.is_whole = self.is_whole and bool((observed == np.rint(observed)).all())

    def column(self, options: ColumnOptions, sample: FloatArray) -> Column:
        """Return what is learned; ``sample`` holds the values of some rows."""
        if not self.n_observed:
            return Column(self.name, "empty", missing=1.0)
        share = self.n_observed / self.n_rows
        mean, spread = self.mean, float(np.sqrt(self.variance)) * float(np.sqrt(share))
        fill = options.fill_values.get(self.name)
        if fill is not None and share < 1:
            distance = float(fill) - mean
            spread = float(np.hypot(spread, distance * np.sqrt(share * (1 - share))))
            mean += distance * (1 - share)
        observed = sample[~np.isnan(sample)]
        return numeric_column(
            self.name,
            options,
            mean=mean,
            spread=spread,
            missing=(self.n_rows - self.n_observed) / self.n_rows,
            extremes=(self.low, self.high),
            is_whole=self.is_whole,
            sample=observed if len(observed) else np.array([self.low, self.high]),
        )


class _LabelStatistics:
    """The levels of one column of labels and their counts."""

    def __init__(self, name: str, max_levels: int) -> None:
        self.name, self.max_levels = name, max_levels
        self.n_rows = 0
        self.counts: Counter[str] = Counter()

    def add(self, values: pd.Series[Any]) -> None:
        """Add rows; refuse the column as soon as it has too many levels."""
        data = read_column(self.name, values, as_labels=True)
        assert data.codes is not None
        counts = np.bincount(data.codes[data.codes >= 0], minlength=len(data.levels))
        self.counts.update(dict(zip(data.levels, counts.tolist(), strict=True)))
        self.n_rows += len(values)
        refuse_many_levels(self.name, self.max_levels, self.counts, self.n_rows)

    def column(self, options: ColumnOptions, sample: pd.Series[Any]) -> Column:
        """Return what is learned; ``sample`` holds the values of some rows."""
        if not self.counts:
            return Column(self.name, "empty", missing=1.0)
        refuse_free_text(read_column(self.name, sample, as_labels=True))
        return label_column(self.name, options, self.counts, self.n_rows)


class RunningStatistics:
    """Statistics of all columns of a table, added block by block.

    Parameters
    ----------
    columns : sequence of str
        The names of the columns.
    labels : sequence of str
        Those that hold labels.
    max_levels : int
        A column with more levels is refused.

    """

    def __init__(self, columns: Sequence[str], labels: Sequence[str], max_levels: int) -> None:
        self.numeric = {name: _NumericStatistics(name) for name in columns if name not in labels}
        self.labels = {name: _LabelStatistics(name, max_levels) for name in labels}
        self.names = list(columns)

    def add(self, frame: pd.DataFrame) -> None:
        """Add the rows of a block.

        Parameters
        ----------
        frame : DataFrame
            Columns of float64, and Categoricals for labels.

        """
        for name in self.names:
            if name in self.numeric:
                self.numeric[name].add(frame[name].to_numpy())
            else:
                self.labels[name].add(frame[name])

    def fitted(self, preprocessor: Any, sample: pd.DataFrame) -> Any:
        """Return the fitted preprocessor of the whole table.

        Parameters
        ----------
        preprocessor : "auto", None or TabularPreprocessor
            The option ``preprocessor`` of a model.
        sample : DataFrame
            Some rows of the table.

        Returns
        -------
        fitted transformer

        """
        if preprocessor is None:
            if self.labels:
                raise CovariateError(
                    f"preprocessor=None takes numbers only; got labels in {list(self.labels)}. Use "
                    "'auto'."
                )
            return Passthrough(self.names, named=True)
        is_option = isinstance(preprocessor, str)
        fitted = TabularPreprocessor() if is_option else clone(preprocessor)
        options = fitted._checked_options(self.names)
        columns = [
            self.numeric[name].column(options, sample[name].to_numpy())
            if name in self.numeric
            else self.labels[name].column(options, sample[name])
            for name in self.names
        ]
        return fitted._set_learned(columns, named=True)
