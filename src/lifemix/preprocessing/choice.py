"""The option ``preprocessor`` of all models: from the table X of the user to a matrix of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ..checks import refuse_masked
from ..errors import CovariateError, SettingError
from ..histories import ArrayRows, Histories, Sources, as_input
from ..registry import register_model
from .frames import as_frame, match_columns, wrong_dimensions
from .reading import TableData, TableLike
from .sequences import SequencePreprocessor
from .tabular import TabularPreprocessor

__all__ = ["Passthrough", "apply_preprocessor", "learn_preprocessor", "shape_of"]


@register_model
class Passthrough:
    """The preprocessor of ``preprocessor=None``: the table holds numbers already, and only its columns are matched.

    Parameters
    ----------
    names : list of str
        The columns of the training table.
    named : bool
        Whether the training table came with names, or was an array.

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

    @classmethod
    def of(cls, X: TableLike) -> Passthrough:
        """Return the preprocessor of a training table.

        Parameters
        ----------
        X : DataFrame, TableData or array of shape (n, n_features)
            The training table.

        Returns
        -------
        Passthrough

        """
        frame, named = as_frame(X)
        return cls([str(name) for name in frame.columns], named)

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
            A table with the columns of training.

        Returns
        -------
        array of shape (n, n_features)

        """
        frame, named = as_frame(X)
        return match_columns(frame, named, self.names, self.named, "the model").to_numpy()


def learn_preprocessor(
    preprocessor: Any, X: TableLike, *, max_visits: int | None = None, sequences: bool | None = None
) -> Any:
    """Return the preprocessor of a model, fitted to its training table.

    Parameters
    ----------
    preprocessor : "auto", None or transformer
        ``"auto"`` is a ``TabularPreprocessor``, None takes the numbers as they are; a scikit-learn transformer is
        cloned.
    X : DataFrame, TableData or array of shape (n, n_features)
        The training table; or what ``lifemix.histories`` has.
    max_visits : int, optional
        The longest sequence of histories; None: that of the training rows.
    sequences : bool, optional
        For a model that takes histories, sources or arrays of any rank: whether an array of three dimensions holds
        histories. None: the model takes tables only.

    Returns
    -------
    fitted transformer

    Raises
    ------
    SettingError
        Where ``preprocessor`` is none of these.

    Examples
    --------
    >>> from lifemix.preprocessing import learn_preprocessor
    >>> learn_preprocessor("auto", [[1.0], [2.0], [3.0]]).get_feature_names_out().tolist()
    ['x0']

    """
    if sequences is not None and isinstance(X, (Histories, Sources, ArrayRows)):
        return _for_sequences(preprocessor, max_visits, sequences).fit(X)
    if preprocessor is None:
        return Passthrough.of(X)
    if isinstance(preprocessor, str):
        if preprocessor != "auto":
            raise SettingError(
                f"preprocessor must be 'auto', None or a scikit-learn transformer; got {preprocessor!r}."
            )
        preprocessor = TabularPreprocessor()
    if not (hasattr(preprocessor, "fit") and hasattr(preprocessor, "transform")):
        raise SettingError(
            f"preprocessor must be 'auto', None or have fit and transform; got {type(preprocessor).__name__}."
        )
    return clone(preprocessor).fit(_table_for(preprocessor, X))


def _for_sequences(
    preprocessor: Any, max_visits: int | None, sequences: bool
) -> SequencePreprocessor:
    """Return the preprocessor of histories and other sources that an option stands for, not fitted."""
    if isinstance(preprocessor, SequencePreprocessor):
        given: SequencePreprocessor = clone(preprocessor)
        return given if max_visits is None else given.set_params(max_visits=max_visits)
    if preprocessor is None:
        return SequencePreprocessor(TabularPreprocessor(scale=False), max_visits, sequences)
    if isinstance(preprocessor, TabularPreprocessor):
        return SequencePreprocessor(clone(preprocessor), max_visits, sequences)
    if preprocessor == "auto":
        return SequencePreprocessor(None, max_visits, sequences)
    raise SettingError(
        "with histories or several sources, preprocessor must be 'auto', None, a TabularPreprocessor or a "
        f"SequencePreprocessor; got {preprocessor!r:.60}. Transform the columns before."
    )


def apply_preprocessor(
    fitted: Any, X: TableLike, *, columns_required: bool = True, single: bool = False
) -> NDArray[Any]:
    """Return the matrix of finite numbers that a model works on.

    Parameters
    ----------
    fitted : fitted transformer
        What ``learn_preprocessor`` returned.
    X : DataFrame, TableData or array of shape (n, n_features)
        A table with the columns of training.
    columns_required : bool, default True
        Whether a matrix without columns is refused, as it is where no column varies.
    single : bool, default False
        Whether a ``TabularPreprocessor`` gives its numbers in single precision, a number too large for it as infinity.
        Others give them as they do.

    Returns
    -------
    array of shape (n, n_outputs), float64 unless ``single``

    Raises
    ------
    CovariateError
        Where the result is not a matrix of finite numbers.

    Examples
    --------
    >>> from lifemix.preprocessing import apply_preprocessor, learn_preprocessor
    >>> X = [[1.0], [2.0], [3.0]]
    >>> apply_preprocessor(learn_preprocessor(None, X), X).ravel()
    array([1., 2., 3.])

    """
    X = as_input(X)
    ours = isinstance(fitted, (TabularPreprocessor, SequencePreprocessor))
    table: Any
    if isinstance(fitted, TabularPreprocessor):
        table = fitted._matrix(X, single)
    else:
        table = fitted.transform(_table_for(fitted, X))
    if sparse.issparse(table):
        table = table.toarray()
    try:
        matrix = np.asarray(table, dtype=np.float32 if ours and single else np.float64)
    except (TypeError, ValueError) as error:
        raise CovariateError(
            f"X must hold numbers; {error}. Use preprocessor='auto' for categories."
        ) from None
    if matrix.ndim != 2 or len(matrix) == 0 or (columns_required and matrix.shape[1] == 0):
        raise CovariateError(
            f"X must be a table with at least one row and one column that varies; got numbers of shape {matrix.shape}. "
            "Check how rows and columns were selected."
        )
    if not ours:  # ours are finite
        _refuse_not_finite(matrix)
    return matrix


def _refuse_not_finite(matrix: NDArray[Any]) -> None:
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise CovariateError(
            f"X must be finite; got {matrix[row, column]} in row {row}, column {column} ({int(bad.sum())} such). "
            "Use preprocessor='auto', which fills missing values, or fill them yourself."
        )


def _table_for(transformer: Any, X: TableLike) -> Any:
    """Return the table as a transformer takes it: those of others know nothing of ``TableData``."""
    ours = isinstance(transformer, (TabularPreprocessor, SequencePreprocessor, Passthrough))
    return X.frame if isinstance(X, TableData) and not ours else X


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
        Where it does not have two dimensions, or no row.

    Examples
    --------
    >>> from lifemix.preprocessing import shape_of
    >>> shape_of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    (3, 2)

    """
    refuse_masked(X, "X", CovariateError)
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if len(shape) != 2:
        raise CovariateError(wrong_dimensions(shape))
    if shape[0] == 0:
        raise CovariateError(
            "X must have at least one row; got 0. Check how the rows were selected."
        )
    return int(shape[0]), int(shape[1])
