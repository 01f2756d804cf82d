"""Fine and Gray's regression of the subdistribution hazard, equal to R's ``cmprsk::crr``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..checks import Flag, Number, Whole
from ..metrics.censoring import censoring_curve
from ..partial_likelihood import (
    RiskSets,
    Terms,
    fit_linear,
    hazard_increments,
    linear_predictor,
    make_terms,
    prefix_sums,
    suffix_sums,
)
from ..registry import check_finite, register_model
from ..target import Target
from .base import Baseline, check_curves, check_steps, chunks, step_values
from .coefficients import (
    drop_separating_indicators,
    estimates,
    of_all_events,
    summary_table,
)
from .cox import proportional_survival

__all__ = ["FineGray"]


@register_model
@dataclass(eq=False, repr=False)
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

    _saved = ("_estimates",)
    _several_events = True

    _rules = {
        "coherent": Flag(),
        "penalty": Number(0.0),
        "max_iter": Whole(1),
    }

    coherent: bool = True
    penalty: float = 0.0
    max_iter: int = 100
    preprocessor: Any = "auto"

    @property
    def summary(self) -> pd.DataFrame:
        """The coefficients of each event type, per unit of each column.

        ``hazard_ratio`` is that of the subdistribution. Standard errors are robust and include the
        uncertainty of the censoring curve, as in ``crr``. Everything else is as in
        ``CoxPH.summary``.

        Returns
        -------
        DataFrame
            ``event``, then the columns of ``CoxPH.summary``.

        See Also
        --------
        lifemix.plots.coefficients : draws it.
        """
        check_is_fitted(self)
        names = self._input_names()
        return of_all_events(
            {
                event: summary_table(self.preprocessor_, names, rows)
                for event, rows in self._estimates.items()
            }
        )

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        self.coef_ = {}
        self._estimates: dict[int, FloatArray] = {}
        self.log_likelihood_ = {}
        self.baseline_ = {}
        time = target.time
        self.center_ = np.average(x, axis=0, weights=weight)
        censoring = censoring_curve(time, target.event == 0, events_first=False).before
        for event in range(1, self.n_events_ + 1):
            has_event = target.event == event
            has_other_event = (target.event > 0) & ~has_event
            times = np.unique(time[has_event])
            sets = RiskSets(times, time, target.entry, has_other_event, censoring)
            terms = make_terms(times, time, has_event, weight, "breslow")
            owner = f"FineGray, event {event}"
            x_event = drop_separating_indicators(self.preprocessor_, x, has_event)
            fit = fit_linear(
                x_event,
                weight,
                sets,
                terms,
                self.penalty,
                self.max_iter,
                owner,
                self._input_names(),
            )
            risk = linear_predictor(x_event, fit.center, fit.coef)
            hazard = hazard_increments(risk, weight, sets, terms)
            influence = _influence(x_event - fit.center, np.exp(risk), hazard, target, sets, terms)
            self.coef_[event] = fit.coef
            self._estimates[event] = estimates(self.preprocessor_, fit, influence)
            self.log_likelihood_[event] = fit.log_likelihood
            self.baseline_[event] = times, np.cumsum(hazard)

    def _validate(self) -> None:
        super()._validate()
        check_finite("center_", self.center_, (self._n_inputs,))
        for rows in self._estimates.values():
            check_finite("_estimates", np.nan_to_num(rows), (self._n_inputs, 2))
        for times, hazard in self.baseline_.values():
            check_steps("the event times", times, (None,))
            check_steps("the baseline hazard", hazard, times.shape)
        check_curves(self, self._n_inputs)

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        incidence = self._incidence_of_crr(x, times, event)
        if self.coherent:
            last = times.max(keepdims=True)
            total = np.sum([self._incidence_of_crr(x, last, cause) for cause in self.coef_], axis=0)
            incoherent = np.flatnonzero(total > 1.0)
            n_times = sum(len(event_times) for event_times, _ in self.baseline_.values())
            for block in chunks(len(incoherent), n_times * self.n_events_):
                rows = incoherent[block]
                incidence[rows] = self._limited_incidence(x[rows], times, event)
        return incidence

    def _incidence_of_crr(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        hazard = step_values(*self.baseline_[event], times, 0.0)
        risk = linear_predictor(x, self.center_, self.coef_[event])
        return 1.0 - proportional_survival(hazard, risk)

    def _limited_incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        """Return the incidence, constant from the time on at which the total reaches 1."""
        grid = np.unique(np.concatenate([times for times, _ in self.baseline_.values()]))
        incidences = [self._incidence_of_crr(x, grid, cause) for cause in self.coef_]
        increments = np.diff(incidences, axis=2, prepend=0.0)
        total = increments.sum(axis=0)
        total_before = np.cumsum(total, axis=1) - total
        share = np.divide(1.0 - total_before, total, out=np.ones_like(total), where=total > 0)
        limited = np.cumsum(increments[event - 1] * np.clip(share, 0.0, 1.0), axis=1)
        return step_values(grid, limited, times, 0.0)


def _influence(
    x: FloatArray,
    r: FloatArray,
    hazard: FloatArray,
    target: Target,
    sets: RiskSets,
    terms: Terms,
) -> FloatArray:
    """Return the contribution of each row to the score, ``[n_rows, n_inputs]``: ``eta + psi``.

    r: the hazard ratio of each row, exp(x'b). After Fine and Gray (1999): eta_i is the integral of
    ``(x_i - mean(t)) w_i(t)`` against the martingale of the event; psi_i comes from the estimated
    censoring curve.
    """
    rx = r[:, None] * x
    means = sets.over_rows(rx) / sets.over_rows(r)[:, None]
    eta = r[:, None] * sets.over_times(means * hazard[:, None])
    eta -= rx * sets.over_times(hazard)[:, None]
    eta[terms.rows] += x[terms.rows] - means[terms.row_time]
    return eta + _influence_by_censoring(rx, r, means, hazard, target, sets, terms)


def _influence_by_censoring(
    rx: FloatArray,
    r: FloatArray,
    means: FloatArray,
    hazard: FloatArray,
    target: Target,
    sets: RiskSets,
    terms: Terms,
) -> FloatArray:
    """Return psi: the integral of ``q(u) / (rows at risk at u)`` against the censoring martingale.

    q(u) is the derivative of the score by the censoring hazard at u. It acts through the rows with
    an event of another type before u: q(u) is the sum over them of ``r / G(T-)`` times the integral
    of ``(x - mean(t)) G(t-) dH(t)`` from u on.
    """
    is_censored = target.event == 0
    censoring_times, counts = np.unique(target.time[is_censored], return_counts=True)
    n_other = np.searchsorted(target.time[sets.other_rows], censoring_times)
    share = 1.0 / sets.other_censoring
    other_r = prefix_sums(r[sets.other_rows] * share)[n_other]
    other_rx = prefix_sums(rx[sets.other_rows] * share[:, None])[n_other]
    later = np.searchsorted(np.unique(target.time[terms.rows]), censoring_times)
    weighted_hazard = (hazard * sets.censoring)[:, None]
    q = other_rx * suffix_sums(weighted_hazard)[later]
    q -= other_r[:, None] * suffix_sums(weighted_hazard * means)[later]
    at_risk = len(target) - np.searchsorted(np.sort(target.time), censoring_times)
    q /= at_risk[:, None]
    until = np.searchsorted(censoring_times, target.time, side="right")
    psi = -prefix_sums(q * (counts / at_risk)[:, None])[until]
    psi[is_censored] += q[until[is_censored] - 1]
    return psi
