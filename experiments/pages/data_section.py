"""The section of a data set: tables and figures of each measure, paired differences, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from ..cells import Cell
from ..comparison import Published, our_models
from ..names import MEASURES, data_title, is_ours, measure_of, model_title, rank, style_of
from ..published import PLUS_MINUS
from ..records import Record
from .facts import RunFacts
from .figures import by_censoring, by_horizon, dots, drawn, legend, panel
from .pieces import Html, Page, Section, figure, joined, paragraph
from .tables import comparison_table, measure_title, paired_table

__all__ = ["add_data"]

_CALIBRATED = ("default", "tuned", "lifemix", "dsm", "cph", "cs-cph", "rsf", "cs-rsf", "deephit")


def add_data(
    page: Page, cells: Sequence[Cell], paper: Published, facts: RunFacts, records: Sequence[Record]
) -> None:
    """Add what was measured on one data set: a part for each measure, differences on the same folds, calibration."""
    data = cells[0].data
    section = page.add(data_title(data), *_introduction(data, facts), anchor=data)
    for measure in (name for name in MEASURES if any(cell.measure == name for cell in cells)):
        own = [cell for cell in cells if cell.measure == measure]
        meaning = measure_of(measure).meaning
        text = paragraph(meaning[0].upper() + meaning[1:] + ".")
        part = section.add(measure_title(measure), text, anchor=f"{data}-{measure}")
        part.blocks += drawn(partial(_trend, own, paper, facts))
        uncensored = [cell for cell in own if cell.censoring == 0]
        if uncensored:
            part.blocks += drawn(partial(dots, uncensored, paper, _panel_title(uncensored, facts)))
        part.blocks += [
            comparison_table(some, paper, facts, _caption(some, facts)) for some in _tables(own)
        ]
    _add_paired(section, cells, facts)
    curves = drawn(
        lambda: _calibration([one for one in records if one.data == data], _titles(cells, facts))
    )
    if curves:
        section.add("Calibration", *curves, anchor=f"{data}-calibration")


def _introduction(data: str, facts: RunFacts) -> list[Html]:
    parts: list[object] = []
    if data in facts.folds:
        parts.append(f"{facts.folds[data]} folds. ")
    if data in PLUS_MINUS:
        parts.append(joined("± in the paper’s table: ", PLUS_MINUS[data].says))
    return [paragraph(*parts)] if parts else []


def _tables(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield the cells of each event type and level of censoring."""
    ordered = sorted(cells, key=lambda cell: (cell.event, cell.censoring))
    for _, some in groupby(ordered, key=lambda cell: (cell.event, cell.censoring)):
        yield list(some)


def _trend(cells: Sequence[Cell], paper: Published, facts: RunFacts) -> Html | None:
    """Return a figure like the paper's: by censoring for one event type, by horizon for several."""
    data, events = cells[0].data, sorted({cell.event for cell in cells})
    if len(events) > 1:
        return by_horizon(cells, paper, {event: facts.event_name(data, event) for event in events})
    if len({cell.censoring for cell in cells}) == 1:
        return None
    times = [facts.time(data, events[0], i) for i in range(len({cell.horizon for cell in cells}))]
    return by_censoring(cells, paper, [time for time in times if time])


def _when(data: str, event: int, number: int, quantile: float, facts: RunFacts) -> str:
    time = facts.time(data, event, number)
    name = f"{facts.event_name(data, event)}, " if len(facts.horizons.get(data, ())) > 1 else ""
    return f"{name}{100 * quantile:g} % of events" + (f" ({time})" if time else "")


def _panel_title(cells: Sequence[Cell], facts: RunFacts) -> Callable[[int, float], str]:
    horizons = sorted({cell.horizon for cell in cells})
    return lambda event, horizon: _when(
        cells[0].data, event, horizons.index(horizon), horizon, facts
    )


