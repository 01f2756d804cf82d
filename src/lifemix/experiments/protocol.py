"""The paper's protocol: folds, the inner validation part, artificial censoring, horizons; all from one seed.

Every training fold is split once more: on the inner validation part training stops early, and settings are chosen where
they are chosen without a look at the test fold. Artificial censoring is for the rows trained on: the inner part and the
test rows are never touched. The paper's scores of the models that hold rows out agree with this, and not with censoring
of the inner part as well (``docs/decisions.md``). Every model gets the same training rows.

Horizons are quantiles of the event times of the whole data set, censored rows left out, as the paper's tables have them
(SUPPORT: 14, 58 and 252 days).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import Dataset
from ..splits import EventStratifiedKFold, censor_artificially, horizons, train_validation_split
from ..target import Target, as_target
from .data import Source, read

__all__ = ["COMPETING", "INNER_FRACTION", "SINGLE", "Fold", "Protocol", "n_events", "times_of"]

INNER_FRACTION = 0.15
SINGLE = (0.25, 0.5, 0.75)
COMPETING = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Protocol:
    """What is evaluated: a data set, its folds, the levels of artificial censoring, the quantiles of the event times.

    folds: the numbers of those of the ``n_folds`` folds that are used; all of them in a full run.
    rows: where given, only so many rows, drawn at random; for quick runs and tests.
    grid: ``"full"`` or ``"reduced"``, where a model has a smaller grid for large data.
    """

    source: Source
    n_folds: int = 5
    folds: tuple[int, ...] = (0, 1, 2, 3, 4)
    levels: tuple[float, ...] = (0.0,)
    quantiles: tuple[float, ...] = SINGLE
    seed: int = 0
    run: str = "full"
    rows: int | None = None
    grid: str = "full"

    def dataset(self) -> Dataset:
        """Return the data; read once in a process."""
        return _dataset(self.source, self.rows)

    def fold(self, number: int, level: float) -> Fold:
        """Return one fold with one level of artificial censoring of its training rows."""
        return _fold(self, number, level)


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows of one fold; ``y_train`` is what is trained on, ``y_original`` the same rows before censoring."""

    number: int
    level: float
    X_train: Any
    y_train: NDArray[np.void]
    y_original: NDArray[np.void]
    X_test: Any
    y_test: NDArray[np.void]
    inner_train: tuple[Any, NDArray[np.void]]
    inner_validation: tuple[Any, NDArray[np.void]]


def times_of(protocol: Protocol) -> NDArray[np.float64]:
    """Return the horizons, for each kind of event its own, ``(n_events, n_quantiles)``."""
    target = as_target(protocol.dataset().y)
    return np.stack([horizons(target, protocol.quantiles, event) for event in range(1, target.n_events + 1)])


def n_events(protocol: Protocol) -> int:
    """Return the number of kinds of event."""
    return as_target(protocol.dataset().y).n_events


@lru_cache(maxsize=4)
def _dataset(source: Source, rows: int | None) -> Dataset:
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


def _take(y: NDArray[np.void], rows: NDArray[np.intp]) -> NDArray[np.void]:
    target: Target = as_target(y).take(rows)
    return target.to_array()
