"""How good a model is on rows it has not seen, beside models that anyone can fit."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import LifemixError, LifemixWarning
from ..estimators import DeepSurvivalMachines
from ..metrics import aalen_johansen, bootstrap, concordance_antolini, concordance_td, evaluate
from ..target import as_target

__all__ = ["Quality", "event_horizons", "measure"]

Floats = NDArray[np.float64]
_RESAMPLES = 200
_MOST_RESAMPLED = 20_000  # rows; beyond, intervals are narrow and slow
_MOST_WEIGHED = 10_000  # training rows that the weights of a resample's concordance come from


@dataclass
class Quality:
    """One model's measures; those that the data cannot give are left out, with the reason in ``without``.

    values: lists by horizon, under ``concordance``, ``brier``, ``auc`` for each event; numbers by event under
    ``integrated_brier``. calibration: for each event and horizon the mean predicted and the observed risk.
    log_likelihood: a row; log_likelihood_without: of the same law without covariates, fitted to the training rows.
    """

    model: str
    rows: int
    horizons: list[float]
    values: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    interval: dict[int, tuple[float, float]] = field(default_factory=dict)
    calibration: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    d_calibration_p: float | None = None
    antolini: float | None = None
    log_likelihood: float | None = None
    log_likelihood_without: float | None = None
    without: str = ""

    def mean(self, metric: str, event: int = 1) -> float:
        """Return the mean of a measure over the horizons."""
        values = self.values.get(metric, {}).get(event, [])
        return float(np.mean(values)) if values else float("nan")

    def to_state(self) -> dict[str, Any]:
        """Return the measures as plain lists and dictionaries."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Quality:
        """Return the measures whose ``to_state`` was saved as JSON, which has text for keys."""
        values = {metric: _by_event(lists) for metric, lists in state["values"].items()}
        by_event = {name: _by_event(state[name]) for name in ("interval", "calibration")}
        return cls(**(dict(state) | {"values": values} | by_event))


def event_horizons(y: Any, quantiles: Sequence[float] = (0.25, 0.5, 0.75)) -> list[float]:
    """Return quantiles of the times of all events: where models are measured unless told otherwise."""
    target = as_target(y)
    times = np.where(target.interval, (target.time + target.upper) / 2, target.time)[target.event > 0]
    return sorted({float(t) for t in np.quantile(times, quantiles) if t > 0}) or [float(target.time.max())]


def measure(
    models: Mapping[str, Any],
    y_train: Any,
    X: pd.DataFrame,
    y: Any,
    horizons: Sequence[float],
    seed: int = 0,
    intervals: bool = True,
) -> list[Quality]:
    """Measure models on the same rows; the first may also get intervals for its concordance."""
    target = as_target(y)
    found: list[Quality] = []
    for name, model in models.items():
        quality = Quality(name, len(target), list(horizons))
        if hasattr(model, "log_likelihood"):
            quality.log_likelihood = model.log_likelihood(X, y) / len(target)
            quality.log_likelihood_without = _without_covariates(model.primitive, y_train, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)  # what has no value is shown as such
            _add_measures(quality, model, y_train, X, y, seed if intervals and not found else None)
        found.append(quality)
    return found


def _without_covariates(primitive: str, y_train: Any, y: Any) -> float:
    """Return the log-likelihood a row of one law for all, the maximum on the training rows."""
    nothing = [np.zeros((len(as_target(part)), 1)) for part in (y_train, y)]
    law = DeepSurvivalMachines(primitive, k=1, hidden=(), preprocessor=None, max_epochs=0).fit(nothing[0], y_train)
    return law.log_likelihood(nothing[1], y) / len(nothing[1])


def _add_measures(quality: Quality, model: Any, y_train: Any, X: pd.DataFrame, y: Any, seed: int | None) -> None:
    target, train = as_target(y), as_target(y_train)
    if target.interval.any():
        quality.without = "with events known only to an interval, the likelihood is the measure"
        return
    if target.truncated.any() or train.truncated.any():
        quality.without = "weights for censoring do not go with late entry, so there is no Brier score or C^td"
        times = np.unique(np.quantile(target.time, np.linspace(0, 1, 101)))
        quality.antolini = concordance_antolini(y, model.predict_survival_function(X, times), times)
        return
    try:
        table = evaluate(model, y_train, X, y, quality.horizons)
    except LifemixError as error:
        quality.without = str(error).rstrip(".")
        return
    _take(quality, table)
    n_events = max(train.n_events, 1)
    risks = {m: _risk(model, X, quality.horizons, m, n_events) for m in range(1, n_events + 1)}
    for event, risk in risks.items():
        quality.calibration[event] = list(zip(risk.mean(0).tolist(), _observed(target, quality, event), strict=True))
    if seed is not None and len(target) <= _MOST_RESAMPLED:
        quality.interval = {m: _interval(y_train, y, risk, quality.horizons, m, seed) for m, risk in risks.items()}


def _take(quality: Quality, table: pd.DataFrame) -> None:
    for row in table.to_dict("records"):
        if row["metric"] == "d_calibration_p":
            quality.d_calibration_p = float(row["value"])
        elif row["metric"] != "d_calibration":
            by_event = quality.values.setdefault(str(row["metric"]), {})
            by_event.setdefault(int(row["event"]), []).append(float(row["value"]))


def _risk(model: Any, X: pd.DataFrame, horizons: Sequence[float], event: int, n_events: int) -> Floats:
    if n_events == 1:
        return np.asarray(1 - model.predict_survival_function(X, horizons))
    return np.asarray(model.predict_cumulative_incidence(X, horizons, event=event))


def _observed(target: Any, quality: Quality, event: int) -> list[float]:
    """Return the share that had the event by each horizon; NaN beyond the follow-up."""
    return aalen_johansen(target, event).at(quality.horizons).tolist()


def _interval(
    y_train: Any, y: Any, risk: Floats, horizons: Sequence[float], event: int, seed: int
) -> tuple[float, float]:
    train = as_target(y_train)
    train = train.take(np.random.default_rng(seed).permutation(len(train))[:_MOST_WEIGHED])

    def mean_concordance(drawn: Any, predicted: Floats) -> float:
        values = [concordance_td(train, drawn, predicted[:, i], t, event) for i, t in enumerate(horizons)]
        return float(np.mean(values))

    result = bootstrap(mean_concordance, y, risk, n_resamples=_RESAMPLES, random_state=seed)
    return float(result.lower), float(result.upper)


def _by_event(values: Mapping[str, Any]) -> dict[int, Any]:
    return {int(event): _numbers(value) for event, value in values.items()}


def _numbers(value: Any) -> Any:
    """Return what JSON kept of lists of numbers, with NaN where it had none."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float("nan") if value is None else value
