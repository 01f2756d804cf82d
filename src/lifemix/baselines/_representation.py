"""What the learners of a representation share; they see X alone."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import SettingError
from ._checks import Floats
from ._table import apply_preprocessor, learn_preprocessor, shape_of

__all__ = ["Representation"]


class Representation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class: ``fit(X)``, then ``transform(X)`` of shape (n, n_components)."""

    preprocessor: Any
    n_components: int
    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the table ``X``; ``y`` is not looked at."""
        if self.n_components < 1:
            raise SettingError(f"n_components must be at least 1; got {self.n_components!r}.")
        _, columns = shape_of(X)
        self.preprocessor_ = learn_preprocessor(self.preprocessor, X)
        self._fit(apply_preprocessor(self.preprocessor_, X))
        self.n_features_in_ = columns
        return self

    def transform(self, X: Any) -> Floats:
        """Return the representation of shape (n, n_components)."""
        check_is_fitted(self, "n_features_in_")
        shape_of(X)
        return self._transform(apply_preprocessor(self.preprocessor_, X))

    def _fit(self, x: Floats) -> None:
        raise NotImplementedError

    def _transform(self, x: Floats) -> Floats:
        raise NotImplementedError
