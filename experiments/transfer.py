"""Transfer: what was learned for event 1 on one half of SYNTHETIC serves a Cox model for event 2 on the other half.

The paper's table. From the first half the rows with an observed event 2 are dropped, from the second those with an
observed event 1, so that each has one event type. Learners see the first half, those without labels its covariates
alone; a linear Cox model is fitted to the representation of the second half and measured by Harrell's C, in five folds.
Widths 25, 50, 100 and one or two hidden layers, selected by the test folds (``paper``) or on an inner part of the
training rows of the second half (``nested``).

``raw`` has the covariates themselves, ``truth`` the mean m_2 of the distribution that the times were drawn from: no
function of the covariates orders the subjects better for event 2, so it is the upper bound but for the dropped rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

import lifemix
from lifemix._types import FloatArray, IndexArray
from lifemix.baselines import CoxPH, DeepHit, DeepSurv
from lifemix.datasets.synthetic import synthetic_means
from lifemix.estimators import DeepSurvivalMachines
from lifemix.estimators.settings import ONE_NETWORK
from lifemix.metrics import concordance
from lifemix.preprocessing import TableLike
from lifemix.splits import EventStratifiedKFold, train_validation_split
from lifemix.target import TargetLike, as_target, make_target

from .protocol import INNER_FRACTION, DataSource, Protocol, Rows
from .provenance import provenance
from .records import Key, Record, Setting, key_of, rounded
from .representations import NNMF, KernelPCA
from .selection import Selected, cells_of, summarise
from .study import Study, Summary
from .vae import VAE

__all__ = ["REPRESENTATIONS", "TransferJob", "halves", "transfer_study"]

_UPPER_BOUND = (
    "The upper bound is “True mean time”: subjects ranked by the true mean time of event 2. On the original file it is "
    "0.758 over all rows, 0.751 to 0.760 over random halves, and 0.759 with the best mixture of both events’ true "
    "rates. The paper prints 0.7724 for DSM, which is above it, whichever way the rows are dropped."
)
_RIDGE = 0.01  # keeps the Cox model finite where columns of a representation are collinear


class _Learner(Interface):
    """What learns a representation."""

    def fit(self, X: TableLike, y: TargetLike) -> Any: ...

    def transform(self, X: TableLike) -> FloatArray: ...


class _Covariates:
    """The covariates themselves as a representation."""

    def fit(self, X: TableLike, y: TargetLike) -> _Covariates:
        return self

    def transform(self, X: TableLike) -> FloatArray:
        return np.asarray(X, dtype=np.float64)


class _TrueMean(_Covariates):
    """The true mean time of event 2."""

    def transform(self, X: TableLike) -> FloatArray:
        return synthetic_means(np.asarray(X, dtype=np.float64))[:, 1:]


def _dsm(layers: int, nodes: int, seed: int) -> _Learner:
    return DeepSurvivalMachines.paper(hidden=(nodes,) * layers, random_state=seed)


def _members(layers: int, nodes: int, seed: int) -> _Learner:
    """Exact likelihood, and four members that share the nodes: as many columns as the others have."""
    settings = {**ONE_NETWORK, "n_members": 4, "hidden": (max(1, nodes // 4),) * layers}
    return DeepSurvivalMachines(**settings, random_state=seed)


def _deepsurv(layers: int, nodes: int, seed: int) -> _Learner:
    return DeepSurv(hidden=(nodes,) * layers, random_state=seed)


def _deephit(layers: int, nodes: int, seed: int) -> _Learner:
    return DeepHit(layers, nodes, layers, nodes, random_state=seed)


def _vae(layers: int, nodes: int, seed: int) -> _Learner:
    return VAE(nodes, hidden=(64,) * layers, random_state=seed)


_NODES = (25, 50, 100)
REPRESENTATIONS: Mapping[
    str, tuple[Callable[[int, int, int], _Learner], tuple[int, ...], tuple[int, ...]]
] = {
    "tuned": (_members, (1, 2), _NODES),
    "dsm": (_dsm, (1, 2), _NODES),
    "deepsurv": (_deepsurv, (1, 2), _NODES),
    "deephit": (_deephit, (1, 2), _NODES),
    "vae": (_vae, (1, 2), _NODES),
    "kpca": (lambda layers, nodes, seed: KernelPCA(nodes, random_state=seed), (1,), _NODES),
    "nnmf": (lambda layers, nodes, seed: NNMF(nodes, random_state=seed), (1,), _NODES),
    "raw": (lambda layers, nodes, seed: _Covariates(), (), ()),
    "truth": (lambda layers, nodes, seed: _TrueMean(), (), ()),
}
"""How each learner is built from hidden layers, nodes and a seed, and the layers and nodes to select from."""


def transfer_study(quick: bool = False, path: str | None = None) -> Study:
    """Return the experiment, with the user's original file where a path is given."""
    rows, run = (6000, "quick") if quick else (None, "full")
    protocol = Protocol(DataSource("synthetic", path), quantiles=(), run=run, rows=rows)
    fewer = (
        ()
        if rows is None
        else (f"{rows:,} rows of the data, drawn at random; one layer of 50 nodes.",)
    )
    return Study(
        experiment="transfer",
        place="transfer",
        data="transfer",
        protocol=protocol,
        models=tuple(REPRESENTATIONS),
        jobs=lambda wanted: _jobs(protocol, wanted),
        summarise=_summary,
        notes=(*fewer, _UPPER_BOUND),
    )


