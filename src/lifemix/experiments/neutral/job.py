"""One model on one fold of one table of a comparison."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import lifemix

from ... import metrics
from ...errors import DivergedError, InputError
from ...target import as_target
from ..learners import learner
from ..provenance import provenance
from ..records import Key, Record, key_of, rounded
from .folder import NeutralTable, read_neutral_table

__all__ = ["NeutralJob", "fold_scores"]

_LAST = 0.8  # quantile of the times of a table to which the Brier score is integrated


@dataclass(frozen=True)
class NeutralJob:
    """A model with its first setting on one fold."""

    folder: Path
    table: str
    model: str
    fold: int

    def keys(self) -> list[Key]:
        """Return the key of its one record."""
        return [key_of(self.table, self.model, self._setting(), 0.0, self.fold, 0, "full")]

    def run(self) -> Iterator[Record]:
        """Fit to the training rows, and score on the test rows; where the model cannot be fitted, NaN."""
        table = _table(self.folder, self.table)
        test = table.test_rows[self.fold]
        train = np.setdiff1d(np.arange(len(table.y)), test)
        model = learner(self.model).build(self.table, self._setting(), self.fold)
        start = time.process_time()
        try:
            model.fit(table.X.iloc[train], table.y[train])
            scores = fold_scores(model, table.X.iloc[test], table.y[train], table.y[test], table.y)
        except (DivergedError, InputError):
            scores = {"ibs": np.nan, "c": np.nan}
        seconds = rounded(time.process_time() - start, 3)
        yield Record(
            data=self.table,
            model=self.model,
            setting=self._setting(),
            censoring=0.0,
            fold=self.fold,
            seed=0,
            run="full",
            test={name: [[rounded(value)]] for name, value in scores.items()},
            seconds=seconds,
            version=lifemix.__version__,
            made=provenance(),
        )

    def _setting(self) -> dict[str, Any]:
        return dict(learner(self.model).settings(self.table)[0])


@lru_cache(maxsize=4)
def _table(folder: Path, name: str) -> NeutralTable:
    return read_neutral_table(folder, name)


def fold_scores(model: Any, X: Any, y_train: Any, y_test: Any, y: Any) -> dict[str, float]:
    """Return the integrated Brier score from 0 to the 80 % quantile of the times of a table, and Harrell's C.

    y: the target of all rows, so that every fold is integrated to the same time (or to the last one that the fold has).
    """
    follow_up = min(as_target(y_train).time.max(), as_target(y_test).time.max())
    last = np.nextafter(min(np.quantile(as_target(y).time, _LAST), follow_up), 0)
    measures = metrics.evaluate(model, y_train, X, y_test, last, measures=["integrated_brier"])
    return {"ibs": float(measures["value"].item()), "c": float(metrics.concordance(y_test, model.predict(X)))}
