"""The models without covariates: the Kaplan-Meier and Aalen-Johansen curves, the floor for every other model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import CovariateError
from ..preprocessing import shape_of
from ..state import ByEvent, FloatArray, StateKind, register_model
from ..target import Target
from ._checks import Floats
from ._risk_sets import ObservedRisk
from ._steps import step_values
from .base import Baseline

__all__ = ["AalenJohansen", "KaplanMeier"]


@register_model
class AalenJohansen(Baseline):
    """The same incidences for all subjects: ``F_m(t) = sum over u <= t of S(u-) d_m(u) / n(u)``.

    S is the Kaplan-Meier curve of all events together, d_m(u) the weight of the events of kind m at u and n(u) that of
    the rows at risk. Late entry and case weights are used; of X only the rows count. Were there no other kinds of
    event, and the times of the kinds independent, survival would be the Kaplan-Meier curve of kind m, others censored.

    Fitted: ``survival_``, ``incidence_[event]`` and ``net_survival_[event]`` at ``event_times_``.
    """

    _several_events = True
    _takes_entry = True
    _takes_weights = True

    _state: ClassVar[Mapping[str, StateKind]] = {
        "survival_": FloatArray("event_times", least=0.0, most=1.0),
        "incidence_": ByEvent(FloatArray("event_times", least=0.0, most=1.0 + 1e-9)),
        "net_survival_": ByEvent(FloatArray("event_times", least=0.0, most=1.0)),
    }

    def __init__(self) -> None:
        pass

    def _fit(self, x: Floats, target: Target, weight: Floats) -> None:
        times = self.event_times_
        at_risk = ObservedRisk(times, target.time, target.entry).over_rows(weight)
        hazard = {}
        for event in range(1, self.n_events_ + 1):
            rows = target.event == event
            happened = np.bincount(np.searchsorted(times, target.time[rows]), weight[rows], len(times))
            hazard[event] = np.minimum(happened / at_risk, 1.0)  # at most 1 but for rounding
        self.survival_ = np.cumprod(np.maximum(1.0 - np.sum(list(hazard.values()), axis=0), 0.0))
        before = np.concatenate([[1.0], self.survival_[:-1]])
        self.incidence_ = {event: np.cumsum(before * values) for event, values in hazard.items()}
        self.net_survival_ = {event: np.cumprod(1.0 - values, dtype=np.float64) for event, values in hazard.items()}

    def _survival(self, x: Floats, times: Floats) -> Floats:
        return np.tile(step_values(self.event_times_, self.survival_, times, 1.0), (len(x), 1))

    def _incidence(self, x: Floats, times: Floats, event: int) -> Floats:
        return np.tile(step_values(self.event_times_, self.incidence_[event], times, 0.0), (len(x), 1))

    def _net_survival(self, x: Floats, times: Floats, event: int) -> Floats:
        return np.tile(step_values(self.event_times_, self.net_survival_[event], times, 1.0), (len(x), 1))

    def preprocess(self, X: Any) -> Floats:
        """Return a matrix without columns: only the number of rows counts."""
        check_is_fitted(self, "n_events_")
        rows, columns = shape_of(X)
        if columns != self.n_features_in_:
            raise CovariateError(
                f"X has {columns} features, but {type(self).__name__} is expecting {self.n_features_in_} features."
            )
        return np.empty((rows, 0))

    def _learn_matrix(self, X: Any) -> Floats:
        return np.empty((len(X), 0))


@register_model
class KaplanMeier(AalenJohansen):
    """The same survival curve for all subjects: ``S(t) = product over u <= t of (1 - d(u) / n(u))``.

    As ``AalenJohansen``, for one kind of event.
    """

    _several_events = False
