"""The subdistribution hazard of one event type: its regression and its robust variance, in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from ..metrics.censoring import censoring_curve
from ..partial_likelihood import (
    LinearFit,
    RiskSets,
    Terms,
    fit_linear,
    hazard_increments,
    linear_predictor,
    make_terms,
    prefix_sums,
    suffix_sums,
)
from ..target import Target
from ._steps import proportional_survival, step_values

__all__ = ["Cause", "fit_cause", "subdistribution_incidence"]


@dataclass(frozen=True)
class Cause:
    """One event type: its coefficients, their robust standard errors and its baseline."""

    linear: LinearFit
    standard_errors: FloatArray
    event_times: FloatArray
    cumulative_hazard: FloatArray


def subdistribution_incidence(
    baseline: tuple[FloatArray, FloatArray], eta: FloatArray, times: FloatArray
) -> FloatArray:
    """Return the cumulative incidence (n, n_times) from event times and hazard, and linear predictors (n,)."""
    return 1.0 - proportional_survival(step_values(*baseline, times, 0.0), eta)


def fit_cause(
    x: FloatArray,
    target: Target,
    event: int,
    penalty: float,
    max_iter: int,
    names: Sequence[str] | None = None,
) -> Cause:
    """Fit the regression of one event type."""
    time, happened, weight = target.time, target.event == event, np.ones(len(target))
    other = (target.event > 0) & ~happened
    times = np.unique(time[happened])
    censoring = censoring_curve(time, target.event == 0, events_first=False).before
    sets = RiskSets(times, time, target.entry, other, censoring)
    terms = make_terms(times, time, happened, weight, "breslow")
    fit = fit_linear(x, weight, sets, terms, penalty, max_iter, f"FineGray, event {event}", names)
    eta = linear_predictor(x, fit.center, fit.coef)
    increments = hazard_increments(eta, weight, sets, terms)
    influence = _influence(x - fit.center, np.exp(eta), increments, target, sets, terms)
    errors = np.linalg.norm(
        fit.covariance.after(influence), axis=0
    )  # of the sandwich, with no root of a rounded variance
    return Cause(fit, errors, times, np.cumsum(increments))


def _influence(
    x: FloatArray,
    r: FloatArray,
    hazard: FloatArray,
    target: Target,
    sets: RiskSets,
    terms: Terms,
) -> FloatArray:
    """Return what each row adds to the score, the estimated censoring curve included, of shape (n, features).

    Fine and Gray (1999): eta_i, the integral of (x_i - mean(t)) w_i(t) against the martingale of the event, plus psi_i.
    """
    rx = r[:, None] * x
    means = sets.over_rows(rx) / sets.over_rows(r)[:, None]
    eta = (
        r[:, None] * sets.over_times(means * hazard[:, None])
        - rx * sets.over_times(hazard)[:, None]
    )
    eta[terms.rows] += x[terms.rows] - means[terms.row_time]
    return eta + _censoring_influence(rx, r, means, hazard * sets.censoring, target, sets, terms)


def _censoring_influence(
    rx: FloatArray,
    r: FloatArray,
    means: FloatArray,
    weighted: FloatArray,
    target: Target,
    sets: RiskSets,
    terms: Terms,
) -> FloatArray:
    """Return psi_i: the integral of q(u) / (rows at risk at u) against the martingale of the censoring, (n, features).

    q(u) is the derivative of the score by the censoring hazard at u, which acts through rows with an event of another
    type before u: the sum over them of r / G(T-) times the integral of (x - mean(t)) G(t-) dH(t) from u on.
    """
    censored = target.event == 0
    at, counts = np.unique(target.time[censored], return_counts=True)
    gone = np.searchsorted(target.time[sets.other_rows], at, side="left")
    share = 1.0 / sets.other_censoring
    gone_r = prefix_sums(r[sets.other_rows] * share)[gone]
    gone_rx = prefix_sums(rx[sets.other_rows] * share[:, None])[gone]
    later = np.searchsorted(np.unique(target.time[terms.rows]), at, side="left")
    q = gone_rx * suffix_sums(weighted)[later][:, None]
    q -= gone_r[:, None] * suffix_sums(weighted[:, None] * means)[later]
    at_risk = len(target) - np.searchsorted(np.sort(target.time), at, side="left")
    q /= at_risk[:, None]
    until = np.searchsorted(at, target.time, side="right")
    psi = -prefix_sums(q * (counts / at_risk)[:, None])[until]
    psi[censored] += q[until[censored] - 1]
    return psi
