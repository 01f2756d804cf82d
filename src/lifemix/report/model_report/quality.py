"""The section on quality: discrimination, accuracy and calibration with bootstrap intervals, beside a null model."""

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
    d_calibration,
    integrated_brier_score,
    integrated_calibration_index,
)
from ...target import Target
from ..html import Html, bullets, paragraph
from ..page import Section
from ..predictions import Floats, survival_at_own_time
from ..tables import Column, Value, table
from .evidence import Evidence

__all__ = ["Measure", "Quality", "measure_quality", "null_risk", "quality_section"]


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure at each horizon with its 95 % interval, shape (n_horizons,) or (1,); NaN where it has no value."""

    name: str
    value: Floats
    lower: Floats
    upper: Floats

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


def measure_quality(evidence: Evidence) -> list[Quality]:
    """Measure the model for each kind of event; the intervals are over the rows, the model staying as it is."""
    return [_measure(evidence, event) for event in evidence.event_codes]


def null_risk(evidence: Evidence, times: Floats, event: int) -> Floats:
    """Return the risk of everyone without covariates at each time: Aalen-Johansen, for one kind Kaplan-Meier."""
    curve = aalen_johansen(evidence.base, event)
    return np.asarray(curve.at(np.minimum(times, curve.time[-1])))


def _measure(evidence: Evidence, event: int) -> Quality:
    risk, at, base = evidence.risks[event - 1], evidence.horizons, evidence.base
    grid = np.append(0.0, evidence.grid)
    curve = np.hstack([np.zeros((len(risk), 1)), evidence.curves[event - 1]])
    null, null_curve = null_risk(evidence, at, event), null_risk(evidence, grid, event)

    def concordance(y: Target, risk: Floats) -> Floats:
        return np.array([concordance_td(base, y, risk[:, i], float(t), event) for i, t in enumerate(at)])

    def brier(y: Target, risk: Floats) -> Floats:
        return np.asarray(brier_score(base, y, 1 - risk, at, event))

    def null_brier(y: Target) -> Floats:
        return np.asarray(brier_score(base, y, np.tile(1 - null, (len(y), 1)), at, event))

    def integrated(y: Target, curve: Floats) -> float:
        return integrated_brier_score(base, y, 1 - curve, grid, event, rule="trapezoid")

    def null_integrated(y: Target) -> float:
        return integrated(y, np.tile(null_curve, (len(y), 1)))

    def ratio(y: Target, risk: Floats) -> Floats:
        seen = aalen_johansen(y, event)
        return np.array([_known(seen, float(t)) for t in at]) / risk.mean(axis=0)

    draw = _Bootstrap(evidence)
    return Quality(
        concordance=draw("C^td", concordance, risk),
        auc=draw("AUC", lambda y, risk: np.asarray(auc_td(base, y, risk, at, event)), risk),
        brier=draw("Brier score", brier, risk),
        null_brier=null_brier(evidence.y),
        gain=draw("gain over no covariates", lambda y, risk: 1 - brier(y, risk) / null_brier(y), risk),
        ratio=draw("observed / expected", ratio, risk),
        ici=np.array(
            [integrated_calibration_index(evidence.y, r, float(t), event) for r, t in zip(risk.T, at, strict=True)]
        ),
        integrated=draw("integrated Brier score", lambda y, c: np.array([integrated(y, c)]), curve),
        null_integrated=null_integrated(evidence.y),
        integrated_gain=draw("gain", lambda y, c: np.array([1 - integrated(y, c) / null_integrated(y)]), curve),
    )


def _known(curve: Any, time: float) -> float:
    return float(curve.at(time)) if time <= curve.time[-1] else float("nan")


class _Bootstrap:
    """Measures with intervals, each over the same draws of the rows."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def __call__(self, name: str, metric: Callable[..., Floats], *predictions: Floats) -> Measure:
        evidence = self._evidence
        value = np.asarray(metric(evidence.y, *predictions))
        lower, upper = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
        known = np.isfinite(value)
        if known.any() and evidence.n_bootstrap >= 2:
            result = bootstrap(
                lambda y, *arrays: np.asarray(metric(y, *arrays))[known],
                evidence.y,
                *predictions,
                n_resamples=evidence.n_bootstrap,
                random_state=evidence.seed,
            )
            lower[known], upper[known] = result.lower, result.upper
        return Measure(name, value, lower, upper)


