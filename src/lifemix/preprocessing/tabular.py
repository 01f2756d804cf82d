"""The transformer from a table with categories and missing values to a matrix of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..checks import warn_user
from ..errors import CovariateError, SettingError
from ..registry import register_model
from .columns import Column
from .encoding import Encoding
from .few_rows import array_of_few
from .frames import as_table, match_columns
from .learning import learn_columns
from .reading import TableData, TableLike

__all__ = ["TabularPreprocessor"]

_NUMBERS = ("scaled", "piecewise")


@register_model
class TabularPreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Impute, encode and scale a table with statistics of the training rows.

    Numbers (booleans are 0 and 1): a missing value becomes ``fill_values[column]`` or else the training mean, then
    ``(x - mean) / scale`` with mean and standard deviation of the imputed training column. Labels (text, Categorical,
    or text mixed with numbers and booleans): a missing value becomes the most frequent training level, then one 0/1
    column per training level, ``column=level``, in sorted order. Values with the same text are one level: 1, 1.0 and
    ``"1"`` are, True and 1 are not. Dates and other objects are refused.
    A column with missing values in training adds the indicator ``missing_column``.
    Columns that are constant in training up to rounding become nothing, and so do those without any value, with a
    warning.

    In ``transform`` columns are matched by name; a level that training did not have is all zeros, with a warning; a
    value missing in a column that was complete in training is imputed like any other.

    Parameters
    ----------
    fill_values : mapping from column to number, optional
        Fixed values to impute in columns of numbers, such as ``SUPPORT_NORMAL_VALUES``; the columns of an array are
        called x0, x1, ...
    missing_indicators : bool, default True
        Whether to add the columns ``missing_column``.
    scale : bool, default True
        Whether to standardise numbers; otherwise they are only imputed.
    max_levels : int, default 1000
        A column with more levels is refused: it is probably an identifier.
    numbers : {"scaled", "piecewise"}, default "scaled"
        With ``"piecewise"``, columns of numbers with more than two values become how far the value has come through
        each of at most ``bins`` bins between training quantiles, minus one half [1]_. Networks learn non-linear effects
        from this more easily, and outliers have no leverage.
    bins : int, default 8
        The maximum number of bins of a column.

    Attributes
    ----------
    columns_ : tuple
        What was learned from each column: kind, imputed value, mean, scale, levels, knots.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of str
        Their names, where ``X`` had names.

    References
    ----------
    .. [1] Gorishniy, Rubachev and Babenko (2022), On embeddings for numerical features in tabular deep learning,
       Advances in Neural Information Processing Systems 35. doi:10.48550/arXiv.2203.05556

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing import TabularPreprocessor
    >>> X = pd.DataFrame({"age": [50.0, 60.0, None, 70.0], "sex": ["f", "m", "f", "f"]})
    >>> fitted = TabularPreprocessor().fit(X)
    >>> fitted.get_feature_names_out().tolist()
    ['age', 'missing_age', 'sex=f', 'sex=m']
    >>> fitted.transform(X).round(2)[0].tolist()
    [-1.41, 0.0, 1.0, 0.0]

    """

    columns_: tuple[Column, ...]
    feature_names_in_: NDArray[np.object_]
    n_features_in_: int

    def __init__(
        self,
        fill_values: Mapping[str, float] | None = None,
        missing_indicators: bool = True,
        scale: bool = True,
        max_levels: int = 1000,
        numbers: str = "scaled",
        bins: int = 8,
    ) -> None:
        self.fill_values = fill_values
        self.missing_indicators = missing_indicators
        self.scale = scale
        self.max_levels = max_levels
        self.numbers = numbers
        self.bins = bins

    def fit(self, X: TableLike, y: Any = None) -> TabularPreprocessor:
        """Learn from the training table.

        Parameters
        ----------
        X : DataFrame, TableData or array of shape (n, n_features)
            The training table.
        y : ignored
            As scikit-learn's transformers have it.

        Returns
        -------
        TabularPreprocessor
            Itself.

        Raises
        ------
        CovariateError
            Where a column holds neither numbers nor labels, an infinite number, or too many levels.
        SettingError
            Where an option cannot be used.

        """
        table, named = as_table(X)
        _check_size(table)
        fills = self._checked_fills(list(table.columns))
        rules = (
            self.scale,
            self.missing_indicators,
            self.max_levels,
            _checked_bins(self.numbers, self.bins),
        )
        columns = learn_columns(table, fills, *rules)
        _warn_about_columns_without_effect(columns)
        self._learn(columns, named)
        return self

    def fit_columns(
        self, learn: Callable[[TabularPreprocessor, int], list[Column]], names: list[str]
    ) -> TabularPreprocessor:
        """Take over columns that were learned elsewhere, from a table that is not in memory.

        Parameters
        ----------
        learn : callable
            From this transformer and the most bins of a column, 0 for none, to the learned columns.
        names : list of str
            The columns of the table.

        Returns
        -------
        TabularPreprocessor
            Itself.

        """
        self._checked_fills(names)
        columns = learn(self, _checked_bins(self.numbers, self.bins))
        _warn_about_columns_without_effect(columns)
        self._learn(columns, named=True)
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """Return the table as numbers.

        Parameters
        ----------
        X : DataFrame, TableData or array of shape (n, n_features)
            A table with the columns of training.

        Returns
        -------
        array of shape (n, n_outputs), float64
            In Fortran order: one column after the other in memory.

        Raises
        ------
        CovariateError
            Where columns are missing or unknown, or one of numbers now holds labels.

        """
        return self._matrix(X)

    def _matrix(self, X: Any, single: bool = False) -> FloatArray:
        """Return the table as numbers, in single precision where that is asked for."""
        check_is_fitted(self, "columns_")
        if (
            not hasattr(self, "feature_names_in_")
            and (few := array_of_few(self._encoding, X, single)) is not None
        ):
            return few
        table, named = as_table(X)
        names = [column.name for column in self.columns_]
        table = match_columns(
            table, named, names, hasattr(self, "feature_names_in_"), type(self).__name__
        )
        return self._encoding.matrix(table, single)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the outputs: ``column``, ``column=level``, ``missing_column``.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns; they may be left out, as they are known from ``fit``.

        Returns
        -------
        array of str

        """
        check_is_fitted(self, "columns_")
        names = [column.name for column in self.columns_]
        if input_features is not None and list(input_features) != names:
            given = list(input_features)
            raise CovariateError(
                f"input_features is not equal to feature_names_in_ (they should have length equal to number of "
                f"features, {len(names)}): got {given}, expected {names}. Leave it out: the names are known from fit."
            )
        return self._encoding.names.copy()

    def _validate(self) -> None:
        """Check and complete a transformer that was read from a model file."""
        for column in self.columns_:
            if not isinstance(column, Column):
                raise ValueError(f"columns_ must be columns; got {type(column).__name__}")
            column.check()
        self._learn(list(self.columns_), hasattr(self, "feature_names_in_"))

    def _learn(self, columns: list[Column], named: bool) -> None:
        outputs = Counter(output for column in columns for output in column.outputs)
        twice = [output for output, count in outputs.items() if count > 1]
        if twice:
            raise CovariateError(
                f"two outputs would be called {twice}; rename one of the columns they come from."
            )
        self.columns_ = tuple(columns)
        self._encoding = Encoding(columns)
        self.n_features_in_ = len(columns)
        if named:
            self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _checked_fills(self, columns: list[str]) -> dict[str, float]:
        fills = dict(self.fill_values or {})
        unknown = [name for name in fills if name not in columns]
        if unknown:
            raise SettingError(
                f"fill_values names columns that X does not have: {unknown}; X has {columns}. "
                "Leave them out or correct the names."
            )
        bad = {name: fill for name, fill in fills.items() if not np.isfinite(fill)}
        if bad:
            raise SettingError(f"fill_values must be finite numbers; got {bad}.")
        return fills

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _checked_bins(numbers: object, bins: object) -> int:
    """Return the most bins that a column of numbers may have, 0 where numbers are only scaled."""
    if numbers not in _NUMBERS:
        raise SettingError(f"numbers must be one of {list(_NUMBERS)}; got {numbers!r}.")
    if isinstance(bins, bool) or not isinstance(bins, Integral) or bins < 2:
        raise SettingError(f"bins must be a whole number of at least 2; got {bins!r}.")
    return int(bins) if numbers == "piecewise" else 0


def _check_size(table: pd.DataFrame | TableData) -> None:
    if table.shape[1] == 0:
        raise CovariateError(
            f"X has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required. Add one."
        )
    if len(table) == 0:
        raise CovariateError(
            f"X has 0 sample(s) (shape={table.shape}) while a minimum of 1 is required. Add one."
        )


def _warn_about_columns_without_effect(columns: list[Column]) -> None:
    empty = [column.name for column in columns if column.kind == "empty"]
    if empty:
        warn_user(f"all training values are missing in {empty}: no effect.")
    if not any(column.outputs for column in columns):
        names = [column.name for column in columns]
        warn_user(f"no column varies among the training rows, so none is used: {names}.")
