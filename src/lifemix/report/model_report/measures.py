"""The measures of the report: discrimination, accuracy and calibration with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics import (
    aalen_johansen,
    auc_td,
    bootstrap,
    brier_score,
    concordance_td,
    integrated_calibration_index,
)
from ...target import Target
from ..predictions import Floats
from .context import ReportContext

__all__ = ["Measure", "Quality", "measure_quality", "null_risk"]


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure at each horizon with its 95 % interval, shape (n_horizons,) or (1,); NaN where it has no value."""

    value: Floats
    lower: Floats
    upper: Floats

    def part(self, chosen: slice) -> Measure:
        """Return some of the values."""
        return Measure(self.value[chosen], self.lower[chosen], self.upper[chosen])

    def text(self, i: int, percent: bool = False) -> str:
        """Return the measure at one horizon with its interval, as a sentence has it."""
        if not np.isfinite(self.value[i]):
            return "not known"
        factor, form, sign = (100, ".1f", " %") if percent else (1, ".3f", "")
        value, lower, upper = (f"{factor * v[i]:{form}}" for v in (self.value, self.lower, self.upper))
        return f"{value}{sign} [{lower}, {upper}]".replace("-", "−")


@dataclass(frozen=True, eq=False)
class Quality:
    """The measures of one kind of event."""

    concordance: Measure
    auc: Measure
    brier: Measure
    null_brier: Floats
    gain: Measure
    ratio: Measure
    ici: Floats
    integrated: Measure
    null_integrated: float
    integrated_gain: Measure


def measure_quality(report: ReportContext) -> list[Quality]:
    """Measure the model for each kind of event; the intervals are over the rows, the model staying as it is."""
    return [_measure(report, event) for event in report.event_codes]


def null_risk(report: ReportContext, times: Floats, event: int) -> Floats:
    """Return the risk of everyone without covariates at each time: Aalen-Johansen, for one kind Kaplan-Meier."""
    curve = aalen_johansen(report.base, event)
    return np.asarray(curve.at(np.minimum(times, curve.time[-1])))


def _measure(report: ReportContext, event: int) -> Quality:
    risk, at, base = report.risks[event - 1], report.horizons, report.base
    errors = _squared_errors(report, event)
    curve = np.hstack([risk, report.curves[event - 1]])

    def concordance(y: Target, risk: Floats) -> Floats:
        return np.array([concordance_td(base, y, risk[:, i], float(t), event) for i, t in enumerate(at)])

    def ratio(y: Target, risk: Floats) -> Floats:
        seen = aalen_johansen(y, event)
        return np.array([_known(seen, float(t)) for t in at]) / risk.mean(axis=0)

    draw = _Bootstrap(report)
    score, n = draw(lambda y, curve: np.concatenate(errors(y, curve)), curve), len(at)
    null = errors(report.y, np.tile(null_risk(report, np.append(at, report.grid), event), (len(curve), 1)))[0]
    return Quality(
        concordance=draw(concordance, risk),
        auc=draw(lambda y, risk: np.asarray(auc_td(base, y, risk, at, event)), risk),
        brier=score.part(slice(0, n)),
        integrated=score.part(slice(n, n + 1)),
        gain=score.part(slice(n + 1, 2 * n + 1)),
        integrated_gain=score.part(slice(2 * n + 1, None)),
        null_brier=null[:n],
        null_integrated=float(null[n]),
        ratio=draw(ratio, risk),
        ici=np.array(
            [integrated_calibration_index(report.y, r, float(t), event) for r, t in zip(risk.T, at, strict=True)]
        ),
    )


def _squared_errors(report: ReportContext, event: int) -> Callable[[Target, Floats], tuple[Floats, Floats]]:
    """Return a function of rows and risks at the horizons and on the grid, (n, h + g), to scores and gains.

    Both have one value a horizon and a last one for the integral from 0 to the last horizon by the trapezoidal rule,
    over its length. The gain is one less the score over that of the null model on the same rows.
    """
    at, grid = report.horizons, np.append(0.0, report.grid)
    times = np.append(at, report.grid)
    null = 1 - null_risk(report, times, event)

    def scores(y: Target, survival: Floats) -> Floats:
        values = np.asarray(brier_score(report.base, y, survival, times, event))
        over_time = np.append(0.0, values[len(at) :])  # at time 0 every model is right
        return np.append(values[: len(at)], np.trapezoid(over_time, grid) / grid[-1])

    def both(y: Target, risk: Floats) -> tuple[Floats, Floats]:
        own = scores(y, 1 - risk)
        return own, 1 - own / scores(y, np.tile(null, (len(y), 1)))

    return both


def _known(curve: Any, time: float) -> float:
    return float(curve.at(time)) if time <= curve.time[-1] else float("nan")


class _Bootstrap:
    """Measures with intervals, each over the same draws of the rows."""

    def __init__(self, report: ReportContext) -> None:
        self._report = report

    def __call__(self, metric: Callable[..., Floats], *predictions: Floats) -> Measure:
        report = self._report
        value = np.asarray(metric(report.y, *predictions))
        lower, upper = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
        known = np.isfinite(value)
        if known.any() and report.n_bootstrap >= 2:
            result = bootstrap(
                lambda y, *arrays: np.asarray(metric(y, *arrays))[known],
                report.y,
                *predictions,
                n_resamples=report.n_bootstrap,
                random_state=report.seed,
            )
            lower[known], upper[known] = result.lower, result.upper
        return Measure(value, lower, upper)
