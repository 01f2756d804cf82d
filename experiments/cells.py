"""One number of a result table: published and measured numbers have the same form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Cell", "Place"]

Place = tuple[str, str, int, float, float]
"""Data set, measure, event type, horizon and level of artificial censoring."""


@dataclass(frozen=True)
class Cell:
    """The mean of a measure over the folds, and its standard error.

    model: ``"dsm"`` (the paper's settings), ``"default"`` (ours), ``"cph"``, ``"rsf"``, ``"deepsurv"``, ...
    measure: ``"ctd"``, ``"brier"`` (censoring distribution G from the training rows), ``"brier_original"`` (G from
    these rows before artificial censoring), ``"concordance"``, ``"seconds"``, ``"parameters"``.
    horizon: quantile of the event times, 0.25 to 1. censoring: share of the training events that were censored
    artificially: 0, 0.25 or 0.5.
    selection: ``"paper"`` (best cross-validated score), ``"nested"`` (inner validation part), ``"fixed"`` (one
    setting), ``"published"`` (the paper's own number); ``"<layers>x<nodes>"`` and ``"n=<rows>"`` mark the cells of one
    network shape (transfer) and of one number of rows (scaling).
    error: standard error of the mean, NaN where there is one fold. values: one per fold, empty where unknown.
    """

    data: str
    model: str
    measure: str
    event: int
    horizon: float
    censoring: float
    selection: str
    mean: float
    error: float
    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, place: Place, model: str, selection: str, values: Sequence[float]) -> Cell:
        """Return the cell of the values of all folds."""
        error = (
            float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
        )
        data, measure, event, horizon, censoring = place
        numbers = tuple(float(value) for value in values)
        return cls(
            data,
            model,
            measure,
            event,
            horizon,
            censoring,
            selection,
            float(np.mean(values)),
            error,
            numbers,
        )

    @property
    def place(self) -> Place:
        """Where the cell stands, whichever model it is of."""
        return self.data, self.measure, self.event, self.horizon, self.censoring

    @property
    def is_growth(self) -> bool:
        """Whether it is the time for one number of rows."""
        return self.selection.startswith("n=")

    @property
    def is_shape(self) -> bool:
        """Whether it is of one network shape, not of a chosen one."""
        return self.selection[:1].isdigit()
