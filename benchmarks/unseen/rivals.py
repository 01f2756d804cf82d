"""Proportional hazards of other packages behind the interface of ``lifemix``: coxnet and XGBoost.

Both take what ``TabularPreprocessor`` gives, choose how much they fit by rows held out inside, and have the baseline of
Breslow. One event type; ``CauseSpecific`` makes them models of several.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid

from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, train_validation_split
from lifemix.target import Target, as_target

__all__ = ["Coxnet", "XGBoostCox"]

Floats = NDArray[np.float64]


class _Proportional(BaseEstimator):
    """A relative risk, and Breslow's baseline."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the preprocessing, the relative risk and the baseline."""
        target = as_target(y)
        self._preprocessor = TabularPreprocessor().fit(X)
        x = self._preprocessor.transform(X)
        known = np.flatnonzero(
            target.time > 0
        )  # XGBoost's label of a censored row is minus its time
        x, target = x[known], target.take(known)
        self._fit(x, target)
        risk = np.exp(self._log_risk(x))
        self._times = np.unique(target.time[target.event > 0])
        order = np.argsort(target.time)
        at_risk = np.append(np.cumsum(risk[order][::-1])[::-1], 0.0)
        events = np.bincount(np.searchsorted(self._times, target.time[target.event > 0]))
        self._hazard = np.cumsum(events / at_risk[np.searchsorted(target.time[order], self._times)])
        return self

    def _fit(self, x: Floats, target: Target) -> None:
        raise NotImplementedError

    def _log_risk(self, x: Floats) -> Floats:
        raise NotImplementedError

    def predict(self, X: Any) -> Floats:
        """Return the logarithm of the relative risk."""
        return self._log_risk(self._preprocessor.transform(X))

    def predict_survival_function(self, X: Any, times: ArrayLike) -> Floats:
        """Return the probability that the event has not happened by each time."""
        return np.exp(-self._cumulative_hazard(X, times))

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike, event: int = 1) -> Floats:
        """Return the probability of the event by each time."""
        return -np.expm1(-self._cumulative_hazard(X, times))

    def predict_cumulative_incidences(self, X: Any, times: ArrayLike) -> Floats:
        """Return the same with an axis for the one event type."""
        return self.predict_cumulative_incidence(X, times)[None]

    def _cumulative_hazard(self, X: Any, times: ArrayLike) -> Floats:
        place = np.searchsorted(self._times, np.asarray(times), side="right")
        return np.exp(self.predict(X))[:, None] * np.append(0.0, self._hazard)[place]


class Coxnet(_Proportional):
    """scikit-survival's elastic net (half and half); the penalty has the best cross-validated partial likelihood.

    Its path ends as soon as the deviance ratio hardly changes, from the sixth penalty on. With tied times the ratio is
    wrong (it falls below 0), and the path ends after six penalties, far from a fit. So it then gets the others five at
    a time; where it refuses a small penalty, the last coefficients stay.
    """

    _PENALTIES, _AT_A_TIME = 40, 5

    def _fit(self, x: Floats, target: Target) -> None:
        ratio = 0.01 if len(x) > x.shape[1] else 0.05
        first = self._some(x, target, None).alphas_[0]
        alphas = first * np.geomspace(1.0, ratio, self._PENALTIES)
        total = np.zeros(len(alphas))
        for train, _ in EventStratifiedKFold(5, random_state=self.random_state).split(x, target):
            part = self._path(x[train], target.take(train), alphas)
            total += [
                _partial_likelihood(x @ own, target)
                - _partial_likelihood(x[train] @ own, target.take(train))
                for own in part.T
            ]
        self._coef = self._path(x, target, alphas)[:, int(np.argmax(total))]

    def _path(self, x: Floats, target: Target, alphas: Floats) -> Floats:
        """Return the coefficients of every penalty."""
        found, size = [np.zeros(x.shape[1])], len(alphas)
        while (done := len(found) - 1) < len(alphas):
            try:
                found.extend(self._some(x, target, alphas[done : done + size]).coef_.T)
            except ArithmeticError:
                if size == self._AT_A_TIME:
                    break
            size = self._AT_A_TIME
        return np.stack([*found[1:], *[found[-1]] * (len(alphas) - done)], axis=1)

    def _some(self, x: Floats, target: Target, alphas: Floats | None) -> Any:
        from sksurv.linear_model import CoxnetSurvivalAnalysis
        from sksurv.util import Surv

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "all coefficients are zero", UserWarning)
            model = CoxnetSurvivalAnalysis(l1_ratio=0.5, n_alphas=self._AT_A_TIME, alphas=alphas)
            return model.fit(x, Surv.from_arrays(target.event > 0, target.time))

    def _log_risk(self, x: Floats) -> Floats:
        return np.asarray(x @ self._coef)


class XGBoostCox(_Proportional):
    """XGBoost's ``survival:cox``, mean of three seeds; a fifth of the rows chooses the number of trees of each seed.

    Trees have depth 3; tuned, the settings are those of sixteen that have the best mean partial likelihood of the rows
    held out by the three seeds.
    """

    _SETTINGS = {
        "objective": "survival:cox",
        "eta": 0.05,
        "max_depth": 3,
        "subsample": 0.8,
        "nthread": 1,
    }
    _GRID = {"max_depth": (1, 2, 3, 5), "lambda": (1.0, 10.0), "colsample_bynode": (0.5, 1.0)}

    def __init__(self, random_state: int = 0, tuned: bool = False) -> None:
        super().__init__(random_state)
        self.tuned = tuned

    def _fit(self, x: Floats, target: Target) -> None:
        import xgboost

        label = np.where(target.event > 0, target.time, -target.time)
        seeds = range(3 * self.random_state, 3 * self.random_state + 3)
        grid = list(ParameterGrid(self._GRID)) if self.tuned else [{}]
        tried = [
            [self._stopped(x, label, target, settings, seed) for seed in seeds] for settings in grid
        ]
        best = int(np.argmin([np.mean([model.best_score for model in models]) for models in tried]))
        rows = xgboost.DMatrix(x, label)
        self._models = [
            xgboost.train(
                {**self._SETTINGS, **grid[best], "seed": seed}, rows, model.best_iteration + 1
            )
            for seed, model in zip(seeds, tried[best], strict=True)
        ]

    def _stopped(
        self, x: Floats, label: Floats, target: Target, settings: dict[str, Any], seed: int
    ) -> Any:
        """Return a model of 80 % of the rows that knows its best number of trees and the loss of the other rows."""
        import xgboost

        split = train_validation_split(target, fraction=0.2, random_state=seed)
        train, held = (xgboost.DMatrix(x[rows], label[rows]) for rows in split)
        settings = {**self._SETTINGS, **settings, "seed": seed}
        return xgboost.train(
            settings,
            train,
            500,
            evals=[(held, "held")],
            early_stopping_rounds=30,
            verbose_eval=False,
        )

    def _log_risk(self, x: Floats) -> Floats:
        import xgboost

        rows = xgboost.DMatrix(x)
        return np.mean(
            [model.predict(rows, output_margin=True) for model in self._models], axis=0
        ).astype(np.float64)


def _partial_likelihood(log_risk: Floats, target: Target) -> float:
    """Return Breslow's logarithm of the partial likelihood."""
    order = np.argsort(-target.time, kind="stable")
    time, happened, own = target.time[order], target.event[order] > 0, log_risk[order]
    sums = np.logaddexp.accumulate(own)
    last = (
        np.searchsorted(-time, -time, side="right") - 1
    )  # those with the same time are at risk too
    return float((own - sums[last])[happened].sum())
