"""From a table with categories and missing values to a matrix of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..checks import Choice, Whole, as_array, as_pandas, refuse_masked, warn_user
from ..errors import CovariateError, SettingError
from ..histories import ArrayRows, Histories, InputLike, Sources, as_input
from ..registry import register_model
from ..target import Target
from .columns import Column, ColumnData, read_column
from .running_statistics import ColumnOptions, RunningStatistics

__all__ = [
    "Passthrough",
    "TableData",
    "TableLike",
    "TabularPreprocessor",
    "apply_preprocessor",
    "as_table",
    "columns_by_name",
    "learn_preprocessor",
    "match_columns",
    "refuse_outcome_columns",
    "shape_of",
]


class TableData:
    """A table that reads each of its columns once, also for several fits and checks.

    Every estimator, measure and check takes it in place of a DataFrame; ``table.iloc[rows]`` and
    ``table[names]`` are tables that share what was read.

    Parameters
    ----------
    frame : DataFrame
        The table; its column names must differ from each other.
    named : bool, default True
        Whether the names were given, or made up for an array.

    Attributes
    ----------
    data : tuple
        One object per column with ``name``, ``kind``, ``numbers`` or ``codes`` and ``levels``,
        ``missing``, ``distinct``, ``is_whole``.
    frame : DataFrame
        The table as it was given.
    columns : list of str
        The names of the columns.
    shape : tuple of int
        The number of rows and columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing import TableData
    >>> table = TableData(pd.DataFrame({"age": [61, 48, None], "sex": ["f", "m", "f"]}))
    >>> [(column.name, column.kind, column.distinct) for column in table.data]
    [('age', 'numeric', 2), ('sex', 'categorical', 2)]
    >>> table.iloc[[0, 2]].data[1].levels
    ('f',)

    """

    def __init__(self, frame: pd.DataFrame, named: bool = True) -> None:
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            repeated = [name for name, count in Counter(names).items() if count > 1]
            raise CovariateError(
                f"columns must have different names; got {repeated} more than once. Rename them."
            )
        self.frame = frame if names == frame.columns.tolist() else frame.set_axis(names, axis=1)
        self.named, self.columns, self.shape = named, names, frame.shape
        self._data: dict[str, ColumnData] = {}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def data(self) -> tuple[ColumnData, ...]:
        """The columns."""
        return tuple(self.column(name) for name in self.columns)

    def column(self, name: str) -> ColumnData:
        """Return a column, which is read when it is first asked for.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        ColumnData

        """
        if name not in self._data:
            self._data[name] = read_column(name, self.frame[name])
        return self._data[name]

    def __getitem__(self, names: list[str]) -> TableData:
        table = TableData(self.frame[names], self.named)
        table._data = {name: self._data[name] for name in names if name in self._data}
        return table

    def take(self, rows: Any, axis: int = 0) -> TableData:
        """Return some rows.

        Parameters
        ----------
        rows : slice, row numbers or mask
            Which rows.
        axis : int, default 0
            Only rows can be taken; scikit-learn gives the axis.

        Returns
        -------
        TableData

        """
        if axis != 0:
            raise NotImplementedError("columns are taken by name: table[names].")
        table = TableData(self.frame.iloc[rows], self.named)
        table._data = {column.name: column.take(rows) for column in self.data}
        return table

    @property
    def iloc(self) -> _RowIndexer:
        """Rows by number, as ``table.iloc[rows]``."""
        return _RowIndexer(self)


class _RowIndexer:
    def __init__(self, table: TableData) -> None:
        self._table = table

    def __getitem__(self, rows: Any) -> TableData:
        return self._table.take(rows)


TableLike: TypeAlias = TableData | pd.DataFrame | ArrayLike | InputLike | Mapping[str, Any]
"""What every model takes as covariates."""


def as_table(X: Any) -> TableData:
    """Return ``X`` as a table; the columns of an array are called x0, x1, ..."""
    if isinstance(X, TableData):
        return X
    if isinstance(X, (Histories, Sources)):
        fix = "Use DeepSurvivalMachines(encoder=encoders.Recurrent())"
        if isinstance(X, Histories):
            fix += ", or histories.last(), the last visit as a table"
        raise CovariateError(f"this model takes a table of two dimensions; got {X!r}. {fix}.")
    X = as_pandas(X.values if isinstance(X, ArrayRows) else X)
    if isinstance(X, pd.DataFrame):
        return TableData(X)
    refuse_masked(X, "X", CovariateError)
    array = np.asarray(as_array(X.toarray() if sparse.issparse(X) else X))
    _check_dimensions(array.shape)
    names = [f"x{i}" for i in range(array.shape[1])]
    return TableData(pd.DataFrame(array, columns=names, copy=False), named=False)


def _check_dimensions(shape: Sequence[int]) -> None:
    if len(shape) == 2:
        return
    if len(shape) < 2:
        fix = (
            "Reshape your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is "
            "one row."
        )
    else:
        fix = (
            "If a row is an image or the like, use DeepSurvivalMachines(encoder=module) with a "
            f"torch.nn.Module that takes rows of shape {tuple(shape[1:])}."
        )
        if len(shape) == 3:
            fix += (
                " If a row is a sequence of measurements, use encoder=encoders.Recurrent(), or one "
                "row per interval, which lifemix.preprocessing.start_stop makes."
            )
    raise CovariateError(f"X must be a table of two dimensions; got shape {tuple(shape)}. {fix}")


def shape_of(X: TableLike) -> tuple[int, int]:
    """Return the number of rows and columns of a table.

    Parameters
    ----------
    X : DataFrame, TableData or array of shape (n, n_features)
        The table.

    Returns
    -------
    tuple of int
        Rows and columns.

    Raises
    ------
    CovariateError
        If ``X`` does not have two dimensions, or has no row.

    Examples
    --------
    >>> from lifemix.preprocessing import shape_of
    >>> shape_of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    (3, 2)

    """
    refuse_masked(X, "X", CovariateError)
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    _check_dimensions(shape)
    if shape[0] == 0:
        raise CovariateError(
            "X must have at least one row; got 0. Check how the rows were selected."
        )
    return int(shape[0]), int(shape[1])


def columns_by_name(X: Any, names: Sequence[str]) -> Any:
    """Return the columns with these names, in this order; a table without names unchanged.

    Other columns are ignored.

    Parameters
    ----------
    X : DataFrame, TableData or array of shape (n, n_columns)
        The table.
    names : sequence of str
        The columns of training.

    Returns
    -------
    DataFrame, TableData or array

    Raises
    ------
    CovariateError
        If columns are missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing.tabular import columns_by_name
    >>> columns_by_name(pd.DataFrame({"id": [7], "dose": [0.5], "age": [61]}), ["age", "dose"])
       age  dose
    0   61   0.5

    """
    X = as_pandas(X)
    is_named = X.named if isinstance(X, TableData) else isinstance(X, pd.DataFrame)
    if not is_named:
        return X
    columns = pd.Index([str(name) for name in X.columns])
    if columns.equals(pd.Index(names)):
        return X
    absent = [name for name in names if name not in columns]
    if absent:
        raise CovariateError(
            f"X must have the {len(names)} columns of training; missing {absent}, got "
            f"{columns.tolist()[:20]}. Add what is missing (NaN where the value is unknown)."
        )
    if isinstance(X, TableData):
        return X[list(names)]
    return X.iloc[:, columns.get_indexer_for(pd.Index(names))]


def match_columns(
    table: TableData, names: list[str], named_in_training: bool, owner: str
) -> TableData:
    """Return the columns of training in their order, matched by name if both tables have names."""
    if table.named and named_in_training:
        matched: TableData = columns_by_name(table, names)
        return matched
    if table.shape[1] != len(names):
        raise CovariateError(
            f"X has {table.shape[1]} features, but {owner} is expecting {len(names)} features as "
            f"input: {names}."
        )
    if table.named != named_in_training:
        had, has = ("names", "none") if named_in_training else ("no names", "names")
        warn_user(
            f"the columns had {had} in training and have {has} now; they are taken in the order "
            "given."
        )
    return table if table.columns == names else TableData(table.frame.set_axis(names, axis=1))


def refuse_outcome_columns(X: Any, target: Target) -> None:
    """Raise ``CovariateError`` if a column equals the time or the event of the target in every row.

    Constant columns, tables of fewer than 20 rows and inputs that are not a dense table are
    accepted.
    """
    is_table = not isinstance(X, (Histories, Sources, ArrayRows)) and not sparse.issparse(X)
    if len(target) < 20 or not is_table:
        return
    outcomes = {"time": target.time, "event": target.event, "event > 0": target.event > 0}
    frame = as_table(X).frame
    for name, dtype in frame.dtypes.items():
        if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
            continue
        values = frame[name].to_numpy()
        for field, outcome in outcomes.items():
            if dtype.kind == "f":
                outcome = outcome.astype(dtype)
            is_copy = values[0] == outcome[0] and np.array_equal(values, outcome)
            if is_copy and (outcome != outcome[0]).any():
                raise CovariateError(
                    f"column {name!r} of X equals the {field} of y in all {len(target)} rows, so "
                    "the model would be given the answer. Drop the column."
                )


@register_model
class Passthrough:
    """The preprocessor of ``preprocessor=None``: it only matches the columns.

    The table must hold numbers.

    Parameters
    ----------
    names : list of str
        The columns of the training table.
    named : bool
        Whether the training table had names, or was an array.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing import Passthrough
    >>> fitted = Passthrough(["age", "dose"], named=True)
    >>> fitted.transform(pd.DataFrame({"age": [61.0], "dose": [0.5]}))
    array([[61. ,  0.5]])

    """

    def __init__(self, names: list[str], named: bool) -> None:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"names must be a list of texts; got {names!r:.100}")
        self.names, self.named = names, named

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : ignored
            As scikit-learn's transformers have it.

        Returns
        -------
        array of str

        """
        return np.array(self.names, dtype=object)

    def transform(self, X: TableLike) -> Any:
        """Return the columns in the order of training.

        Parameters
        ----------
        X : DataFrame, TableData or array of shape (n, n_features)
            A table with the columns of training; with names in any order, among others.

        Returns
        -------
        array of shape (n, n_features)

        """
        return match_columns(as_table(X), self.names, self.named, "the model").frame.to_numpy()


