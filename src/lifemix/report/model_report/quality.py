"""The section on quality: every registered standard measure, and those that compare with the marginal curve."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from ..._types import FloatArray
from ...metrics import Measure, evaluate, measure_named, registered_measures
from ...target import Target
from .._pieces import (
    Html,
    Section,
    TableColumn,
    Value,
    bullets,
    joined,
    note,
    paragraph,
    safe,
    table,
)
from ..text import counted, listed, p_value
from .context import ReportContext

__all__ = ["CTD", "Measured", "measure_quality", "quality_section", "with_interval"]

Measured = dict[
    tuple[str, int], FloatArray
]  # by metric and event type: value, lower and upper limit for each horizon

CTD = Html("C<sup>td</sup>")
# Shown beside the standard measures: with bootstrap intervals, and without.
_WITH_INTERVAL = ("scaled_brier", "observed_expected", "integrated_scaled_brier")
_WITHOUT = ("marginal_brier", "ici", "integrated_marginal_brier")
_SIGNIFICANT = 0.05
_FEW_EVENTS = 10
# Rows of the table in this order; measures of others follow.
_ORDER = (
    "concordance",
    "auc",
    "brier",
    "marginal_brier",
    "scaled_brier",
    "observed_expected",
    "ici",
)


def measure_quality(report: ReportContext) -> Measured:
    """Return what ``metrics.evaluate`` gives; where there is no interval, its limits are NaN."""
    standard = [measure for measure in registered_measures() if measure.standard]
    own_time = [measure.name for measure in standard if measure.kind == "own_time"]
    others = [measure.name for measure in standard if measure.kind != "own_time"]
    rows = (report.predictor, report.base, report.rows, report.y, report.horizons)
    with_limits = evaluate(
        *rows,
        measures=[*others, *_WITH_INTERVAL],
        n_bootstrap=report.n_bootstrap,
        random_state=report.seed,
    )
    both = pd.concat([with_limits, evaluate(*rows, measures=[*_WITHOUT, *own_time])])
    known: dict[tuple[str, int], list[tuple[float, ...]]] = {}
    for metric, event, _, *numbers in both.itertuples(index=False):
        known.setdefault((metric, event), []).append(tuple(numbers))
    return {key: np.array(rows) for key, rows in known.items()}


def with_interval(quality: Measured, metric: str, event: int, place: int = 0) -> str:
    """Return one value with its interval, as a sentence has it."""
    value, lower, upper = quality[metric, event][place]
    if not np.isfinite(value):
        return "not defined"
    factor, form, sign = (100, ".1f", " %") if measure_named(metric).percent else (1, ".3f", "")
    shown, low, high = (f"{factor * number:{form}}" for number in (value, lower, upper))
    return f"{shown}{sign}{f' [{low}, {high}]' if np.isfinite(lower) else ''}".replace("-", "−")


def _rows(target: Target) -> str:
    """Return how many rows were measured, and of how many subjects."""
    rows = f"{len(target):,} rows"
    return rows if target.subject is None else f"{rows} of {target.n_subjects:,} subjects"


def quality_section(report: ReportContext, quality: Measured) -> Section:
    """Return the tables, one for each event type, and how to read them."""
    section = Section("Quality on the evaluated rows")
    section.blocks.append(
        paragraph(
            f"Measured on {_rows(report.y)}. In brackets: 95 % bootstrap intervals (BCa) from {report.n_bootstrap} "
            f"samples of these {'rows' if report.y.subject is None else 'subjects'}, with the model kept fixed."
        )
    )
    for event in range(1, report.n_events + 1):
        section.blocks += [_by_horizon(report, quality, event), *_few_events(report, event)]
    section.blocks += [_over_time(report, quality), bullets(_explanations(report))]
    if report.n_events == 1:
        section.blocks += _own_time(quality)
    return section


def _shown(quality: Measured, kind: str) -> list[Measure]:
    known = {name for name, _ in quality}
    found = [
        measure
        for measure in registered_measures()
        if measure.kind == kind and measure.name in known
    ]
    return sorted(found, key=lambda measure: (*_ORDER, measure.name).index(measure.name))


def _label(measure: Measure) -> Html:
    return Html(re.sub(r"\^(\w+)", r"<sup>\1</sup>", safe(measure.label)))


def _better(measure: Measure) -> Html:
    return Html(
        f'<small class="under">{measure.better} is better</small>' if measure.better else ""
    )


def _entries(quality: Measured, measure: Measure, event: int) -> list[Value]:
    """Return the values of a measure with their intervals below them."""
    factor, digits, sign = (100, 1, "%") if measure.percent else (1, 3, "")
    entries = []
    for numbers in quality[measure.name, event]:
        value, lower, upper = (
            np.round(factor * numbers, digits) + 0.0
        )  # so that nothing reads -0.000
        known = np.isfinite(lower) and np.isfinite(upper)
        note = f"[{lower:.{digits}f}, {upper:.{digits}f}]".replace("-", "−") if known else ""
        entries.append(
            Value(value, note=note, suffix=sign if np.isfinite(value) else "", digits=digits)
        )
    return entries


def _by_horizon(report: ReportContext, quality: Measured, event: int) -> Html:
    columns = [
        TableColumn("measure"),
        *(TableColumn(f"by {report.time(time)}") for time in report.horizons),
    ]
    rows: list[list[Any]] = [
        [joined(_label(measure), _better(measure)), *_entries(quality, measure, event)]
        for measure in _shown(quality, "horizon")
    ]
    rows.append(["mean predicted risk", *report.risks[event - 1].mean(axis=0)])
    return table(columns, rows, f"Quality of the predicted risk{report.of(event)} at the horizons")


def _few_events(report: ReportContext, event: int) -> list[Html]:
    """Return a note on horizons by which so few events were observed that measures there say nothing."""
    counts = [
        int(((report.y.event == event) & (report.y.time <= time)).sum()) for time in report.horizons
    ]
    few = {
        report.time(time): n
        for time, n in zip(report.horizons.tolist(), counts, strict=True)
        if n < _FEW_EVENTS
    }
    if not few:
        return []
    found = listed([f"{counted(n, 'event')} by {time}" for time, n in few.items()])
    return [
        note(
            f"Only {found}{report.of(event)} in these rows: what is measured there says little, intervals included."
        )
    ]


def _over_time(report: ReportContext, quality: Measured) -> Html:
    measures = _shown(quality, "curve")
    columns = [
        TableColumn("event"),
        *(TableColumn(joined(_label(measure), _better(measure))) for measure in measures),
    ]
    rows: list[list[Any]] = [
        [name, *(entry for measure in measures for entry in _entries(quality, measure, event))]
        for event, name in enumerate(report.names, 1)
    ]
    return table(columns, rows, f"Quality from 0 to {report.time(float(report.horizons[-1]))}")


def _own_time(quality: Measured) -> list[Html]:
    """Return what is measured over all times, and what D-calibration says in words."""
    rows: list[list[Any]] = [
        [_label(measure), *_entries(quality, measure, 1)] for measure in _shown(quality, "own_time")
    ]
    p = float(quality["d_calibration_p", 1][0, 0])
    found = "evidence of miscalibration" if p < _SIGNIFICANT else "no evidence of miscalibration"
    return [
        table([TableColumn("measure"), TableColumn("value")], rows, "Quality over all times"),
        paragraph(f"D-calibration, {p_value(p)}: {found} over all times."),
    ]


def _explanations(report: ReportContext) -> list[object]:
    return [
        joined(
            CTD,
            ": of two subjects of whom one had the event by the horizon and before the other, how often that one has "
            "the higher predicted risk; 0.5 is chance",
            "; other event types count as censoring" if report.n_events > 1 else "",
            ". AUC: the same for those with the event by the horizon against those still without it then.",
        ),
        "Brier score: mean squared distance between predicted risk and outcome. Below it that of the marginal curve, "
        f"which gives everyone the same {report.marginal} risk, whatever the covariates. Scaled Brier score: the share "
        "of the marginal curve's score that the model removes; below 0 it is worse than without covariates.",
        "Observed / expected risk: risk observed in all rows over mean predicted risk; 1 is right, above 1 the "
        "predictions are too low. ICI (integrated calibration index): mean distance between predicted and smoothed "
        "observed risk over the subjects.",
        joined(
            CTD,
            ", AUC and Brier score are weighted for censoring, whose distribution is estimated on the ",
            "evaluated rows" if report.base is report.y else "training rows",
            "; the others are based on curves that allow for it.",
        ),
    ]
