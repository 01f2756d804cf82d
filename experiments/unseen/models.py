"""The models that are compared, with nothing tuned by hand (some tune themselves), and those of other packages."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid

from lifemix import DeepSurvivalMachines, LifeMix, baselines
from lifemix._types import FloatArray
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, train_validation_split
from lifemix.target import Target, as_target

__all__ = ["MODELS", "AutonTable", "Coxnet", "UnseenModel", "XGBoostCox", "partial_likelihood"]


class _ProportionalHazards(BaseEstimator):  # type: ignore[misc]
    """A relative risk with Breslow's baseline, for one event type; ``CauseSpecific`` makes models of several."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Fit preprocessing, relative risk and baseline."""
        target = as_target(y)
        self._preprocessor = TabularPreprocessor().fit(X)
        x = self._preprocessor.transform(X)
        rows = np.flatnonzero(
            target.time > 0
        )  # XGBoost's label of a censored row is minus its time
        x, target = x[rows], target.take(rows)
        self._fit(x, target)
        risk = np.exp(self._log_risk(x))
        self._times = np.unique(target.time[target.event > 0])
        order = np.argsort(target.time)
        at_risk = np.append(np.cumsum(risk[order][::-1])[::-1], 0.0)
        events = np.bincount(np.searchsorted(self._times, target.time[target.event > 0]))
        first_at_risk = np.searchsorted(target.time[order], self._times)
        self._hazard = np.cumsum(events / at_risk[first_at_risk])
        return self

    def _fit(self, x: FloatArray, target: Target) -> None:
        raise NotImplementedError

    def _log_risk(self, x: FloatArray) -> FloatArray:
        raise NotImplementedError

    def predict(self, X: Any) -> FloatArray:
        """Return the logarithm of the relative risk."""
        return self._log_risk(self._preprocessor.transform(X))

    def predict_survival_function(self, X: Any, times: Any) -> FloatArray:
        """Return the probability that the event has not happened by each time."""
        steps = np.searchsorted(self._times, np.asarray(times), side="right")
        hazard = np.append(0.0, self._hazard)[steps]
        return np.exp(-np.exp(self.predict(X))[:, None] * hazard)

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> FloatArray:
        """Return the probability of the event by each time."""
        return 1 - self.predict_survival_function(X, times)

    def predict_cumulative_incidences(self, X: Any, times: Any) -> FloatArray:
        """Return the same with an axis for the one event type."""
        return self.predict_cumulative_incidence(X, times)[None]


class Coxnet(_ProportionalHazards):
    """scikit-survival's elastic net (half and half); the penalty has the best cross-validated partial likelihood.

    Its path ends as soon as the deviance ratio hardly changes, from the sixth penalty on. With tied times the ratio is
    wrong (it falls below 0), and the path ends far from a fit. It then gets the remaining penalties five at a time; if
    it refuses a small penalty, the last coefficients stay.
    """

    def _fit(self, x: FloatArray, target: Target) -> None:
        smallest = 0.01 if len(x) > x.shape[1] else 0.05
        largest = self._net(x, target, None).alphas_[0]
        penalties = largest * np.geomspace(1.0, smallest, 40)
        total = np.zeros(len(penalties))
        for train, _ in EventStratifiedKFold(5, random_state=self.random_state).split(x, target):
            path = self._path(x[train], target.take(train), penalties)
            total += [
                partial_likelihood(x @ coef, target)
                - partial_likelihood(x[train] @ coef, target.take(train))
                for coef in path.T
            ]
        self._coef = self._path(x, target, penalties)[:, int(np.argmax(total))]

    def _path(self, x: FloatArray, target: Target, penalties: FloatArray) -> FloatArray:
        """Return the coefficients of every penalty, ``[n_columns, n_penalties]``."""
        path, size = [np.zeros(x.shape[1])], len(penalties)
        while (n_done := len(path) - 1) < len(penalties):
            try:
                path.extend(self._net(x, target, penalties[n_done : n_done + size]).coef_.T)
            except ArithmeticError:
                if size == 5:
                    break
            size = 5
        return np.stack([*path[1:], *[path[-1]] * (len(penalties) - n_done)], axis=1)

    def _net(self, x: FloatArray, target: Target, penalties: FloatArray | None) -> Any:
        from sksurv.linear_model import CoxnetSurvivalAnalysis
        from sksurv.util import Surv

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "all coefficients are zero", UserWarning)
            net = CoxnetSurvivalAnalysis(
                l1_ratio=0.5,
                n_alphas=5,
                alphas=penalties,
            )
            return net.fit(x, Surv.from_arrays(target.event > 0, target.time))

    def _log_risk(self, x: FloatArray) -> FloatArray:
        return np.asarray(x @ self._coef)


