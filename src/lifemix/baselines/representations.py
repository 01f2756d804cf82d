"""Kernel PCA and non-negative matrix factorisation of scikit-learn as learners of a representation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import decomposition
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from ..errors import SettingError
from ._checks import Floats
from ._representation import Representation

__all__ = ["NNMF", "KernelPCA"]


class KernelPCA(Representation):
    """Principal components in the feature space of a kernel.

    The kernel matrix is square in the rows, so that components are learnt from at most ``max_rows`` rows, drawn by the
    seed; any number of rows can be transformed.

    n_components, kernel, gamma: as in scikit-learn (gamma None: one over the number of columns).
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

    def _fit(self, x: Floats) -> None:
        if self.n_components > min(len(x), self.max_rows):
            raise SettingError(
                f"n_components must be at most the rows that it learns from, {min(len(x), self.max_rows)}; got "
                f"{self.n_components}. Lower it, or raise max_rows."
            )
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(len(x))[: self.max_rows])
        self._components = decomposition.KernelPCA(
            self.n_components, kernel=self.kernel, gamma=self.gamma, random_state=int(rng.integers(2**31))
        ).fit(x[rows])

    def _transform(self, x: Floats) -> Floats:
        return np.asarray(self._components.transform(x), dtype=np.float64)


class NNMF(Representation):
    """Non-negative factors of the table, whose columns are first brought to [0, 1].

    The smallest and largest training value of a column become 0 and 1; new values beyond them count as 0 or 1, since
    the factorisation needs values that are not negative.

    n_components, max_iter: as in scikit-learn's ``NMF``.
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

    def _fit(self, x: Floats) -> None:
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        factors = decomposition.NMF(self.n_components, init="random", max_iter=self.max_iter, random_state=seed)
        self._factors = make_pipeline(MinMaxScaler(clip=True), factors).fit(x)

    def _transform(self, x: Floats) -> Floats:
        return np.asarray(self._factors.transform(x), dtype=np.float64)
