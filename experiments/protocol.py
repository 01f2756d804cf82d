"""The paper's protocol: data, folds, inner validation rows, artificial censoring and horizons.

Every training fold is split once more. The inner validation rows decide when training stops, and which settings are
selected without the test fold. Artificial censoring applies only to the rows that models are trained on, never to the
inner validation rows or the test rows; only this agrees with the paper's scores
(``docs/decisions/readings-of-the-paper.md``). Every model gets the same training rows.

Horizons are quantiles of the event times of the whole data set, as in the paper's tables (SUPPORT: 14, 58, 252 days).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifemix import datasets
from lifemix._types import FloatArray
from lifemix.datasets import Dataset
from lifemix.errors import SettingError
from lifemix.splits import (
    EventStratifiedKFold,
    censor_artificially,
    horizons,
    train_validation_split,
)
from lifemix.target import as_target

from .records import Frame

__all__ = ["DATA_SETS", "INNER_FRACTION", "DataSet", "Fold", "Protocol", "Rows"]

INNER_FRACTION = 0.15
Rows = tuple[Frame, NDArray[np.void]]


@dataclass(frozen=True)
class DataSet:
    """A data set of the experiments.

    load: reads the data; the argument is the path of the user's file, if there is one.
    levels: shares of the training events that are censored artificially. quantiles: of the event times, the horizons.
    zero_time: replaces times of 0, which models treat differently. SYNTHETIC's times are rounded, so its 0 stands for
    [0, 0.5); three subjects of FLCHAIN died on day 0.
    """

    title: str
    load: Callable[[str | None], Dataset]
    n_folds: int = 5
    levels: tuple[float, ...] = (0.0,)
    quantiles: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    competing: bool = True
    zero_time: float = 0.0
    quick_rows: int | None = None


def _synthetic(path: str | None) -> Dataset:
    return datasets.load_synthetic(path) if path else datasets.make_synthetic(30_000, 0)


def _seer(path: str | None) -> Dataset:
    if path is None:
        raise SettingError(
            "SEER may not be redistributed; give the path of your own file: --data PATH."
        )
    return datasets.load_seer(path, unknown="kept")


_SINGLE_RISK: dict[str, Any] = {
    "levels": (0.0, 0.25, 0.5),
    "quantiles": (0.25, 0.5, 0.75),
    "competing": False,
}
DATA_SETS = {
    "support": DataSet("SUPPORT", lambda path: datasets.load_support(), **_SINGLE_RISK),
    "metabric": DataSet("METABRIC", lambda path: datasets.load_metabric(), 10, **_SINGLE_RISK),
    "synthetic": DataSet("SYNTHETIC", _synthetic, zero_time=0.25, quick_rows=6000),
    "seer": DataSet("SEER", _seer, quick_rows=6000),
    "flchain": DataSet("Free light chains", lambda path: datasets.load_flchain(), zero_time=0.5),
    "ebmt": DataSet("EBMT transplants", lambda path: datasets.load_ebmt()),
    "metabric_causes": DataSet(
        "METABRIC by cause of death", lambda path: datasets.load_metabric_causes()
    ),
}


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows of one fold; ``y_original`` are the training rows before artificial censoring."""

    number: int
    level: float
    X_train: Frame
    y_train: NDArray[np.void]
    y_original: NDArray[np.void]
    X_test: Frame
    y_test: NDArray[np.void]
    inner_train: Rows
    inner_validation: Rows


@dataclass(frozen=True)
class Protocol:
    """What is evaluated: a data set, its folds, and levels of artificial censoring.

    path: the user's own file (SYNTHETIC, SEER). rows: if given, only so many rows, drawn at random.
    full_grid: select from all of the paper's settings with competing risks as well.
    """

    data: str
    path: str | None = None
    folds: tuple[int, ...] = ()
    levels: tuple[float, ...] = (0.0,)
    n_folds: int = 5
    run: str = "full"
    rows: int | None = None
    full_grid: bool = False
    seed: int = 0

    @classmethod
    def of(
        cls, data: str, quick: bool = False, path: str | None = None, full_grid: bool = False
    ) -> Protocol:
        """Return the protocol of a full or a quick run on a data set."""
        info = DATA_SETS[data]
        if path is not None and data not in ("seer", "synthetic"):
            raise SettingError(f"--data is for synthetic and seer; got it with {data}. Omit it.")
        if quick:
            return cls(data, path, (0, 1), (0.0,), info.n_folds, "quick", info.quick_rows)
        folds = tuple(range(info.n_folds))
        return cls(data, path, folds, info.levels, info.n_folds, full_grid=full_grid)

    def dataset(self) -> Dataset:
        """Return the data; they are read once per process."""
        return _dataset(self.data, self.path, self.rows)

    def fold(self, number: int, level: float) -> Fold:
        """Return one fold with one level of artificial censoring of its training rows."""
        return _fold(self, number, level)

    def horizons(self) -> FloatArray:
        """Return the horizons of every event type, ``[n_events, n_quantiles]``."""
        target = as_target(self.dataset().y)
        quantiles = DATA_SETS[self.data].quantiles
        return np.stack(
            [horizons(target, quantiles, event) for event in range(1, target.n_events + 1)]
        )


@lru_cache(maxsize=4)
def _dataset(name: str, path: str | None, rows: int | None) -> Dataset:
    data = DATA_SETS[name].load(path)
    target = as_target(data.y)
    time = np.where(target.time == 0, DATA_SETS[name].zero_time, target.time)
    target = replace(target, time=time)
    if rows is None or rows >= len(data.X):
        return replace(data, y=target.to_array())
    drawn = np.sort(np.random.default_rng(0).permutation(len(data.X))[:rows])
    return replace(data, X=data.X.iloc[drawn], y=target.take(drawn).to_array())


@lru_cache(maxsize=16)
def _fold(protocol: Protocol, number: int, level: float) -> Fold:
    data = protocol.dataset()
    splitter = EventStratifiedKFold(protocol.n_folds, protocol.seed)
    train, test = list(splitter.split(data.X, data.y))[number]
    original = data.y[train]
    inside, outside = train_validation_split(original, None, INNER_FRACTION, protocol.seed + number)
    seed = np.random.SeedSequence([protocol.seed, number, round(1000 * level)]).generate_state(1)[0]
    censored = original.copy()
    censored[inside] = censor_artificially(original[inside], level, int(seed))
    X_train = data.X.iloc[train]
    return Fold(
        number,
        level,
        X_train,
        censored,
        original,
        data.X.iloc[test],
        data.y[test],
        (X_train.iloc[inside], censored[inside]),
        (X_train.iloc[outside], censored[outside]),
    )
