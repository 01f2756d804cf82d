"""Representations learned from the covariates alone: the rivals of the experiment on transfer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import decomposition
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from lifemix._types import FloatArray
from lifemix.errors import SettingError
from lifemix.preprocessing import apply_preprocessor, learn_preprocessor, shape_of

__all__ = ["NNMF", "KernelPCA", "Representation"]


class Representation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the learners: ``fit(X)``, then ``transform(X)`` of shape ``(n, n_components)``."""

    preprocessor: Any
    n_components: int
    n_features_in_: int

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the representation.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The covariates.
        y : object, default None
            Ignored.

        Returns
        -------
        Representation
            The learner itself.

        Raises
        ------
        SettingError
            If ``n_components`` is below 1.
        """
        if self.n_components < 1:
            raise SettingError(f"n_components must be at least 1; got {self.n_components!r}.")
        _, columns = shape_of(X)
        self.preprocessor_ = learn_preprocessor(self.preprocessor, X)
        self._fit(apply_preprocessor(self.preprocessor_, X))
        self.n_features_in_ = columns
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the representation of new rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The covariates.

        Returns
        -------
        ndarray of shape (n, n_components)
            One row per row of X.
        """
        check_is_fitted(self, "n_features_in_")
        shape_of(X)
        return self._transform(apply_preprocessor(self.preprocessor_, X))

    def _fit(self, x: FloatArray) -> None:
        raise NotImplementedError

    def _transform(self, x: FloatArray) -> FloatArray:
        raise NotImplementedError


class KernelPCA(Representation):
    """Principal components in the feature space of a kernel (scikit-learn's).

    The kernel matrix is quadratic in the rows, so the components are learned from at most ``max_rows`` rows; any
    number of rows can be transformed.

    Parameters
    ----------
    n_components : int, default 50
        Number of components.
    kernel : str, default "rbf"
        Kernel, as in scikit-learn.
    gamma : float or None, default None
        Coefficient of the kernel; None is one over the number of columns.
    max_rows : int, default 2000
        Largest number of rows to learn from, drawn at random.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : transformer, "auto" or None, default "auto"
        As in ``DeepSurvivalMachines``.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.representations import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> KernelPCA(n_components=4).fit(X).transform(X).shape
    (60, 4)
    """

    def __init__(
        self,
        n_components: int = 50,
        kernel: str = "rbf",
        gamma: float | None = None,
        max_rows: int = 2000,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.max_rows = max_rows
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _fit(self, x: FloatArray) -> None:
        if self.n_components > min(len(x), self.max_rows):
            raise SettingError(
                f"n_components must be at most the rows that it learns from, {min(len(x), self.max_rows)}; got "
                f"{self.n_components}. Lower it, or raise max_rows."
            )
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(len(x))[: self.max_rows])
        self._components = decomposition.KernelPCA(
            self.n_components,
            kernel=self.kernel,
            gamma=self.gamma,
            random_state=int(rng.integers(2**31)),
        ).fit(x[rows])

    def _transform(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._components.transform(x), dtype=np.float64)


class NNMF(Representation):
    """Non-negative matrix factorisation (scikit-learn's ``NMF``) of the columns scaled to [0, 1].

    The smallest and the largest training value of a column become 0 and 1; values of new rows are clipped to them.

    Parameters
    ----------
    n_components : int, default 10
        Number of factors.
    max_iter : int, default 1000
        Largest number of iterations.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : transformer, "auto" or None, default "auto"
        As in ``DeepSurvivalMachines``.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.representations import NNMF
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> bool((NNMF(n_components=2).fit(X).transform(X) >= 0).all())
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        max_iter: int = 1000,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _fit(self, x: FloatArray) -> None:
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        factors = decomposition.NMF(
            self.n_components, init="random", max_iter=self.max_iter, random_state=seed
        )
        self._factors = make_pipeline(MinMaxScaler(clip=True), factors).fit(x)

    def _transform(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._factors.transform(x), dtype=np.float64)
