"""Proportional hazards of other packages behind the interface of ``lifemix``: coxnet and XGBoost.

Both take what ``TabularPreprocessor`` gives, choose how much they fit by rows held out inside, and have the baseline of
Breslow. One event type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, train_validation_split
from lifemix.target import Target, as_target

__all__ = ["Coxnet", "XGBoostCox"]

Floats = NDArray[np.float64]


class _Proportional:
    """A relative risk, and Breslow's baseline."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the preprocessing, the relative risk and the baseline."""
        target = as_target(y)
        self._preprocessor = TabularPreprocessor().fit(X)
        x = self._preprocessor.transform(X)
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

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike, event: int = 1) -> Floats:
        """Return the probability of the event by each time."""
        place = np.searchsorted(self._times, np.asarray(times), side="right")
        hazard = np.append(0.0, self._hazard)[place]
        return -np.expm1(-np.exp(self.predict(X))[:, None] * hazard)

    def predict_cumulative_incidences(self, X: Any, times: ArrayLike) -> Floats:
        """Return the same with an axis for the one event type."""
        return self.predict_cumulative_incidence(X, times)[None]


class Coxnet(_Proportional):
    """scikit-survival's elastic net (half and half); the penalty has the best cross-validated partial likelihood."""

    def _fit(self, x: Floats, target: Target) -> None:
        whole = self._path(x, target, None)
        total = np.zeros(len(whole.alphas_))
        for train, _ in EventStratifiedKFold(5, random_state=self.random_state).split(x, target):
            part = self._path(x[train], target.take(train), whole.alphas_)
            total += [
                _partial_likelihood(x @ own, target) - _partial_likelihood(x[train] @ own, target.take(train))
                for own in part.coef_.T
            ]
        self._coef = whole.coef_[:, int(np.argmax(total))]

    @staticmethod
    def _path(x: Floats, target: Target, alphas: Any) -> Any:
        from sksurv.linear_model import CoxnetSurvivalAnalysis
        from sksurv.util import Surv

        ratio = 0.01 if len(x) > x.shape[1] else 0.05
        model = CoxnetSurvivalAnalysis(l1_ratio=0.5, n_alphas=40, alphas=alphas, alpha_min_ratio=ratio)
        return model.fit(x, Surv.from_arrays(target.event > 0, target.time))

    def _log_risk(self, x: Floats) -> Floats:
        return np.asarray(x @ self._coef)


class XGBoostCox(_Proportional):
    """XGBoost's ``survival:cox``: trees of depth 3, as many as 20 % of the rows choose, mean of three seeds."""

    _SETTINGS = {"objective": "survival:cox", "eta": 0.05, "max_depth": 3, "subsample": 0.8, "nthread": 1}

    def _fit(self, x: Floats, target: Target) -> None:
        import xgboost

        label = np.where(target.event > 0, target.time, -target.time)
        self._models = []
        for seed in range(3 * self.random_state, 3 * self.random_state + 3):
            train, held = train_validation_split(target, fraction=0.2, random_state=seed)
            parts = [xgboost.DMatrix(x[rows], label[rows]) for rows in (train, held)]
            settings = {**self._SETTINGS, "seed": seed}
            stopped = xgboost.train(
                settings, parts[0], 500, evals=[(parts[1], "held")], early_stopping_rounds=30, verbose_eval=False
            )
            rounds = stopped.best_iteration + 1
            self._models.append(xgboost.train(settings, xgboost.DMatrix(x, label), rounds))

    def _log_risk(self, x: Floats) -> Floats:
        import xgboost

        rows = xgboost.DMatrix(x)
        return np.mean([model.predict(rows, output_margin=True) for model in self._models], axis=0).astype(np.float64)


def _partial_likelihood(log_risk: Floats, target: Target) -> float:
    """Return Breslow's logarithm of the partial likelihood."""
    order = np.argsort(-target.time, kind="stable")
    time, happened, own = target.time[order], target.event[order] > 0, log_risk[order]
    sums = np.logaddexp.accumulate(own)
    last = np.searchsorted(-time, -time, side="right") - 1  # those with the same time are at risk too
    return float((own - sums[last])[happened].sum())
