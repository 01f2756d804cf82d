"""Cox's proportional hazards regression, equal to R's ``coxph`` and ``survfit``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..checks import Check, Choice, Number, Whole
from ..partial_likelihood import (
    LinearFit,
    RiskSets,
    Terms,
    fit_linear,
    hazard_increments,
    linear_predictor,
    make_terms,
)
from ..registry import check_finite, register_model
from ..target import Target
from .base import Baseline, check_curves, check_steps, step_values
from .coefficients import drop_separating_indicators, estimates, summary_table

__all__ = ["CoxPH", "ProportionalHazardsModel", "proportional_survival"]

_PENALTIES = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)
_CHEAP = 10_000_000  # rows times entries of the information, up to which all penalties are tried


def proportional_survival(baseline: FloatArray, risk: FloatArray) -> FloatArray:
    """Return ``exp(-H(t) exp(risk))``, ``[n_rows, n_times]``, for ``H(t)`` in ``baseline``."""
    with np.errstate(divide="ignore", over="ignore"):  # survival 1 and 0
        return np.asarray(np.exp(-np.exp(np.log(baseline) + risk[:, None])))


class ProportionalHazardsModel(Baseline):
    """Base class of ``S(t | x) = exp(-H0(t) exp(risk(x)))`` with a step function H0."""

    baseline_cumulative_hazard_: FloatArray

    def _fit_baseline(
        self, risk: FloatArray, target: Target, weight: FloatArray, ties: str
    ) -> None:
        times = self.event_times_
        sets = RiskSets(times, target.time, target.entry)
        terms = make_terms(times, target.time, target.event > 0, weight, ties)
        self.baseline_cumulative_hazard_ = np.cumsum(hazard_increments(risk, weight, sets, terms))

    def _validate(self) -> None:
        super()._validate()
        hazard = self.baseline_cumulative_hazard_
        check_steps("baseline_cumulative_hazard_", hazard, self.event_times_.shape)

    def _hazard(self, times: FloatArray) -> FloatArray:
        return step_values(self.event_times_, self.baseline_cumulative_hazard_, times, 0.0)

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return proportional_survival(self._hazard(times), self._risk(x))

    def _conditional(
        self, x: FloatArray, since: FloatArray, times: FloatArray, event: int | None
    ) -> tuple[FloatArray, FloatArray | None]:
        gain = np.maximum(self._hazard(times) - self._hazard(since)[:, None], 0.0)
        survival = np.exp(-gain * np.exp(self._risk(x))[:, None])
        return survival, 1.0 - survival


def _check_penalty(penalty: Any) -> None:
    if not (isinstance(penalty, str) and penalty == "auto"):
        Number(0.0)("penalty", penalty)


@register_model
@dataclass(eq=False, repr=False)
class CoxPH(ProportionalHazardsModel):
    """Cox regression: ``S(t | x) = exp(-H0(t) exp((x - mean)'coef))`` with a step function H0.

    Entry times and case weights are used. Collinear columns (all levels of a category are) share their effect: of all
    equal maxima the one of least norm; R drops columns instead, with the same predictions.

    Parameters
    ----------
    ties : {"efron", "breslow"}, default "efron"
        Treatment of tied event times in the partial likelihood.
    baseline : {"efron", "breslow"}, optional
        The same for H0; None: as ``ties``. R's ``survfit`` calls them ``ctype`` 2 and 1.
    penalty : float or "auto", default 0.0
        Ridge penalty: half of it times the squared coefficients of the standardised columns is subtracted from the
        log-likelihood. ``"auto"`` takes the one of 1, 4, 16, ..., 4096 with the best corrected information criterion of
        Akaike: the log-likelihood less ``d (1 + (d + 1) / (e - d - 1))`` for e events and d effective degrees of
        freedom.
    max_iter : int, default 100
        Maximum number of Newton steps.
    preprocessor : "auto", None or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales ``X``; None takes it as it is.

    Attributes
    ----------
    coef_ : float array of shape (n_inputs,)
        Coefficients, one per column after preprocessing.
    log_likelihood_, log_likelihood_null_ : float
        Partial log-likelihood at the maximum and at zero, without the penalty.
    n_iter_ : int
        Number of Newton steps.
    penalty_ : float
        The penalty that was used.
    baseline_cumulative_hazard_ : float array of shape (n_event_times,)
        H0 at ``event_times_`` for the mean subject.

    References
    ----------
    Cox (1972). Regression models and life-tables. Journal of the Royal Statistical Society B 34, 187-220.
    https://doi.org/10.1111/j.2517-6161.1972.tb00899.x

    Efron (1977). The efficiency of Cox's likelihood function for censored data. Journal of the American Statistical
    Association 72, 557-565. https://doi.org/10.1080/01621459.1977.10480613

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> data = datasets.load_metabric()
    >>> model = CoxPH().fit(data.X[:1500], data.y[:1500])
    >>> round(model.score(data.X[1500:], data.y[1500:]), 2)
    0.62
    >>> print(model.summary[["column", "hazard_ratio", "lower", "upper"]].head(2).round(2))
      column  hazard_ratio  lower  upper
    0     x0          1.05   0.95   1.15
    1     x1          0.93   0.86   1.00
    """

    _saved = ("_estimates",)
    _takes_entry = True
    _takes_paths = True
    _takes_weights = True

    _rules = {
        "ties": Choice("efron", "breslow"),
        "baseline": Choice(None, "efron", "breslow"),
        "penalty": Check(_check_penalty),
        "max_iter": Whole(1),
    }

    ties: str = "efron"
    baseline: str | None = None
    penalty: float | str = 0.0
    max_iter: int = 100
    preprocessor: Any = "auto"

    @property
    def summary(self) -> pd.DataFrame:
        """The coefficients, per unit of each column.

        One row per column of numbers (``level`` is empty) and per level of a category, compared
        with the first level, whose hazard ratio is 1, as R codes them. The level ``missing`` compares rows without a
        value with those that have the imputed one: the mean, or the most frequent level.

        ``lower`` and ``upper`` are 95 % limits of the hazard ratio; z and p test a coefficient of 0
        (Wald). Standard errors come from the information matrix, in which case weights count as
        repeated rows (R's ``robust=FALSE``) and a row is at risk from its late entry on. NaN: a
        column that is a linear combination of earlier ones, as in R, or missing values in no row
        with the event; without a penalty, all columns if there are more than rows.

        With a penalty every level has a coefficient of its own. Standard errors are those of the
        penalised likelihood, which do not include the bias: do not read p as a test.

        Returns
        -------
        DataFrame
            Columns ``column``, ``level``, ``coefficient``, ``hazard_ratio``, ``standard_error``,
            ``lower``, ``upper``, ``z``, ``p``.

        See Also
        --------
        lifemix.plots.coefficients : draws it.
        """
        check_is_fitted(self)
        return summary_table(self.preprocessor_, self._input_names(), self._estimates)

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        x = drop_separating_indicators(self.preprocessor_, x, target.event > 0)
        sets = RiskSets(self.event_times_, target.time, target.entry)
        terms = make_terms(self.event_times_, target.time, target.event > 0, weight, self.ties)
        self.penalty_, fit = self._best_fit(x, weight, sets, terms)
        self.coef_ = fit.coef
        self.center_ = fit.center
        self._estimates = estimates(self.preprocessor_, fit)
        self.log_likelihood_ = fit.log_likelihood
        self.log_likelihood_null_ = fit.log_likelihood_null
        self.n_iter_ = fit.n_iter
        self._fit_baseline(self._risk(x), target, weight, self.baseline or self.ties)

    def _chosen_settings(self) -> list[str]:
        if not (isinstance(self.penalty, str) and hasattr(self, "penalty_")):
            return []
        return [f"penalty={self.penalty_:g}: the best information criterion"]

    def _validate(self) -> None:
        super()._validate()
        check_finite("coef_", self.coef_, (self._n_inputs,))
        check_finite("center_", self.center_, (self._n_inputs,))
        check_finite("_estimates", np.nan_to_num(self._estimates), (self._n_inputs, 2))
        check_curves(self, self._n_inputs)

    def _best_fit(
        self, x: FloatArray, weight: FloatArray, sets: RiskSets, terms: Terms
    ) -> tuple[float, LinearFit]:
        """Return the fit with the penalty, or with the best of several."""
        penalties = _PENALTIES if isinstance(self.penalty, str) else (float(self.penalty),)
        labels = type(self).__name__, self._input_names()
        fits: list[tuple[float, float, LinearFit]] = []
        for penalty in penalties:
            fit = fit_linear(x, weight, sets, terms, penalty, self.max_iter, *labels)
            fits.append((_information_criterion(fit, len(terms.rows)), penalty, fit))
            is_worse = len(fits) > 1 and fits[-1][0] < fits[-2][0]
            if is_worse and x.shape[0] * x.shape[1] ** 2 > _CHEAP:  # the criterion has one maximum
                break
        _, penalty, fit = max(fits, key=lambda candidate: candidate[:2])
        return penalty, fit

    def _risk(self, x: FloatArray) -> FloatArray:
        return linear_predictor(x, self.center_, self.coef_)


def _information_criterion(fit: LinearFit, n_events: int) -> float:
    """Return Akaike's criterion corrected for small samples; minus infinity if it has no value."""
    degrees = fit.degrees_of_freedom
    if n_events - degrees - 1 <= 0:
        return -np.inf
    return fit.log_likelihood - degrees * (1 + (degrees + 1) / (n_events - degrees - 1))
