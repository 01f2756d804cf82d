"""The section on what the model uses: permutation importance over time."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from ..._types import FittedSurvivalModel, FloatArray
from ...metrics import permutation_importance, predicted_risks
from ...metrics.importance import PermutationImportance
from ...plots import importance_over_time
from ...preprocessing import TableLike
from .._pieces import Html, Section, TableColumn, Value, figure, new_figure, paragraph, table
from ..doctor.model import mixture_of
from .context import ReportContext

__all__ = ["importance_section", "quick_risks"]

_ROWS = 1000
_REPEATS = 3
_TIMES = 8
_SHOWN = 12
_LINES = 6


def importance_section(report: ReportContext) -> Section:
    """Show how much worse the predictions become when a column is shuffled."""
    rows = np.sort(np.random.default_rng(report.seed).permutation(len(report.y))[:_ROWS])
    section = Section("Importance of the covariates")
    if report.source is not None:
        text = "Left out: columns of a table can be shuffled one by one, the visits of a history belong together."
        section.blocks.append(paragraph(text))
        return section
    section.blocks.append(
        paragraph(
            f"Permutation importance: rise of the Brier score when the values of one column are shuffled among "
            f"{len(rows):,} {'of the ' if len(rows) < len(report.y) else ''}evaluated rows ({_REPEATS} times). A "
            "column that is correlated with another appears less important than it is, and importance for a "
            "prediction does not mean a causal effect."
        )
    )
    times = np.linspace(0, float(report.horizons[-1]), _TIMES + 1)[1:]
    known: list[
        FloatArray
    ] = []  # the shuffles are the same for every event type, and a prediction has all of them
    for event in range(1, report.n_events + 1):
        section.blocks += _of_event(report, rows, times, event, known)
    return section


def _of_event(
    report: ReportContext, rows: Any, times: FloatArray, event: int, known: list[FloatArray]
) -> list[Html]:
    calls, which = count(), report.of(event).replace(" of ", " for ", 1)

    def predict(X: pd.DataFrame) -> FloatArray:
        call = next(calls)
        if call == len(known):
            known.append(quick_risks(report.model, report.table(X), times, report.n_events))
        return 1 - known[call][event - 1]

    result = permutation_importance(
        predict,
        report.X.iloc[rows],
        report.base,
        report.y.take(rows),
        times,
        event,
        n_repeats=_REPEATS,
        random_state=report.seed,
    )
    defined = np.isfinite(result.score)
    if not defined.any():
        return [
            paragraph(
                f"Left out{which}: the score is not defined on these rows, for instance without events."
            )
        ]
    drawing = new_figure(7.8, 3.8)
    importance_over_time(
        times[defined],
        result.mean[:, defined],
        result.std[:, defined],
        features=result.features,
        show=_LINES,
        time_unit=report.unit or None,
        ax=drawing.subplots(),
    )
    picture = figure(
        drawing,
        f"Permutation importance{which} over time",
        f"Importance{which} of the {min(_LINES, len(result.features))} most important columns. Bands: one standard "
        "deviation over the shuffles.",
    )
    return [picture, _ranking(result, defined, which)]


def _ranking(result: PermutationImportance, known: Any, which: str) -> Html:
    by_repeat = result.replicates[:, :, known].mean(axis=2)
    mean, spread = by_repeat.mean(axis=0), by_repeat.std(axis=0, ddof=1)
    order = np.argsort(-mean, kind="stable")[:_SHOWN]
    share = 100 * mean / result.score[known].mean()
    rows = [
        [result.features[i], Value(1000 * mean[i], error=1000 * spread[i]), share[i]] for i in order
    ]
    columns = [
        TableColumn("column"),
        TableColumn("rise", unit="Brier score × 1000", digits=2),
        TableColumn("share", unit="%", digits=1),
    ]
    return table(
        columns,
        rows,
        f"Mean rise over time{which}"
        + (f", the {len(order)} largest of {len(mean)}" if len(order) < len(mean) else ""),
        "Share: the rise relative to the Brier score of the rows as they are.",
    )


def quick_risks(
    model: FittedSurvivalModel, X: TableLike, times: FloatArray, n_events: int
) -> FloatArray:
    """Return ``predicted_risks`` in a tenth of the time, accurate to about 1e-4, as many shuffles are predicted.

    Between neighbours of a fine grid the event types share the decrease of S in proportion to the increases of their
    cumulative hazards, so that the incidences and S still add up to 1. Members of an ensemble are averaged.
    """
    mixture = mixture_of(model)
    if n_events == 1 or mixture is None:
        return predicted_risks(model, X, times, n_events)
    last = float(np.max(times))
    fine = np.unique(
        np.concatenate([times, np.linspace(0, last, 97)[1:], last * np.geomspace(1e-4, 1, 48)])
    )
    place = np.searchsorted(fine, times)
    matrix = mixture.preprocess(X)
    total = np.zeros((n_events, len(matrix), len(times)))
    for member in mixture.network_.members():
        distribution = member.distribution(matrix)
        net = np.stack([distribution.net(event).survival(fine) for event in range(1, n_events + 1)])
        hazard = -np.log(np.maximum(net, 1e-300))
        rises = np.diff(hazard, axis=2, prepend=0.0)
        fall = -np.diff(np.exp(-hazard.sum(axis=0)), axis=1, prepend=1.0)
        together = rises.sum(axis=0)
        shares = np.divide(rises, together, out=np.zeros_like(rises), where=together > 0)
        total += np.cumsum(shares * fall, axis=2)[:, :, place]
    return total / len(mixture.network_)