@dataclass(frozen=True)
class TransferJob:
    """One learner with one setting: fitted once, its representation used in all folds."""

    protocol: Protocol
    model: str
    setting: Setting

    def keys(self) -> list[Key]:
        """Return the keys of the records that the job gives."""
        p = self.protocol
        return [
            key_of("transfer", self.model, self.setting, 0.0, fold, p.seed, p.run)
            for fold in p.folds
        ]

    def run(self) -> Iterator[Record]:
        """Learn the representation and yield one record per fold."""
        protocol = self.protocol
        first, (X, y) = halves(protocol)
        make, _, _ = REPRESENTATIONS[self.model]
        start = time.process_time()
        learner = make(
            self.setting.get("layers", 0), self.setting.get("nodes", 0), protocol.seed
        ).fit(*first)
        codes = np.asarray(learner.transform(X))
        seconds = (time.process_time() - start) / len(protocol.folds)
        splits = list(EventStratifiedKFold(protocol.n_folds, protocol.seed).split(X, y))
        for fold in protocol.folds:
            train, test = splits[fold]
            inside, outside = train_validation_split(y, train, INNER_FRACTION, protocol.seed + fold)
            yield Record(
                data="transfer",
                model=self.model,
                setting=self.setting,
                censoring=0.0,
                fold=fold,
                seed=protocol.seed,
                run=protocol.run,
                test={"concordance": [[_concordance(codes, y, train, test)]]},
                inner={"concordance": [[_concordance(codes, y, inside, outside)]]},
                seconds=rounded(seconds, 3),
                version=lifemix.__version__,
                made=provenance(),
            )


def _jobs(protocol: Protocol, wanted: Sequence[str] | None) -> list[TransferJob]:
    return [
        TransferJob(protocol, name, setting)
        for name, (_, layers, nodes) in REPRESENTATIONS.items()
        if not wanted or name in wanted
        for setting in _settings(layers, nodes, protocol.run)
    ]


def _settings(layers: tuple[int, ...], nodes: tuple[int, ...], run: str) -> list[Setting]:
    if not nodes:
        return [{}]
    if run == "quick":
        return [{"layers": 1, "nodes": 50}]
    return [{"layers": count, "nodes": width} for count, width in product(layers, nodes)]


@lru_cache(maxsize=2)
def halves(protocol: Protocol) -> tuple[Rows, Rows]:
    """Return covariates and target of each half: the first with event 1 alone, the second with event 2, coded 1."""
    data = protocol.dataset()
    target = as_target(data.y)
    order = np.random.default_rng(protocol.seed).permutation(len(target))
    parts = []
    for event, rows in zip((1, 2), np.array_split(order, 2), strict=True):
        kept = np.sort(rows[np.isin(target.event[rows], (0, event))])
        parts.append(
            (data.X.iloc[kept], make_target(target.time[kept], target.event[kept] == event))
        )
    return parts[0], parts[1]


def _concordance(
    codes: FloatArray, y: NDArray[np.void], train: IndexArray, test: IndexArray
) -> float:
    """Return Harrell's C on the test rows of a Cox model fitted to the training rows."""
    risk = CoxPH(penalty=_RIDGE).fit(codes[train], y[train]).predict(codes[test])
    return rounded(concordance(y[test], risk))


def _summary(records: Sequence[Record], selection: str) -> Summary:
    """Return the cells of the selected shapes, and of every shape by itself with ``<layers>x<nodes>`` as selection."""
    cells, selected = summarise(records, (1.0,), selection)
    shapes: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.setting:
            shape = f"{record.setting['layers']}x{record.setting['nodes']}"
            shapes.setdefault((record.model, shape), []).append(record)
    for (model, shape), own in shapes.items():
        cells += cells_of(Selected("transfer", model, 0.0, shape, tuple(own)), (1.0,))
    return [replace(cell, event=2) for cell in cells], selected
