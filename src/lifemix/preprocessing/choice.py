"""From the table X of the user to a matrix of numbers: the option ``preprocessor`` that all models share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ..errors import CovariateError, SettingError
from .columns import Floats
from .frames import as_frame, match_columns
from .tabular import TabularPreprocessor

__all__ = ["Passthrough", "apply_preprocessor", "learn_preprocessor", "shape_of"]


class Passthrough:
    """The table is already numbers; only its columns are matched with those of training."""

    def __init__(self, names: list[str], named: bool) -> None:
        self.names, self.named = names, named

    @classmethod
    def of(cls, X: Any) -> Passthrough:
        """Learn the columns of the training table."""
        frame, named = as_frame(X)
        return cls([str(name) for name in frame.columns], named)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns."""
        return np.array(self.names, dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the columns in the order of training."""
        frame, named = as_frame(X)
        return match_columns(frame, named, self.names, self.named, "the model").to_numpy()


def learn_preprocessor(preprocessor: Any, X: Any) -> Any:
    """Return what turns tables into numbers, fitted to ``X``."""
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
    return clone(preprocessor).fit(X)


def apply_preprocessor(fitted: Any, X: Any, *, columns_required: bool = True) -> Floats:
    """Return the finite float64 matrix (n, features) that a model works on; some can do with no column at all."""
    table = fitted.transform(X)
    if sparse.issparse(table):
        table = table.toarray()
    try:
        matrix = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CovariateError(f"X must hold numbers; {error}. Use preprocessor='auto' for categories.") from None
    if matrix.ndim != 2 or len(matrix) == 0 or (columns_required and matrix.shape[1] == 0):
        raise CovariateError(
            f"X must be a table with at least one row and one column that varies; got numbers of shape {matrix.shape}. "
            "Check how rows and columns were selected."
        )
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise CovariateError(
            f"X must be finite; got {matrix[row, column]} in row {row}, column {column} ({int(bad.sum())} such). "
            "Use preprocessor='auto', which fills missing values, or fill them yourself."
        )
    return matrix


def shape_of(X: Any) -> tuple[int, int]:
    """Return the number of rows and columns of a table."""
    shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
    if len(shape) != 2:
        raise CovariateError(
            f"X must be a table of two dimensions; got shape {tuple(shape)}. Reshape your data: X.reshape(-1, 1) if it "
            "is one column, X.reshape(1, -1) if it is one row."
        )
    if shape[0] == 0:
        raise CovariateError("X must have at least one row; got 0. Check how the rows were selected.")
    return int(shape[0]), int(shape[1])