class XGBoostCox(_ProportionalHazards):
    """XGBoost's ``survival:cox``, mean of three seeds; a fifth of the rows chooses the number of trees of each seed.

    Trees have depth 3. Tuned, the settings are those of sixteen with the best mean partial likelihood of the rows held
    out by the three seeds.
    """

    _SETTINGS = {
        "objective": "survival:cox",
        "eta": 0.05,
        "max_depth": 3,
        "subsample": 0.8,
    }
    _GRID = {
        "max_depth": (1, 2, 3, 5),
        "lambda": (1.0, 10.0),
        "colsample_bynode": (0.5, 1.0),
    }

    def __init__(self, random_state: int = 0, tuned: bool = False) -> None:
        super().__init__(random_state)
        self.tuned = tuned

    def _fit(self, x: FloatArray, target: Target) -> None:
        xgboost = importlib.import_module("xgboost")
        label = np.where(target.event > 0, target.time, -target.time)
        seeds = range(3 * self.random_state, 3 * self.random_state + 3)
        candidates = []
        for grid in ParameterGrid(self._GRID) if self.tuned else [{}]:
            settings = {
                **self._SETTINGS,
                "nthread": 1,
                **grid,
            }
            models = [self._stopped_early(x, label, target, settings, seed) for seed in seeds]
            candidates.append((np.mean([model.best_score for model in models]), settings, models))
        _, settings, models = min(candidates, key=lambda candidate: candidate[0])
        rows = xgboost.DMatrix(x, label)
        self._models = [
            xgboost.train({**settings, "seed": seed}, rows, model.best_iteration + 1)
            for seed, model in zip(seeds, models, strict=True)
        ]

    def _stopped_early(
        self, x: FloatArray, label: FloatArray, target: Target, settings: Any, seed: int
    ) -> Any:
        """Return a model of 80 % of the rows with its best number of trees and loss on the others."""
        xgboost = importlib.import_module("xgboost")
        split = train_validation_split(target, fraction=0.2, random_state=seed)
        train, validation = (xgboost.DMatrix(x[rows], label[rows]) for rows in split)
        return xgboost.train(
            {**settings, "seed": seed},
            train,
            500,
            evals=[(validation, "validation")],
            early_stopping_rounds=30,
            verbose_eval=False,
        )

    def _log_risk(self, x: FloatArray) -> FloatArray:
        rows = importlib.import_module("xgboost").DMatrix(x)
        risks = [model.predict(rows, output_margin=True) for model in self._models]
        return np.mean(risks, axis=0).astype(np.float64)


def partial_likelihood(log_risk: FloatArray, target: Target) -> float:
    """Return Breslow's logarithm of the partial likelihood."""
    order = np.argsort(-target.time, kind="stable")
    time, is_event, log_risk = target.time[order], target.event[order] > 0, log_risk[order]
    log_sums = np.logaddexp.accumulate(log_risk)
    last = (
        np.searchsorted(-time, -time, side="right") - 1
    )  # rows with the same time are at risk too
    return float((log_risk - log_sums[last])[is_event].sum())