def _titles(cells: Sequence[Cell], facts: RunFacts) -> list[list[str]]:
    """Return the titles of the calibration curves, by event type and horizon."""
    quantiles = sorted({cell.horizon for cell in cells if cell.measure == "ctd"})
    events = sorted({cell.event for cell in cells})
    return [
        [_when(cells[0].data, event, i, q, facts) for i, q in enumerate(quantiles)]
        for event in events
    ]


def _caption(cells: Sequence[Cell], facts: RunFacts) -> Html:
    """Return what a table shows: measure, data, event type, level of censoring."""
    first = cells[0]
    parts = [data_title(first.data)]
    if len(facts.horizons.get(first.data, ())) > 1 or first.event > 1:
        parts.append(facts.event_name(first.data, first.event))
    if first.censoring:
        parts.append(f"{100 * first.censoring:g} % of the training events censored artificially")
    return joined(measure_title(first.measure), ": ", ", ".join(parts))


def _add_paired(section: Section, cells: Sequence[Cell], facts: RunFacts) -> None:
    tables = []
    for measure in (name for name in MEASURES if any(cell.measure == name for cell in cells)):
        for some in _tables([cell for cell in cells if cell.measure == measure]):
            for model in our_models(some):
                title = f"{model_title(model, cells[0].data)} against the rivals, "
                found = paired_table(some, facts, joined(title, _caption(some, facts)), model)
                tables += [] if found is None else [found]
    if tables:
        section.add(
            "Our models against the rivals, fold by fold", *tables, anchor=f"{cells[0].data}-paired"
        )


def _calibration(records: Sequence[Record], titles: Sequence[Sequence[str]]) -> Html | None:
    """Show observed against predicted risk, one panel per event type and horizon; None where nothing was recorded.

    The groups of all folds are pooled in the order of their predicted risk.
    """
    usable = [r for r in records if r.calibration and r.censoring == 0 and r.model in _CALIBRATED]
    if not usable:
        return None
    drawings = []
    models = sorted({record.model for record in usable}, key=rank)
    for event, at_horizons in enumerate(usable[0].calibration):
        for number in range(len(at_horizons)):
            drawing, axes = panel(titles[event][number])
            end = 0.0
            for model in models:
                predicted, observed = _pooled(
                    [r.calibration[event][number] for r in usable if r.model == model]
                )
                end = max([end, *predicted, *observed])
                own, width = style_of(model), 2.0 if is_ours(model) else 1.0
                axes.plot(predicted, observed, color=own.colour, marker=own.marker, ms=4, lw=width)
            end = min(1.0, 1.05 * end) or 1.0
            axes.plot([0, end], [0, end], color="#9ca3af", lw=0.8, zorder=1)
            axes.set(xlim=(0, end), ylim=(0, end))
            axes.set_xlabel("predicted risk", fontsize=9)
            axes.set_ylabel("observed risk", fontsize=9)
            drawings.append(drawing)
    shown = [Cell(usable[0].data, model, "ctd", 1, 1.0, 0.0, "fixed", 0.0, 0.0) for model in models]
    return figure(
        drawings,
        "observed against predicted risk of groups of held-out subjects, near the diagonal where a model is calibrated",
        "Held-out subjects grouped by predicted risk, all folds together, nested selection where settings were "
        "selected. On the diagonal, predicted and observed risk agree.",
        legend=legend(shown),
    )


def _pooled(curves: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Return the means of as many groups as the largest fold has, over all folds."""
    points = np.concatenate([np.asarray(curve, dtype=float).T for curve in curves])
    points = points[np.isfinite(points).all(axis=1)]
    points = points[np.argsort(points[:, 0], kind="stable")]
    groups = min(max(len(curve[0]) for curve in curves), len(points))
    means = [part.mean(axis=0) for part in np.array_split(points, groups)] if groups else []
    return [float(mean[0]) for mean in means], [float(mean[1]) for mean in means]
