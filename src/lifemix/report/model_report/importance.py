"""The section on what the model uses: permutation importance over time."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from ..._html import Html, Section, TableColumn, Value, figure, new_figure, paragraph, table
from ...metrics import permutation_importance
from ...metrics.importance import PermutationImportance
from ...plots import importance_over_time
from ..predictions import Floats, quick_incidences
from .context import ReportContext

__all__ = ["importance_section"]

_ROWS = 1000
_REPEATS = 3
_TIMES = 8
_SHOWN = 12
_LINES = 6


def importance_section(report: ReportContext) -> Section:
    """Show how much worse the predictions become when a column is shuffled."""
    rows = np.sort(np.random.default_rng(report.seed).permutation(len(report.y))[:_ROWS])
    section = Section("What the model uses")
    section.blocks.append(
        paragraph(
            f"Rise of the Brier score when the values of one column are shuffled among {len(rows):,} "
            f"{'of the ' if len(rows) < len(report.y) else ''}evaluated rows ({_REPEATS} times). A column that says "
            "what another says too appears less important than it is; and importance for a prediction is no cause."
        )
    )
    times = np.linspace(0, float(report.horizons[-1]), _TIMES + 1)[1:]
    known: list[Floats] = []  # the shuffles are the same for every event, and a prediction has all of them
    for event, name in enumerate(report.names, 1):
        which = "" if report.n_events == 1 else f" for {name}"
        section.blocks += _of_event(report, rows, times, event, which, known)
    return section


def _of_event(
    report: ReportContext, rows: Any, times: Floats, event: int, which: str, known: list[Floats]
) -> list[Html]:
    calls = count()

    def predict(X: Any) -> Floats:
        call = next(calls)
        if call == len(known):
            known.append(quick_incidences(report.model, report.table(X), times, report.n_events))
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
        return [paragraph(f"Left out{which}: the score is not known on these rows, such as where none has the event.")]
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
        f"Importance{which} of the {min(_LINES, len(result.features))} columns that matter most on average. Bands: "
        "one standard deviation over the shuffles.",
    )
    return [picture, _ranking(result, defined, which)]


def _ranking(result: PermutationImportance, known: Any, which: str) -> Html:
    by_repeat = result.replicates[:, :, known].mean(axis=2)
    mean, spread = by_repeat.mean(axis=0), by_repeat.std(axis=0, ddof=1)
    order = np.argsort(-mean, kind="stable")[:_SHOWN]
    share = 100 * mean / result.score[known].mean()
    rows = [[result.features[i], Value(1000 * mean[i], error=1000 * spread[i]), share[i]] for i in order]
    columns = [
        TableColumn("column"),
        TableColumn("rise", unit="Brier score x 1000", digits=2),
        TableColumn("share", unit="%", digits=1),
    ]
    return table(
        columns,
        rows,
        f"Mean rise over time{which}, the {len(order)} largest of {len(mean)}",
        "Share: the rise relative to the Brier score of the rows as they are.",
    )
