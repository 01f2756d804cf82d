"""auton-survival's Deep Survival Machines for tables with one or several event types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lifemix.preprocessing import TabularPreprocessor
from lifemix.target import Target, as_target

from ..auton import AutonDSM

__all__ = ["AutonTable"]

Floats = NDArray[np.float64]
_STEPS = 200


class AutonTable:
    """The settings of ``benchmarks.auton`` on what ``TabularPreprocessor`` gives; times in units of their mean.

    The package gives the net survival of each event type, S = exp(-H). Incidences follow as in ``CauseSpecific``: over
    each step of a grid event m gets the share dH_m / dH of what all events take. An event at time 0 counts as one at
    the first positive event time, as everywhere in lifemix; the package takes no such times.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AutonTable:
        """Learn the preprocessing and the network."""
        target = as_target(y)
        known = np.flatnonzero((target.time > 0) | (target.event > 0))
        self._first = target.time[(target.time > 0) & (target.event > 0)].min()
        self._preprocessor = TabularPreprocessor().fit(X)
        unit = float(target.time.mean())
        self._model = AutonDSM(time_unit=unit, random_state=self.random_state)
        self._model.fit(self._matrix(X)[known], self._positive(target.take(known)))
        self._events = range(1, int(target.event.max()) + 1)
        times = target.time[target.event > 0]
        self._grid = np.unique(np.quantile(times, np.linspace(0, 1, _STEPS)))
        return self

    def _matrix(self, X: Any) -> Floats:
        return np.asarray(self._preprocessor.transform(X), dtype=np.float64)

    def _positive(self, target: Target) -> tuple[Floats, NDArray[np.int64]]:
        return np.maximum(target.time, np.where(target.time > 0, 0.0, self._first)), target.event

    def _net(self, X: Any, times: Floats, event: int) -> Floats:
        """Return the net survival, 1 at time 0."""
        survival = np.ones((len(X), len(times)))
        later = times > 0
        if later.any():
            survival[:, later] = self._model.predict_survival_function(
                self._matrix(X), times[later], event
            )
        return np.clip(survival, np.finfo(np.float64).tiny, 1.0)

    def predict_survival_function(self, X: Any, times: ArrayLike) -> Floats:
        """Return the probability that nothing has happened by each time."""
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        return np.prod([self._net(X, wanted, event) for event in self._events], axis=0)

    def predict_cumulative_incidences(self, X: Any, times: ArrayLike) -> Floats:
        """Return the probability of each event by each time."""
        wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if len(self._events) == 1:
            return 1 - self.predict_survival_function(X, wanted)[None]
        grid = np.unique(np.concatenate([[0.0], self._grid, wanted]))
        hazards = np.stack([-np.log(self._net(X, grid, event)) for event in self._events])
        steps = np.diff(hazards, axis=2)
        total = steps.sum(axis=0)
        lost = -np.diff(np.exp(-hazards.sum(axis=0)), axis=1)
        share = np.divide(steps, total, out=np.zeros_like(steps), where=total > 0)
        incidences = np.concatenate(
            [np.zeros((*share.shape[:2], 1)), np.cumsum(share * lost, axis=2)], axis=2
        )
        return incidences[:, :, np.searchsorted(grid, wanted)]

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike, event: int = 1) -> Floats:
        """Return the probability of one event by each time."""
        return self.predict_cumulative_incidences(X, times)[event - 1]

    def predict(self, X: Any) -> Floats:
        """Return minus the mean survival time up to the last event."""
        grid = np.append(0.0, self._grid)
        return -np.trapezoid(self.predict_survival_function(X, grid), grid, axis=1)

    def log_likelihood(self, X: Any, y: Any) -> float:
        """Return the sum over rows."""
        return self._model.log_likelihood(self._matrix(X), self._positive(as_target(y)))
