"""The section on the data: rows, events, follow-up, covariates and missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...metrics import kaplan_meier
from ...preprocessing.columns import ColumnData
from ...target import Target
from .._pieces import Html, Section, TableColumn, paragraph, table
from ..doctor.outcome import exact_times
from ..doctor.table import readable_columns
from ..text import percent, plain
from .context import ReportContext

__all__ = ["data_section", "median_time"]

_LEVELS = 6


def data_section(report: ReportContext) -> Section:
    """Describe the rows of training and of this report."""
    section = Section("Data", [_counts(report)])
    left_out = len(report.target) - len(report.y)
    if left_out:
        section.blocks.append(_left_out(report, left_out))
    section.blocks.append(_covariates(report.frame))
    return section


def _left_out(report: ReportContext, number: int) -> Html:
    special = int((report.target.interval | report.target.truncated).sum())
    reasons = []
    if special:
        reasons.append(
            f"{special:,} are interval-censored or left-truncated, which the measures cannot use"
        )
    if number > special:
        reasons.append(
            "the others were sampled at random" if special else "they were sampled at random"
        )
    used = f"Measures and figures use {len(report.y):,} of the {len(report.target):,} rows"
    return paragraph(f"{used}: {', and '.join(reasons)}.")


def _counts(report: ReportContext) -> Html:
    samples = [("evaluated rows", exact_times(report.target))]
    if report.train is not None:
        samples.insert(0, ("training rows", exact_times(report.train)))
    rows: list[list[Any]] = [["rows", *(f"{len(target):,}" for _, target in samples)]]
    for code, name in enumerate(report.names, 1):
        rows.append([name, *(_share(target.event == code) for _, target in samples)])
    rows.append(["censored", *(_share(target.event == 0) for _, target in samples)])
    rows.append(
        [
            "median follow-up (reverse Kaplan-Meier)",
            *(_follow_up(target, report) for _, target in samples),
        ]
    )
    rows.append(
        [
            "median time to first event (Kaplan-Meier)",
            *(_quartiles(target, report) for _, target in samples),
        ]
    )
    rows.append(["last time", *(report.time(float(target.time.max())) for _, target in samples)])
    columns = [TableColumn("", text=True), *(TableColumn(name) for name, _ in samples)]
    foot = "Training rows: those given to fit, including the rows held out for early stopping."
    return table(
        columns, rows, "Rows, events and follow-up", foot if report.train is not None else ""
    )


def _share(chosen: Any) -> str:
    return f"{int(chosen.sum()):,} ({percent(float(chosen.mean()))})"


def _follow_up(target: Target, report: ReportContext) -> str:
    reverse = replace(target, event=(target.event == 0).astype(np.int64))
    return _quartiles(reverse, report)


def _quartiles(target: Target, report: ReportContext) -> str:
    """Return the median of a Kaplan-Meier curve with its quartiles, as far as it falls."""
    if not (target.event > 0).any():
        return "not reached"
    low, middle, high = (median_time(target, level) for level in (0.75, 0.5, 0.25))
    if middle is None:
        return "not reached"
    ends = " to ".join("not reached" if end is None else f"{end:,.4g}" for end in (low, high))
    return f"{report.time(middle)} (quartiles {ends})"


def median_time(target: Target, level: float = 0.5) -> float | None:
    """Return the first time at which the Kaplan-Meier curve of any event is at or below a level, or None."""
    curve = kaplan_meier(target)
    below = np.flatnonzero(curve.estimate <= level + 1e-12)
    return float(curve.time[below[0]]) if len(below) else None


def _covariates(frame: pd.DataFrame) -> Html:
    variables, _ = readable_columns(frame)
    rows = [
        [v.name, _type(v), _describe(v), _share(v.missing) if v.missing.any() else "0"]
        for v in variables
    ]
    columns = [
        TableColumn("covariate"),
        TableColumn("type", text=True),
        TableColumn("median [quartiles] (range), or levels", text=True),
        TableColumn("missing"),
    ]
    return table(columns, rows, f"Covariates of the {len(frame):,} evaluated rows")


def _type(variable: ColumnData) -> str:
    if variable.distinct < 2:
        return "constant" if variable.distinct else "empty"
    if variable.numbers is None:
        return f"category ({variable.distinct})"
    return "0/1" if set(np.unique(variable.numbers[~variable.missing])) <= {0.0, 1.0} else "number"


def _describe(variable: ColumnData) -> str:
    if variable.distinct == 0:
        return "–"
    if variable.numbers is not None:
        seen = variable.numbers[~variable.missing]
        if _type(variable) == "0/1":
            return f"1: {_share(seen == 1)}"
        low, first, middle, third, high = np.quantile(seen, [0, 0.25, 0.5, 0.75, 1])
        return f"{plain(middle)} [{plain(first)}, {plain(third)}] ({plain(low)} to {plain(high)})"
    assert variable.codes is not None
    known = variable.codes[variable.codes >= 0]
    counts = np.bincount(known, minlength=len(variable.levels))
    order = np.argsort(-counts, kind="stable")
    parts = [
        f"{variable.levels[i]} {percent(counts[i] / max(1, len(known)))}" for i in order[:_LEVELS]
    ]
    rest = len(order) - len(parts)
    return "; ".join(parts) + (f"; {rest} more" if rest > 0 else "")
