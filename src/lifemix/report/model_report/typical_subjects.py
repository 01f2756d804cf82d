"""Typical subjects: the curves of one of low, medium and high risk, and what such subjects are like.

No row of the table is printed: a subject is described by the medians of the rows nearest to it in risk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..._types import FloatArray
from ...metrics import predicted_risk
from ...plots import incidence_curves, survival_curves
from ...preprocessing import TableLike
from .._pieces import Html, Section, TableColumn, figure, new_figure, paragraph, table
from ..doctor.table import readable_columns
from ..text import percent, plain
from .context import ReportContext

__all__ = ["subjects_section", "typical_rows"]

_LEVELS = {"low": 0.1, "medium": 0.5, "high": 0.9}
_NEAREST = 0.05
_FEWEST = 10
_TIMES = 101


def typical_rows(risk: FloatArray) -> dict[str, int]:
    """Return the rows at the 10, 50 and 90 % quantile of the risk."""
    order = np.argsort(risk, kind="stable")
    return {name: int(order[round(share * (len(order) - 1))]) for name, share in _LEVELS.items()}


def subjects_section(report: ReportContext) -> Section:
    """Show curves of subjects of low, medium and high risk of each event."""
    by = report.time(float(report.horizons[report.middle]))
    section = Section("Typical subjects")
    section.blocks.append(
        paragraph(
            f"Subjects at the 10, 50 and 90 % quantile of the predicted risk up to {by}. So that no row of "
            "the data is shown, the table has the medians (or most frequent levels) of the "
            f"{_n_nearest(len(report.y))} rows nearest in risk."
        )
    )
    for event, name in enumerate(report.names, 1):
        risk = report.risks[event - 1][:, report.middle]
        rows = typical_rows(risk)
        section.blocks += [
            _curves(report, rows, event, name),
            _description(report, risk, rows, event),
        ]
    return section


def _curves(report: ReportContext, rows: dict[str, int], event: int, name: str) -> Html:
    times = np.linspace(0, float(report.horizons[-1]), _TIMES)
    chosen = report.table(report.X.iloc[list(rows.values())])
    members = _member_curves(report, chosen, times, event)
    mean, spread = members.mean(axis=0), members.std(axis=0) if len(members) > 1 else None
    drawing = new_figure(7.5, 3.8)
    draw = survival_curves if report.n_events == 1 else incidence_curves
    values = 1 - mean if report.n_events == 1 else mean
    axes = drawing.subplots()
    draw(
        times,
        values,
        spread,
        labels=list(rows),
        time_unit=report.unit or None,
        title="risk",
        ax=axes,
    )
    if report.n_events > 1:  # incidences may be small
        axes.set_yticks(np.linspace(0, 1, 5) * _round_up(float(values.max())))
        axes.set_ylim(0, 1.05 * _round_up(float(values.max())))
    band = (
        f" Bands: spread of the ensemble members (one standard deviation over {len(members)}), too narrow for a "
        "confidence interval."
        if len(members) > 1
        else ""
    )
    what = "survival" if report.n_events == 1 else f"cumulative incidence of {name}"
    return figure(
        drawing,
        f"Predicted {what} of subjects of low, medium and high risk",
        f"Predicted {what} of three subjects.{band}",
    )


def _round_up(value: float) -> float:
    """Return the next of 0.04, 0.1, 0.2, 0.4 and 1."""
    return min((top for top in (0.04, 0.1, 0.2, 0.4, 1.0) if top >= value), default=1.0)


def _member_curves(
    report: ReportContext, X: TableLike, times: FloatArray, event: int
) -> FloatArray:
    """Return the incidence of an event by each member of an ensemble, ``(members, rows, times)``."""
    model = report.mixture
    if model is None:
        return predicted_risk(report.model, X, times, event, report.n_events)[None]
    members = [member.distribution(model.preprocess(X)) for member in model.network_.members()]
    return np.stack([distribution.cumulative_incidence(times, event) for distribution in members])


def _n_nearest(n: int) -> int:
    return max(_FEWEST, round(_NEAREST * n))


def _description(report: ReportContext, risk: FloatArray, rows: dict[str, int], event: int) -> Html:
    size = _n_nearest(len(risk))
    order = np.argsort(risk, kind="stable")
    place = np.argsort(order, kind="stable")
    parts = []
    for row in rows.values():
        first = int(np.clip(place[row] - size // 2, 0, max(0, len(order) - size)))
        parts.append(order[first : first + size])
    lines: list[list[Any]] = [
        ["predicted risk", *(percent(float(risk[part].mean())) for part in parts)]
    ]
    summaries = [_summary(report.X.iloc[part]) for part in parts]
    lines += [[column, *(summary[column] for summary in summaries)] for column in summaries[0]]
    by = report.time(float(report.horizons[report.middle]))
    columns = [TableColumn("covariate"), *(TableColumn(f"{level} risk") for level in rows)]
    return table(
        columns, lines, f"Subjects near a low, medium and high risk{report.of(event)} by {by}"
    )


def _summary(frame: pd.DataFrame) -> dict[str, str]:
    """Return the median of each number and the most frequent level of each category."""
    result = {}
    for variable in readable_columns(frame)[0]:
        if variable.distinct == 0:
            result[variable.name] = "–"
        elif variable.numbers is not None:
            values = variable.numbers[~variable.missing]
            zero_one = set(np.unique(values)) <= {0.0, 1.0}
            result[variable.name] = (
                f"1: {percent(float(values.mean()))}" if zero_one else plain(np.median(values))
            )
        else:
            assert variable.codes is not None
            counts = np.bincount(
                variable.codes[variable.codes >= 0], minlength=len(variable.levels)
            )
            most = int(counts.argmax())
            result[variable.name] = (
                f"{variable.levels[most]} ({percent(counts[most] / counts.sum())})"
            )
    return result
