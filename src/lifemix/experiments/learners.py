"""The learners of a representation in the experiment on transfer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import baselines
from ..datasets.synthetic import synthetic_means
from ..estimators import DeepSurvivalMachines

__all__ = ["LEARNERS"]

Floats = NDArray[np.float64]


class _Covariates:
    """The covariates themselves as a representation."""

    def fit(self, X: Any, y: Any) -> _Covariates:
        return self

    def transform(self, X: Any) -> Floats:
        return np.asarray(X, dtype=np.float64)


class _TrueMean(_Covariates):
    """The true mean time of event 2."""

    def transform(self, X: Any) -> Floats:
        return synthetic_means(np.asarray(X, dtype=np.float64))[:, 1:]


def _dsm(layers: int, nodes: int, seed: int) -> Any:
    return DeepSurvivalMachines.paper(hidden=(nodes,) * layers, random_state=seed)


def _lifemix(layers: int, nodes: int, seed: int) -> Any:
    """Exact likelihood, and four members that share the nodes among them: as many columns as the others have."""
    return DeepSurvivalMachines(hidden=(max(1, nodes // 4),) * layers, n_members=4, random_state=seed)


def _deepsurv(layers: int, nodes: int, seed: int) -> Any:
    return baselines.DeepSurv(hidden=(nodes,) * layers, random_state=seed)


def _deephit(layers: int, nodes: int, seed: int) -> Any:
    return baselines.DeepHit(layers, nodes, layers, nodes, random_state=seed)


def _vae(layers: int, nodes: int, seed: int) -> Any:
    return baselines.VAE(nodes, hidden=(64,) * layers, random_state=seed)


def _kpca(layers: int, nodes: int, seed: int) -> Any:
    return baselines.KernelPCA(nodes, random_state=seed)


def _nnmf(layers: int, nodes: int, seed: int) -> Any:
    return baselines.NNMF(nodes, random_state=seed)


LEARNERS: Mapping[str, tuple[Callable[[int, int, int], Any], tuple[int, ...], tuple[int, ...]]] = {
    "lifemix": (_lifemix, (1, 2), (25, 50, 100)),
    "dsm": (_dsm, (1, 2), (25, 50, 100)),
    "deepsurv": (_deepsurv, (1, 2), (25, 50, 100)),
    "deephit": (_deephit, (1, 2), (25, 50, 100)),
    "vae": (_vae, (1, 2), (25, 50, 100)),
    "kpca": (_kpca, (1,), (25, 50, 100)),
    "nnmf": (_nnmf, (1,), (25, 50, 100)),
    "raw": (lambda layers, nodes, seed: _Covariates(), (), ()),
    "truth": (lambda layers, nodes, seed: _TrueMean(), (), ()),
}
"""Of each learner how it is built from hidden layers, nodes and a seed, and the layers and nodes to choose from."""
