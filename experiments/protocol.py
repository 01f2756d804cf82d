"""The paper's protocol: data, folds, the inner validation part, artificial censoring, horizons; all from one seed.

Every training fold is split once more: the inner validation part decides early stopping, and the settings where they
are chosen without the test fold. Only rows trained on are censored artificially, never the inner validation part or
the test rows: the paper's scores agree with this, and not with censoring the inner part as well
(``docs/decisions.md``). Every model gets the same training rows.

Horizons are quantiles of the event times of the whole data set, censored rows left out, as in the paper's tables
(SUPPORT: 14, 58 and 252 days).

SYNTHETIC's times are rounded to integers, so 0 stands for [0, 0.5): its rows at 0 get the midpoint, 0.25; the three
deaths of FLCHAIN on day 0 get half a day. Otherwise every model would treat events at time 0 in a way of its own (DSM
as intervals, which trains several times slower). The order of all times is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lifemix import datasets
from lifemix._types import FloatArray, IndexArray
from lifemix.datasets import Dataset
from lifemix.errors import SettingError
from lifemix.preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor
from lifemix.splits import (
    EventStratifiedKFold,
    censor_artificially,
    horizons,
    train_validation_split,
)
from lifemix.target import as_target

__all__ = [
    "COMPETING",
    "INNER_FRACTION",
    "SINGLE",
    "SOURCES",
    "DataSource",
    "Fold",
    "Protocol",
    "n_events",
    "paper_preprocessor",
    "read",
    "times_of",
]

INNER_FRACTION = 0.15
SINGLE = (0.25, 0.5, 0.75)
COMPETING = (0.25, 0.5, 0.75, 1.0)
SOURCES = ("support", "metabric", "synthetic", "seer", "flchain", "ebmt", "metabric_causes")
_SYNTHETIC_SEED = 0
_TIME_ZERO = {"synthetic": 0.25, "flchain": 0.5}
Rows = tuple[pd.DataFrame, NDArray[np.void]]


@dataclass(frozen=True)
class DataSource:
    """A data set by name, and the path of the user's file where the package does not ship it."""

    name: str
    path: str | None = None

    def __post_init__(self) -> None:
        if self.name not in SOURCES:
            raise SettingError(
                f"unknown data set; got {self.name!r}, expected one of {', '.join(SOURCES)}."
            )
        if self.name == "seer" and self.path is None:
            raise SettingError(
                "SEER may not be redistributed; give the path of your own file: --data PATH."
            )
        if self.path is not None and self.name not in ("seer", "synthetic"):
            raise SettingError(
                f"--data is for synthetic and seer; got it with {self.name}. Leave it out."
            )


@dataclass(frozen=True)
class Protocol:
    """What is evaluated: a data set, its folds, the levels of artificial censoring, the quantiles of the event times.

    folds: which of the ``n_folds`` folds are used; all of them in a full run.
    run: ``"full"`` or ``"quick"``. rows: if given, only so many rows, drawn at random; for quick runs and tests.
    grid: ``"full"`` or ``"reduced"``, where a model has a smaller grid for large data.
    """

    source: DataSource
    n_folds: int = 5
    folds: tuple[int, ...] = (0, 1, 2, 3, 4)
    levels: tuple[float, ...] = (0.0,)
    quantiles: tuple[float, ...] = SINGLE
    seed: int = 0
    run: str = "full"
    rows: int | None = None
    grid: str = "full"

    def dataset(self) -> Dataset:
        """Return the data; read once per process."""
        return _dataset(self.source, self.rows)

    def fold(self, number: int, level: float) -> Fold:
        """Return one fold with one level of artificial censoring of its training rows."""
        return _fold(self, number, level)


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows of one fold; ``y_train`` is what is trained on, ``y_original`` the same rows before censoring."""

    number: int
    level: float
    X_train: pd.DataFrame
    y_train: NDArray[np.void]
    y_original: NDArray[np.void]
    X_test: pd.DataFrame
    y_test: NDArray[np.void]
    inner_train: Rows
    inner_validation: Rows


def times_of(protocol: Protocol) -> FloatArray:
    """Return the horizons of every event type, ``(n_events, n_quantiles)``."""
    target = as_target(protocol.dataset().y)
    return np.stack(
        [horizons(target, protocol.quantiles, event) for event in range(1, target.n_events + 1)]
    )


def n_events(protocol: Protocol) -> int:
    """Return the number of event types."""
    return as_target(protocol.dataset().y).n_events


def read(source: DataSource, rows: int | None = None) -> Dataset:
    """Return the data of a source, or ``rows`` of its rows drawn at random."""
    data = _read(source)
    target = as_target(data.y)
    moved = replace(
        target, time=np.where(target.time == 0, _TIME_ZERO.get(source.name, 0.0), target.time)
    )
    if rows is None or rows >= len(data.X):
        return replace(data, y=moved.to_array())
    chosen = np.sort(np.random.default_rng(0).permutation(len(data.X))[:rows])
    return replace(data, X=data.X.iloc[chosen], y=moved.take(chosen).to_array())


def paper_preprocessor(name: str) -> TabularPreprocessor:
    """Return the paper's preparation: fixed normal values (SUPPORT), mean or mode, no missing-value indicators.

    One-hot coding and scaling by mean and standard deviation are not stated in the paper.
    """
    fills = dict(SUPPORT_NORMAL_VALUES) if name == "support" else None
    return TabularPreprocessor(fill_values=fills, missing_indicators=False)


def _read(source: DataSource) -> Dataset:
    if source.name == "synthetic":
        return (
            datasets.load_synthetic(source.path)
            if source.path
            else datasets.make_synthetic(30_000, _SYNTHETIC_SEED)
        )
    if source.name == "seer":
        assert source.path is not None
        return datasets.load_seer(source.path, unknown="kept")
    loaded: Dataset = getattr(datasets, f"load_{source.name}")()
    return loaded


@lru_cache(maxsize=4)
def _dataset(source: DataSource, rows: int | None) -> Dataset:
    return read(source, rows)


@lru_cache(maxsize=16)
def _fold(protocol: Protocol, number: int, level: float) -> Fold:
    data = protocol.dataset()
    target = as_target(data.y)
    splitter = EventStratifiedKFold(protocol.n_folds, protocol.seed)
    train, test = list(splitter.split(data.X, data.y))[number]
    seed = np.random.SeedSequence([protocol.seed, number, round(1000 * level)]).generate_state(1)[0]
    original = target.take(train).to_array()
    inside, outside = train_validation_split(original, None, INNER_FRACTION, protocol.seed + number)
    censored = original.copy()
    censored[inside] = censor_artificially(_take(original, inside), level, int(seed))
    X_train = data.X.iloc[train]
    return Fold(
        number,
        level,
        X_train,
        censored,
        original,
        data.X.iloc[test],
        target.take(test).to_array(),
        (X_train.iloc[inside], _take(censored, inside)),
        (X_train.iloc[outside], _take(censored, outside)),
    )


def _take(y: NDArray[np.void], rows: IndexArray) -> NDArray[np.void]:
    return as_target(y).take(rows).to_array()