@register_model
class TabularPreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Impute, encode and scale a table with statistics of the training rows.

    Numbers (booleans are 0 and 1): a missing value becomes ``fill_values[column]`` or else the
    training mean, then ``(x - mean) / scale`` with mean and standard deviation of the imputed
    training column. Labels (text, Categorical, or text mixed with numbers and booleans): a missing
    value becomes the most frequent training level, then one 0/1 column per training level,
    ``column=level``, in sorted order. Values with the same text are one level: 1, 1.0 and ``"1"``
    are, True and 1 are not. Dates and other objects are refused. A column with missing values in
    training adds the indicator ``missing_column``. Columns that are constant in training up to
    rounding become nothing, and so do those without any value, with a warning.

    In ``transform`` columns are matched by name; a level that training did not have is all zeros,
    with a warning; a value missing in a column that was complete in training is imputed like any
    other.

    Parameters
    ----------
    fill_values : mapping from column to number, optional
        Fixed values to impute in columns of numbers, such as ``SUPPORT_NORMAL_VALUES``; the columns
        of an array are called x0, x1, ...
    missing_indicators : bool, default True
        Whether to add the columns ``missing_column``.
    scale : bool, default True
        Whether to standardise numbers; otherwise they are only imputed.
    max_levels : int, default 1000
        A column with more levels is refused: it is probably an identifier.
    numbers : {"scaled", "piecewise"}, default "scaled"
        With ``"piecewise"``, columns of numbers with more than two values become how far the value
        has come through each of at most ``bins`` bins between training quantiles, minus one half
        [1]_. Networks learn non-linear effects from this more easily, and outliers have no
        leverage.
    bins : int, default 8
        The maximum number of bins of a column.

    Attributes
    ----------
    columns_ : tuple
        What was learned from each column: kind, imputed value, mean, scale, levels, knots.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of str
        Their names, if ``X`` had names.

    References
    ----------
    .. [1] Gorishniy, Rubachev and Babenko (2022), On embeddings for numerical features in tabular
       deep learning, Advances in Neural Information Processing Systems 35. doi:10.48550/arXiv.2203.05556

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
            If a column holds neither numbers nor labels, an infinite number, or too many levels.
        SettingError
            If an option cannot be used.

        """
        table = as_table(X)
        for size, axis in zip(table.shape, ("sample", "feature"), strict=True):
            if size == 0:
                raise CovariateError(
                    f"X has 0 {axis}(s) (shape={table.shape}) while a minimum of 1 is required. "
                    "Add one."
                )
        statistics = RunningStatistics(self.max_levels)
        statistics.add(table.data)
        return self._fit_statistics(statistics, table)

    def _fit_statistics(
        self, statistics: RunningStatistics, sample: TableData
    ) -> TabularPreprocessor:
        """Learn from statistics of all rows, and quantiles from a sample of the rows."""
        names = sample.columns
        self.columns_ = tuple(statistics.learn(self._options(names), sample.data))
        empty = [column.name for column in self.columns_ if column.kind == "empty"]
        if empty:
            warn_user(f"all training values are missing in {empty}: no effect.")
        outputs = Counter(output for column in self.columns_ for output in column.outputs)
        if not outputs:
            warn_user(f"no column varies among the training rows, so none is used: {names}.")
        repeated = [output for output, count in outputs.items() if count > 1]
        if repeated:
            raise CovariateError(
                f"two outputs would be called {repeated}; rename one of the columns they come from."
            )
        self.n_features_in_ = len(names)
        if sample.named:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _options(self, names: list[str]) -> ColumnOptions:
        """Return the options; refuse those that cannot be used with these columns."""
        Choice("scaled", "piecewise")("numbers", self.numbers)
        Whole(2)("bins", self.bins)
        fills = dict(self.fill_values or {})
        unknown = [name for name in fills if name not in names]
        if unknown:
            raise SettingError(
                f"fill_values names columns that X does not have: {unknown}; X has {names}. "
                "Leave them out or correct the names."
            )
        infinite = {name: fill for name, fill in fills.items() if not np.isfinite(fill)}
        if infinite:
            raise SettingError(f"fill_values must be finite numbers; got {infinite}.")
        bins = int(self.bins) if self.numbers == "piecewise" else 0
        return ColumnOptions(fills, bool(self.missing_indicators), bool(self.scale), bins)

    def _validate(self) -> None:
        """Check a transformer that was read from a model file."""
        if not all(isinstance(column, Column) for column in self.columns_):
            raise ValueError("columns_ must be columns")

    def transform(self, X: TableLike) -> FloatArray:
        """Return the table as numbers.

        Parameters
        ----------
        X : DataFrame, TableData or array of shape (n, n_features)
            A table with the columns of training; with names in any order, among others.

        Returns
        -------
        array of shape (n, n_outputs), float64
            In Fortran order: one column after the other in memory.

        Raises
        ------
        CovariateError
            If columns are missing, or one of numbers now holds labels.

        """
        check_is_fitted(self, "columns_")
        names = [column.name for column in self.columns_]
        is_named = hasattr(self, "feature_names_in_")
        table = match_columns(as_table(X), names, is_named, type(self).__name__)
        stops = np.cumsum([len(column.outputs) for column in self.columns_])
        matrix = np.zeros((len(table), stops[-1]), order="F")
        with np.errstate(over="ignore"):
            for column, stop in zip(self.columns_, stops, strict=True):
                if column.outputs:
                    start = stop - len(column.outputs)
                    column.write(table.column(column.name), matrix[:, start:stop])
        if not np.isfinite(matrix).all():
            first = (~np.isfinite(matrix).all(axis=0)).argmax()
            column = self.columns_[np.searchsorted(stops, first, side="right")]
            numbers = table.column(column.name).observed
            raise CovariateError(
                f"column {column.name!r} has values too far from those of training (mean "
                f"{column.mean}, standard deviation {column.scale}); got from {numbers.min()} to "
                f"{numbers.max()}. Check its unit."
            )
        return matrix

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
            raise CovariateError(
                "input_features is not equal to feature_names_in_ (they should have length equal "
                f"to number of features, {len(names)}): got {list(input_features)}, expected "
                f"{names}. Leave it out: the names are known from fit."
            )
        outputs = [output for column in self.columns_ for output in column.outputs]
        return np.array(outputs, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def learn_preprocessor(
    preprocessor: Any,
    X: TableLike,
    *,
    max_visits: int | None = None,
    sequences: bool | None = None,
    statistics: RunningStatistics | None = None,
) -> Any:
    """Return the preprocessor of a model, fitted to its training table.

    Parameters
    ----------
    preprocessor : "auto", None or transformer
        ``"auto"`` is a ``TabularPreprocessor``, None takes the numbers as they are; a scikit-learn
        transformer is cloned.
    X : DataFrame, TableData or array of shape (n, n_features)
        The training table; or what ``lifemix.histories`` has.
    max_visits : int, optional
        The longest sequence of histories; None: that of the training rows.
    sequences : bool, optional
        For a model that takes histories, sources or arrays of any rank: whether an array of three
        dimensions holds histories. None: the model takes tables only.
    statistics : RunningStatistics, optional
        The statistics of a table on disk, from which ``X`` is a sample.

    Returns
    -------
    fitted transformer

    Raises
    ------
    SettingError
        If ``preprocessor`` is none of these.

    Examples
    --------
    >>> from lifemix.preprocessing import learn_preprocessor
    >>> learn_preprocessor("auto", [[1.0], [2.0], [3.0]]).get_feature_names_out().tolist()
    ['x0']

    """
    if sequences is not None and isinstance(X, (Histories, Sources, ArrayRows)):
        return _sequence_preprocessor(preprocessor, max_visits, sequences).fit(X)
    if preprocessor is None:
        table = as_table(X)
        return Passthrough(table.columns, table.named)
    if isinstance(preprocessor, str) and preprocessor == "auto":
        preprocessor = TabularPreprocessor()
    if not (hasattr(preprocessor, "fit") and hasattr(preprocessor, "transform")):
        raise SettingError(
            "preprocessor must be 'auto', None or a scikit-learn transformer; got "
            f"{preprocessor!r:.60}. A transformer has fit and transform."
        )
    transformer = clone(preprocessor)
    if statistics is not None:
        return transformer._fit_statistics(statistics, as_table(X))
    return transformer.fit(_input_of(transformer, X))


def _sequence_preprocessor(preprocessor: Any, max_visits: int | None, sequences: bool) -> Any:
    from .sequences import SequencePreprocessor  # imports this module

    if isinstance(preprocessor, SequencePreprocessor):
        copy = clone(preprocessor)
        return copy if max_visits is None else copy.set_params(max_visits=max_visits)
    tables = {None: TabularPreprocessor(scale=False), "auto": None}
    is_table = isinstance(preprocessor, TabularPreprocessor)
    if not is_table and not (isinstance(preprocessor, str | None) and preprocessor in tables):
        raise SettingError(
            "with histories or several sources, preprocessor must be 'auto', None, a "
            f"TabularPreprocessor or a SequencePreprocessor; got {preprocessor!r:.60}. Transform "
            "the columns before."
        )
    table = clone(preprocessor) if is_table else tables[preprocessor]
    return SequencePreprocessor(table, max_visits, sequences)


def _input_of(transformer: Any, X: TableLike) -> Any:
    """Return the table as a transformer takes it: those of users do not know ``TableData``."""
    is_frame_needed = not isinstance(transformer, (TabularPreprocessor, Passthrough))
    return X.frame if isinstance(X, TableData) and is_frame_needed else X


def apply_preprocessor(fitted: Any, X: TableLike, *, columns_required: bool = True) -> NDArray[Any]:
    """Return the matrix of finite numbers that a model works on.

    Parameters
    ----------
    fitted : fitted transformer
        What ``learn_preprocessor`` returned.
    X : DataFrame, TableData or array of shape (n, n_features)
        A table with the columns of training.
    columns_required : bool, default True
        Whether a matrix without columns is refused; it has none if no column varies.

    Returns
    -------
    array of shape (n, n_outputs), float64; float32 of a ``SequencePreprocessor``

    Raises
    ------
    CovariateError
        If the result is not a matrix of finite numbers.

    Examples
    --------
    >>> from lifemix.preprocessing import apply_preprocessor, learn_preprocessor
    >>> X = [[1.0], [2.0], [3.0]]
    >>> apply_preprocessor(learn_preprocessor(None, X), X).ravel()
    array([1., 2., 3.])

    """
    X = X if isinstance(fitted, TabularPreprocessor) else as_input(X)
    values = fitted.transform(_input_of(fitted, X))
    is_packed = hasattr(fitted, "blocks_")  # by a SequencePreprocessor
    dtype = np.float32 if is_packed else np.float64
    try:
        matrix = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=dtype)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CovariateError(
            f"X must hold numbers; {error}. Use preprocessor='auto' for categories."
        ) from None
    if matrix.ndim != 2 or len(matrix) == 0 or (columns_required and matrix.shape[1] == 0):
        raise CovariateError(
            "X must be a table with at least one row and one column that varies; got numbers of "
            f"shape {matrix.shape}. Check how rows and columns were selected."
        )
    is_finite = np.isfinite(matrix)
    if not is_finite.all():
        row, column = np.argwhere(~is_finite)[0]
        raise CovariateError(
            f"X must be finite; got {matrix[row, column]} in row {row}, column {column} "
            f"({int((~is_finite).sum())} such). Use preprocessor='auto', which fills missing "
            "values, or fill them yourself."
        )
    return matrix
