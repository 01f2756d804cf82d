"""Fine and Gray's regression of the subdistribution hazard, equal to R's ``cmprsk::crr``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..checks import Flag, Number, Rule, Whole
from ..state import ByEvent, FloatArray, FloatValue, StateKind, TupleOf, register_model
from ..target import Target
from ._checks import Floats
from ._partial import linear_predictor
from ._steps import step_values
from ._subdistribution import fit_cause, subdistribution_incidence
from .base import Baseline, chunks

__all__ = ["FineGray"]


@register_model
class FineGray(Baseline):
    """Fine-Gray regression for every kind of event m: ``F_m(t | x) = 1 - exp(-H_m(t) exp((x - mean)'coef_m))``.

    Censoring weights from the Kaplan-Meier curve of the censoring, ties as in Breslow's rule, as ``crr`` does it.

    The regressions of the kinds know nothing of each other, so for some subjects their incidences can add up to more
    than 1. With ``coherent`` every incidence of such a subject stops at the time where the total reaches 1, the last
    increments shared in proportion; all earlier values, and all of other subjects, are ``crr``'s.

    penalty, max_iter: as in ``CoxPH``.

    Fitted, by kind of event: ``coef_[event]``, ``standard_errors_[event]`` (robust, with the uncertainty of the
    censoring curve), ``log_likelihood_[event]``, ``baseline_[event]`` = (event times, cumulative hazard at the mean).
    """

    _several_events = True

    _rules: ClassVar[Mapping[str, Rule]] = {
        "coherent": Flag(),
        "penalty": Number(0.0),
        "max_iter": Whole(1),
    }

    _state: ClassVar[Mapping[str, StateKind]] = {
        "center_": FloatArray("inputs"),
        "coef_": ByEvent(FloatArray("inputs")),
        "standard_errors_": ByEvent(FloatArray("inputs", least=0.0, missing=True)),
        "log_likelihood_": ByEvent(FloatValue()),
        "baseline_": ByEvent(TupleOf(FloatArray("times", least=0.0), FloatArray("times", least=0.0, most=np.inf))),
    }

    def __init__(
        self, coherent: bool = True, penalty: float = 0.0, max_iter: int = 100, preprocessor: Any = "auto"
    ) -> None:
        self.coherent = coherent
        self.penalty = penalty
        self.max_iter = max_iter
        self.preprocessor = preprocessor

    def _fit(self, x: Floats, target: Target, weight: Floats) -> None:
        events = range(1, self.n_events_ + 1)
        causes = {event: fit_cause(x, target, event, self.penalty, self.max_iter) for event in events}
        self.center_ = causes[1].linear.center
        self.coef_ = {event: cause.linear.coef for event, cause in causes.items()}
        self.standard_errors_ = {event: cause.standard_errors for event, cause in causes.items()}
        self.log_likelihood_ = {event: cause.linear.log_likelihood for event, cause in causes.items()}
        self.baseline_ = {e: (cause.event_times, cause.cumulative_hazard) for e, cause in causes.items()}

    def _incidence(self, x: Floats, times: Floats, event: int) -> Floats:
        incidence = self._alone(x, times, event)
        if self.coherent:
            last = np.array([times.max()])
            total = sum(self._alone(x, last, cause)[:, 0] for cause in self.coef_)
            over = np.flatnonzero(np.asarray(total) > 1.0)
            for rows in chunks(len(over), len(self.event_times_) * self.n_events_):
                incidence[over[rows]] = self._stopped(x[over[rows]], times, event)
        return incidence

    def _alone(self, x: Floats, times: Floats, event: int) -> Floats:
        """Return the incidence by the regression of one event type, (n, n_times), whatever the others say."""
        eta = linear_predictor(x, self.center_, self.coef_[event])
        return subdistribution_incidence(self.baseline_[event], eta, times)

    def _stopped(self, x: Floats, times: Floats, event: int) -> Floats:
        """Return the incidence of subjects whose total passes 1, stopped there; shape (n, n_times)."""
        grid = self.event_times_
        increments = {e: np.diff(self._alone(x, grid, e), axis=1, prepend=0.0) for e in self.coef_}
        total = np.asarray(sum(increments.values()))
        before = np.cumsum(total, axis=1) - total
        share = np.clip(np.divide(1.0 - before, total, out=np.ones_like(total), where=total > 0), 0.0, 1.0)
        return step_values(grid, np.cumsum(increments[event] * share, axis=1), times, 0.0)
