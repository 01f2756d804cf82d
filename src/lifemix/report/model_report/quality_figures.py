"""Figures of quality: calibration at the horizons, Brier score over time, observed curves of risk groups."""

from __future__ import annotations

import numpy as np

from ...metrics import survival_at_own_time
from ...plots import brier_over_time, calibration, d_calibration, risk_groups
from .._pieces import Html, Section, figure, new_figure, paragraph
from .context import ReportContext

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
            calibration(
                report.y, risk, float(t), event, bins=bins, time_unit=report.unit or None, ax=axes
            )
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
        brier_over_time(
            report.base,
            report.y,
            curves,
            report.grid,
            event,
            time_unit=report.unit or None,
            ax=axes,
        )
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
    for event in range(1, report.n_events + 1):
        drawing = new_figure(8.0, 4.4 + 0.2 * n_groups)
        curves = report.curves[event - 1]
        risk_groups(
            report.y,
            report.risks[event - 1][:, report.middle],
            n_groups,
            event=None if report.n_events == 1 else event,
            predicted=(report.grid, 1 - curves if report.n_events == 1 else curves),
            last=float(report.horizons[-1]),
            time_unit=report.unit or None,
            ax=drawing.subplots(),
        )
        what = "survival" if report.n_events == 1 else f"cumulative incidence{report.of(event)}"
        section.blocks.append(
            figure(
                drawing,
                f"Observed {what} in groups by predicted risk, with numbers at risk",
                f"Observed {what} ({report.marginal}) in groups by predicted risk, with 95 % bands; dashed, the mean "
                "prediction of each group; below, the numbers at risk.",
            )
        )
    return section
