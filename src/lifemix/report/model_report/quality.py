"""The section on quality: what was measured at the horizons, beside a null model, and how to read it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._html import Html, Section, TableColumn, Value, bullets, joined, paragraph, table
from ...metrics import d_calibration
from ..predictions import Floats, survival_at_own_time
from .context import ReportContext
from .measures import Measure, Quality

__all__ = ["CTD", "quality_section"]

CTD = Html("C<sup>td</sup>")


def quality_section(report: ReportContext, qualities: list[Quality]) -> Section:
    """Return the tables, one for each kind of event, and how to read them."""
    explain = [
        joined(
            CTD,
            ": of two subjects of whom one had the event by the horizon and before the other, how often that one was "
            "given the higher risk; 0.5 is chance",
            "; other kinds of event count as censoring" if report.n_events > 1 else "",
            ". AUC: the same for those with the event by the horizon against those still without it then.",
        ),
        "Brier score: mean squared distance between predicted risk and outcome; lower is better. Beside it that of the "
        f"null model, which gives everyone the same {'Kaplan-Meier' if report.n_events == 1 else 'Aalen-Johansen'} "
        "risk, whatever the covariates. Gain: the share of the null model's score that the model takes away; below 0 "
        "it is worse than no covariates at all.",
        "Observed / expected: risk observed in all rows over mean predicted risk; 1 is right, above 1 the model "
        "predicts too little. ICI: mean distance of predicted and smoothed observed risk over the subjects.",
        joined(
            CTD,
            ", AUC and Brier score are weighted for censoring, whose distribution is estimated on the ",
            "evaluated rows" if report.base is report.y else "training rows",
            "; the others come from curves that allow for it.",
        ),
    ]
    section = Section("Quality on the evaluated rows")
    section.blocks.append(
        paragraph(
            f"Measured on {len(report.y):,} rows. In brackets: 95 % percentile intervals from "
            f"{report.n_bootstrap} bootstrap samples of these rows, the model staying as it is."
        )
    )
    for event, quality in enumerate(qualities, 1):
        title = "" if report.n_events == 1 else f" of {report.names[event - 1]}"
        section.blocks.append(_by_horizon(report, quality, report.risks[event - 1].mean(axis=0), title))
    section.blocks.append(_overall(report, qualities))
    section.blocks.append(bullets(explain))
    if report.n_events == 1:
        test = d_calibration(report.y, _own(report))
        section.blocks.append(
            paragraph(
                f"D-calibration over the whole of time: chi-squared {test.statistic:.1f} on 9 degrees of freedom, "
                f"{'p < 0.001' if test.p_value < 0.001 else f'p = {test.p_value:.3f}'}; a small p speaks against the "
                "model."
            )
        )
    return section


def _own(report: ReportContext) -> Floats:
    return np.clip(survival_at_own_time(report.model, report.table(report.X), report.y), 0, 1)


def _by_horizon(report: ReportContext, quality: Quality, means: Floats, title: str) -> Html:
    columns = [TableColumn("measure"), *(TableColumn(f"by {report.time(t)}") for t in report.horizons)]
    rows: list[list[Any]] = [
        _row(CTD, quality.concordance),
        _row("AUC", quality.auc),
        _row("Brier score", quality.brier),
        ["Brier score, null model", *quality.null_brier],
        _row("gain over the null model", quality.gain),
        _row("observed / expected", quality.ratio),
        ["ICI", *quality.ici],
        ["mean predicted risk", *means],
    ]
    return table(columns, rows, f"Quality of the predicted risk{title} at the horizons")


def _overall(report: ReportContext, qualities: list[Quality]) -> Html:
    columns = [TableColumn("event"), TableColumn("model"), TableColumn("null model"), TableColumn("gain")]
    rows: list[list[Any]] = [
        [name, _entry(quality.integrated, 0), quality.null_integrated, _entry(quality.integrated_gain, 0)]
        for name, quality in zip(report.names, qualities, strict=True)
    ]
    return table(columns, rows, f"Integrated Brier score from 0 to {report.time(float(report.horizons[-1]))}")


def _row(name: str, measure: Measure) -> list[Any]:
    return [name, *(_entry(measure, i) for i in range(len(measure.value)))]


def _entry(measure: Measure, i: int) -> Value:
    known = np.isfinite(measure.lower[i]) and np.isfinite(measure.upper[i])
    note = f"[{_tidy(measure.lower[i]):.3f}, {_tidy(measure.upper[i]):.3f}]".replace("-", "−") if known else ""
    return Value(_tidy(measure.value[i]), note=note)


def _tidy(value: float) -> float:
    """Return a number as it is printed, so that nothing reads -0.000."""
    return round(float(value), 3) + 0.0