class AutonTable:
    """auton-survival's Deep Survival Machines (see ``benchmarks.auton``), on the matrix of ``TabularPreprocessor``.

    The package gives the net survival of each event type, S = exp(-H). Incidences follow as in ``CauseSpecific``: over
    each step of a grid, event m gets the share dH_m / dH of all events. An event at time 0 counts as one at the first
    positive event time, because the package takes no such times.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AutonTable:
        """Fit preprocessing and network; times are in units of their mean."""
        self._module, _ = importlib.import_module("benchmarks.auton").load(True)
        target = as_target(y)
        self._unit, self._n_events = float(target.time.mean()), int(target.event.max())
        event_times = target.time[target.event > 0]
        self._first = event_times[event_times > 0].min()
        self._grid = np.unique(np.quantile(event_times, np.linspace(0, 1, 200)))
        self._preprocessor = TabularPreprocessor().fit(X)
        rows = np.flatnonzero((target.time > 0) | (target.event > 0))
        self._model = self._module.DeepSurvivalMachines(
            k=4, layers=[100], distribution="Weibull", random_seed=self.random_state
        )
        target = target.take(rows)
        options = {
            "vsize": 0.15,
            "iters": 200,
            "learning_rate": 1e-3,
            "batch_size": 100,
        }
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Converting a tensor with requires_grad", UserWarning)
            x, time = self._matrix(X)[rows], self._scaled(target.time)
            self._model.fit(x, time, target.event, **options)
        return self

    def _matrix(self, X: Any) -> FloatArray:
        return np.asarray(self._preprocessor.transform(X), dtype=np.float64)

    def _scaled(self, time: FloatArray) -> FloatArray:
        return np.maximum(time, np.where(time > 0, 0.0, self._first)) / self._unit

    def _hazards(self, X: Any, times: FloatArray) -> FloatArray:
        """Return the cumulative hazard of every event type, 0 at time 0."""
        hazards = np.zeros((self._n_events, len(X), len(times)))
        scaled = (times[times > 0] / self._unit).tolist()
        for i in range(self._n_events if scaled else 0):
            survival = self._model.predict_survival(self._matrix(X), scaled, risk=i + 1)
            hazards[i][:, times > 0] = -np.log(np.clip(survival, np.finfo(np.float64).tiny, 1.0))
        return hazards

    def predict_survival_function(self, X: Any, times: Any) -> FloatArray:
        """Return the probability that nothing has happened by each time."""
        return np.exp(-self._hazards(X, np.atleast_1d(times)).sum(axis=0))

    def predict_cumulative_incidences(self, X: Any, times: Any) -> FloatArray:
        """Return the probability of each event by each time."""
        times = np.atleast_1d(times)
        grid = np.unique(np.concatenate([[0.0], self._grid, times]))
        hazards = self._hazards(X, grid)
        steps = np.diff(hazards, axis=2)
        lost = -np.diff(np.exp(-hazards.sum(axis=0)), axis=1)
        total = steps.sum(axis=0)
        share = np.divide(steps, total, out=np.zeros_like(steps), where=total > 0)
        incidences = np.pad(np.cumsum(share * lost, axis=2), ((0, 0), (0, 0), (1, 0)))
        return incidences[:, :, np.searchsorted(grid, times)]

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> FloatArray:
        """Return the probability of one event by each time."""
        return self.predict_cumulative_incidences(X, times)[event - 1]

    def predict(self, X: Any) -> FloatArray:
        """Return minus the mean survival time up to the last event."""
        grid = np.append(0.0, self._grid)
        return -np.trapezoid(self.predict_survival_function(X, grid), grid, axis=1)

    def log_likelihood(self, X: Any, y: Any) -> float:
        """Return the sum over rows, by the package's own formulas without its bound."""
        import torch

        target, network = as_target(y), self._model.torch_model
        arrays = (self._matrix(X), self._scaled(target.time), target.event)
        with torch.no_grad():
            losses = [
                self._module.losses.conditional_loss(
                    network, *map(torch.from_numpy, arrays), elbo=False, risk=str(event + 1)
                )
                for event in range(network.risks)
            ]
        return -float(sum(losses)) - np.log(self._unit) * int((target.event > 0).sum())


class UnseenModel(NamedTuple):
    """How a model is called in the docs and built from (are there several event types?, seed).

    version: a record counts only with this word. Change it whenever a change of the code changes the predictions.
    """

    title: str
    build: Callable[[bool, int], Any]
    version: str = "1"


def _cause_specific(build: Callable[[int], Any]) -> Callable[[bool, int], Any]:
    """Return a model of each event type if there are several."""
    return lambda competing, seed: (
        baselines.CauseSpecific(build(seed)) if competing else build(seed)
    )


def _boosting(competing: bool, seed: int) -> baselines.ModelAverage:
    seeds = range(3 * seed, 3 * seed + 3)
    return baselines.ModelAverage([baselines.GradientBoosting(random_state=s) for s in seeds])


MODELS = {
    "lifemix": UnseenModel(
        "`LifeMix()`", lambda competing, seed: LifeMix(random_state=seed), "defaults 0.3"
    ),
    "dsm": UnseenModel(
        "`DeepSurvivalMachines()`",
        lambda competing, seed: DeepSurvivalMachines(random_state=seed),
        "defaults 0.3",
    ),
    "paper": UnseenModel(
        "`DeepSurvivalMachines.paper()`",
        lambda competing, seed: DeepSurvivalMachines.paper(random_state=seed),
    ),
    "ridge": UnseenModel(
        "ridge Cox", _cause_specific(lambda seed: baselines.CoxPH(penalty="auto"))
    ),
    "coxnet": UnseenModel("coxnet", _cause_specific(Coxnet)),
    "boosting": UnseenModel("boosted trees, three seeds", _boosting),
    "xgboost": UnseenModel("XGBoost, Cox, three seeds", _cause_specific(XGBoostCox)),
    "xgboost-tuned": UnseenModel(
        "XGBoost, Cox, tuned, three seeds", _cause_specific(lambda seed: XGBoostCox(seed, True))
    ),
    "forest": UnseenModel(
        "random survival forest, 200 trees",
        _cause_specific(
            lambda seed: baselines.RandomSurvivalForest(
                n_trees=200, split_times=100, random_state=seed
            )
        ),
    ),
    "martingale": UnseenModel(
        "`MartingaleForest()`",
        lambda competing, seed: baselines.MartingaleForest(random_state=seed),
    ),
    "auton": UnseenModel("auton-survival's DSM", lambda competing, seed: AutonTable(seed)),
    "marginal": UnseenModel("no covariates", lambda competing, seed: baselines.AalenJohansen()),
}
