"""Figures of quality: calibration at the horizons, Brier score over time, observed curves of risk groups."""

from __future__ import annotations

import numpy as np

from ..._html import Html, Section, TableColumn, figure, new_figure, paragraph, table
from ...metrics import aalen_johansen, survival_at_own_time
from ...plots import brier_over_time, calibration, d_calibration, risk_groups
from ...plots.risk_groups import group_by_risk
from ...plots.style import colour, legend_beside, time_axis
from .context import Floats, ReportContext

__all__ = ["calibration_section", "groups_section", "over_time_section"]

_GROUPS = 4
_BINS = 10
_ROWS_PER_BIN = 40


def calibration_section(report: ReportContext) -> Section:
    """Show observed against predicted risk at each horizon and, for one event type, over all times."""
    section = Section("Calibration")
    bins = int(np.clip(len(report.y) // _ROWS_PER_BIN, 2, _BINS))
    for event in range(1, report.n_events + 1):
        drawings = []
        for t, risk in zip(report.horizons, report.risks[event - 1].T, strict=True):
            drawings.append(new_figure(3.8, 3.8))
            axes = drawings[-1].subplots()
            calibration(report.y, risk, float(t), event, bins=bins, time_unit=report.unit or None, ax=axes)
        section.blocks.append(
            figure(
                drawings,
                f"Observed against predicted risk{report.of(event)} in groups of subjects, one figure per horizon",
                f"Calibration{report.of(event)}: mean predicted risk of {bins} groups by predicted risk against the "
                f"observed risk ({report.marginal}) with 95 % limits. On the dashed line they agree. Ticks along the "
                "lower edge: the predicted risks.",
            )
        )
    if report.n_events == 1:
        section.blocks.append(_d_calibration(report))
    return section


def _d_calibration(report: ReportContext) -> Html:
    own = survival_at_own_time(report.predictor, report.rows, report.y)
    drawing = new_figure(6.5, 3.4)
    d_calibration(report.y, own, ax=drawing.subplots())
    return figure(
        drawing,
        "Share of subjects in each tenth of their own predicted survival",
        "D-calibration: if the model is right, all bars are equal up to chance (grey band).",
    )


def over_time_section(report: ReportContext) -> Section:
    """Show the Brier score at each time beside that of the marginal curve."""
    section = Section("Accuracy over time")
    drawings = []
    for event in range(1, report.n_events + 1):
        drawings.append(new_figure(6.5 if report.n_events == 1 else 5.2, 3.4))
        axes, curves = drawings[-1].subplots(), {"this model": 1 - report.curves[event - 1]}
        brier_over_time(report.base, report.y, curves, report.grid, event, time_unit=report.unit or None, ax=axes)
        if report.n_events > 1:
            axes.set_title(report.names[event - 1], loc="left", fontsize=10)
    section.blocks.append(
        figure(
            drawings,
            "Brier score of the model over time beside that of the marginal curve",
            "Brier score at each time (lower is better). Grey: the marginal curve, which gives everyone the same "
            f"{report.marginal} risk.",
        )
    )
    return section


def groups_section(report: ReportContext) -> Section:
    """Show what was observed in groups by predicted risk, with the mean prediction and the numbers at risk."""
    section = Section("Risk groups")
    n_groups = int(np.clip(len(report.y) // (2 * _ROWS_PER_BIN), 2, _GROUPS))
    by = report.time(float(report.horizons[report.middle]))
    section.blocks.append(paragraph(f"Groups of equal size by the predicted risk up to {by}."))
    for event, name in enumerate(report.names, 1):
        risk = report.risks[event - 1][:, report.middle]
        if report.n_events == 1:
            section.blocks.append(_survival_groups(report, risk, n_groups))
        else:
            section.blocks += _incidence_groups(report, risk, n_groups, event, name)
    return section


def _survival_groups(report: ReportContext, risk: Floats, n_groups: int) -> Html:
    drawing = new_figure(8.0, 4.4 + 0.2 * n_groups)
    risk_groups(
        report.y,
        risk,
        n_groups,
        predicted=(report.grid, 1 - report.curves[0]),
        last=float(report.horizons[-1]),
        time_unit=report.unit or None,
        ax=drawing.subplots(),
    )
    return figure(
        drawing,
        "Kaplan-Meier curves of groups by predicted risk with numbers at risk",
        "Kaplan-Meier curves of the groups with 95 % bands; dashed, the mean predicted survival of each group; below, "
        "how many were at risk.",
    )


def _incidence_groups(report: ReportContext, risk: Floats, n_groups: int, event: int, name: str) -> list[Html]:
    """Draw the Aalen-Johansen curves of one event in groups by its risk, and list how many are at risk."""
    group = group_by_risk(risk, n_groups)
    last = float(report.horizons[-1])
    drawing = new_figure(8.0, 4.0)
    axes = drawing.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    at = np.unique([0.0, *report.horizons])
    rows = []
    top = 0.0
    for number in range(int(group.max()) + 1):
        rows_of = group == number
        part = report.y.take(rows_of)
        curve = aalen_johansen(part, event)
        seen = curve.time <= last
        time, shade = np.append(0.0, curve.time[seen]), colour(number)
        label = f"{number + 1}" + (" (lowest)" if number == 0 else " (highest)" if number == group.max() else "")
        axes.step(time, np.append(0.0, curve.estimate[seen]), where="post", color=shade, label=label)
        low, high = (np.append(0.0, limit[seen]) for limit in (curve.lower, curve.upper))
        axes.fill_between(time, low, high, step="post", color=shade, alpha=0.15, linewidth=0)
        predicted = report.curves[event - 1][rows_of].mean(axis=0)
        axes.plot(report.grid, predicted, color=shade, linestyle="--", linewidth=1.3)
        top = max(top, float(np.nanmax(high)), float(predicted.max()))
        rows.append([label, *(f"{int((part.time >= t).sum()):,}" for t in at)])
    time_axis(axes, last, report.unit or None)
    axes.set(ylabel=f"cumulative incidence of {name}", ylim=(0, min(1.0, 1.1 * top)))
    legend_beside(axes, "risk group")
    picture = figure(
        drawing,
        f"Aalen-Johansen curves of {name} in groups by predicted risk",
        f"Cumulative incidence of {name} in groups by its predicted risk: Aalen-Johansen with 95 % bands; dashed, the "
        "mean prediction of each group.",
    )
    columns = [TableColumn("risk group"), *(TableColumn(report.time(t)) for t in at)]
    return [picture, table(columns, rows, f"Subjects at risk, groups by risk of {name}")]
