"""Fine and Gray's regression of the subdistribution hazard, equal to R's ``cmprsk::crr``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._types import FloatArray
from ..checks import Flag, Number, Rule, Whole
from ..partial_likelihood import linear_predictor
from ..registry import check_finite, register_model
from ..target import Target
from ._steps import check_curve, step_values
from ._subdistribution import fit_cause, subdistribution_incidence
from .base import Baseline, chunks

__all__ = ["FineGray"]


@register_model
class FineGray(Baseline):
    """Fine-Gray regression for every event type m: ``F_m(t | x) = 1 - exp(-H_m(t) exp((x - mean)'coef_m))``.

    Censoring weights from the Kaplan-Meier curve of the censoring, ties after Breslow, as in ``crr``.

    The regressions of the event types are separate, so that for some subjects their incidences can add up to more than
    1; see ``coherent``.

    Parameters
    ----------
    coherent : bool, default True
        Every incidence of such a subject stops at the time where the total reaches 1, the last increments shared in
        proportion; all earlier values, and all of other subjects, are those of ``crr``. False: ``crr`` throughout.
    penalty : float, default 0.0
        Ridge penalty: half of it times the squared coefficients of the standardised columns is subtracted from the
        log-likelihood.
    max_iter : int, default 100
        Maximum number of Newton steps.
    preprocessor : "auto", None or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales ``X``; None takes it as it is.

    Attributes
    ----------
    coef_ : dict of int to float array
        Coefficients of each event type, one per column after preprocessing.
    standard_errors_ : dict of int to float array
        Robust standard errors, with the uncertainty of the censoring curve.
    log_likelihood_ : dict of int to float
        The maximum of the partial log-likelihood, without the penalty.
    baseline_ : dict of int to tuple of arrays
        Event times and cumulative subdistribution hazard at the mean.

    References
    ----------
    Fine and Gray (1999). A proportional hazards model for the subdistribution of a competing risk. Journal of the
    American Statistical Association 94, 496-509. https://doi.org/10.1080/01621459.1999.10474144

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import FineGray
    >>> data = datasets.make_synthetic(300)
    >>> model = FineGray().fit(data.X, data.y)
    >>> model.coef_[1].shape
    (12,)
    >>> model.predict_cumulative_incidence(data.X[:2], [5.0, 10.0], event=2).shape
    (2, 2)
    """

    _several_events = True

    _rules: ClassVar[Mapping[str, Rule]] = {
        "coherent": Flag(),
        "penalty": Number(0.0),
        "max_iter": Whole(1),
    }

    def __init__(
        self,
        coherent: bool = True,
        penalty: float = 0.0,
        max_iter: int = 100,
        preprocessor: Any = "auto",
    ) -> None:
        self.coherent = coherent
        self.penalty = penalty
        self.max_iter = max_iter
        self.preprocessor = preprocessor

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        events, names = range(1, self.n_events_ + 1), self._input_names()
        causes = {
            event: fit_cause(x, target, event, self.penalty, self.max_iter, names)
            for event in events
        }
        self.center_ = causes[1].linear.center
        self.coef_ = {event: cause.linear.coef for event, cause in causes.items()}
        self.standard_errors_ = {event: cause.standard_errors for event, cause in causes.items()}
        self.log_likelihood_ = {
            event: cause.linear.log_likelihood for event, cause in causes.items()
        }
        self.baseline_ = {
            e: (cause.event_times, cause.cumulative_hazard) for e, cause in causes.items()
        }

    def _validate(self) -> None:
        super()._validate()
        events = list(range(1, self.n_events_ + 1))
        if list(self.coef_) != events or list(self.baseline_) != events:
            raise ValueError("a regression of each event type expected")
        check_finite("center_", self.center_, (self._n_inputs,))
        for event in events:
            times, hazard = self.baseline_[event]
            check_finite("coef_", self.coef_[event], (self._n_inputs,))
            check_curve("times", times, len(times))
            check_curve("baseline_", hazard, len(times))

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        incidence = self._alone(x, times, event)
        if self.coherent:
            last = np.array([times.max()])
            total = sum(self._alone(x, last, cause)[:, 0] for cause in self.coef_)
            over = np.flatnonzero(np.asarray(total) > 1.0)
            for rows in chunks(
                len(over), sum(len(times) for times, _ in self.baseline_.values()) * self.n_events_
            ):
                incidence[over[rows]] = self._stopped(x[over[rows]], times, event)
        return incidence

    def _alone(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        """Return the incidence by the regression of one event type, (n, n_times), whatever the others say."""
        eta = linear_predictor(x, self.center_, self.coef_[event])
        return subdistribution_incidence(self.baseline_[event], eta, times)

    def _stopped(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        """Return the incidence of subjects whose total passes 1, stopped there; shape (n, n_times)."""
        grid = np.unique(np.concatenate([times for times, _ in self.baseline_.values()]))
        increments = {e: np.diff(self._alone(x, grid, e), axis=1, prepend=0.0) for e in self.coef_}
        total = np.asarray(sum(increments.values()))
        before = np.cumsum(total, axis=1) - total
        share = np.clip(
            np.divide(1.0 - before, total, out=np.ones_like(total), where=total > 0), 0.0, 1.0
        )
        return step_values(grid, np.cumsum(increments[event] * share, axis=1), times, 0.0)