def quality_section(evidence: Evidence, qualities: list[Quality]) -> Section:
    """Return the tables, one for each kind of event, and how to read them."""
    explain = [
        "C^td: of two subjects of whom one had the event by the horizon, how often that one was given the higher risk; "
        "0.5 is chance. AUC: the same for those with the event by the horizon against those still without it then.",
        "Brier score: mean squared distance between predicted risk and outcome; lower is better. Beside it that of the "
        "null model, which gives everyone the training rows' "
        f"{'Kaplan-Meier' if evidence.n_events == 1 else 'Aalen-Johansen'} risk. Gain: the share of the null model's "
        "score that the model takes away; below 0 it is worse than no covariates at all.",
        "Observed / expected: risk observed in all rows over mean predicted risk; 1 is right, above 1 the model "
        "predicts too little. ICI: mean distance of predicted and smoothed observed risk over the subjects.",
        "All are weighted for censoring, whose distribution is estimated on the training rows.",
    ]
    section = Section("Quality on the evaluated rows")
    section.blocks.append(
        paragraph(
            f"Measured on {len(evidence.y):,} rows. In brackets: 95 % percentile intervals from "
            f"{evidence.n_bootstrap} bootstrap samples of these rows, the model staying as it is."
        )
    )
    for event, quality in enumerate(qualities, 1):
        title = "" if evidence.n_events == 1 else f" of {evidence.names[event - 1]}"
        means = evidence.risks[event - 1].mean(axis=0)
        section.blocks += [_by_horizon(evidence, quality, means, title), _overall(evidence, quality, title)]
    section.blocks.append(bullets(explain))
    if evidence.n_events == 1:
        test = d_calibration(evidence.y, _own(evidence))
        section.blocks.append(
            paragraph(
                f"D-calibration over the whole of time: chi-squared {test.statistic:.1f} on 9 degrees of freedom, "
                f"p = {test.p_value:.3f}; a small p speaks against the model."
            )
        )
    return section


def _own(evidence: Evidence) -> Floats:
    return np.clip(survival_at_own_time(evidence.model, evidence.table(evidence.X), evidence.y), 0, 1)


def _by_horizon(evidence: Evidence, quality: Quality, means: Floats, title: str) -> Html:
    columns = [Column("measure"), *(Column(f"by {evidence.time(t)}") for t in evidence.horizons)]
    rows: list[list[Any]] = [
        _row("C^td", quality.concordance),
        _row("AUC", quality.auc),
        _row("Brier score", quality.brier),
        ["Brier score, null model", *quality.null_brier],
        _row("gain over the null model", quality.gain),
        _row("observed / expected", quality.ratio),
        ["ICI", *quality.ici],
        ["mean predicted risk", *means],
    ]
    return table(columns, rows, f"Quality of the predicted risk{title} at the horizons")


def _overall(evidence: Evidence, quality: Quality, title: str) -> Html:
    columns = [Column("measure"), Column("model"), Column("null model"), Column("gain")]
    row: list[Any] = [
        "integrated Brier score",
        _entry(quality.integrated, 0),
        quality.null_integrated,
        _entry(quality.integrated_gain, 0),
    ]
    return table(columns, [row], f"From 0 to {evidence.time(float(evidence.horizons[-1]))}{title}")


def _row(name: str, measure: Measure) -> list[Any]:
    return [name, *(_entry(measure, i) for i in range(len(measure.value)))]


def _entry(measure: Measure, i: int) -> Value:
    known = np.isfinite(measure.lower[i]) and np.isfinite(measure.upper[i])
    note = f"[{measure.lower[i]:.3f}, {measure.upper[i]:.3f}]".replace("-", "−") if known else ""
    return Value(float(measure.value[i]), note=note)
