"""Figures of measures like the paper's: small panels, side by side or one below the other as the screen allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lifemix.errors import MissingExtraError

from ..cells import Cell
from ..comparison import Published
from ..names import measure_of, model_title, rows_of, sign_of, style_of
from .pieces import Html, figure, joined, new_figure, note
from .tables import measure_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PAPER", "by_censoring", "by_horizon", "dots", "drawn", "error_lines", "legend", "panel"]

PAPER = "#111827"
_HOLLOW: Mapping[str, Any] = {"color": PAPER, "marker": "D", "mfc": "white"}
_SIGNS = dict(zip("oDsv^Xh*P_dp2", "●◆■▼▲✖⬢★✚–♦⬟Y", strict=True))


def drawn(make: Callable[[], Html | None]) -> list[Html]:
    """Return a figure, or where matplotlib is missing a note that says how to get it."""
    try:
        made = make()
    except MissingExtraError as error:
        return [note("Without figures: ", str(error), kind="warning")]
    return [] if made is None else [made]


def panel(title: str, width: float = 3.4, height: float = 3.0) -> tuple[Figure, Axes]:
    """Return one small figure with a title, without the frame's upper and right lines."""
    drawing = new_figure(width, height)
    axes = drawing.subplots()
    drawing.suptitle(title, fontsize=10.5, x=0.02, ha="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.7)
    axes.set_axisbelow(True)
    return drawing, axes


def by_censoring(cells: Sequence[Cell], paper: Published, times: Sequence[str] = ()) -> Html:
    """Show a measure by the level of artificial censoring, one panel per horizon, like the paper's figures."""
    cells = _drawable(cells)
    levels = sorted({cell.censoring for cell in cells})
    drawings = []
    for number, horizon in enumerate(sorted({cell.horizon for cell in cells})):
        when = f" ({times[number]})" if number < len(times) else ""
        drawing, axes = panel(f"{100 * horizon:g} % of events{when}")
        here = [cell for cell in cells if cell.horizon == horizon]
        error_lines(axes, here, levels, lambda cell: cell.censoring, paper)
        axes.set_xticks(
            range(len(levels)),
            ["none" if level == 0 else f"+{100 * level:g} %" for level in levels],
        )
        axes.set_xlabel("training events censored artificially", fontsize=9)
        drawings.append(drawing)
    return _together(drawings, cells, paper, "the level of artificial censoring, at each horizon")


def by_horizon(cells: Sequence[Cell], paper: Published, titles: Mapping[int, str]) -> Html:
    """Show a measure by the horizon, one panel per event type, like the paper's figures."""
    cells = _drawable(cells)
    horizons = sorted({cell.horizon for cell in cells})
    drawings = []
    for event in sorted({cell.event for cell in cells}):
        drawing, axes = panel(titles.get(event, f"Event {event}"))
        here = [cell for cell in cells if cell.event == event]
        error_lines(axes, here, horizons, lambda cell: cell.horizon, paper)
        axes.set_xticks(range(len(horizons)), [f"{100 * horizon:g} %" for horizon in horizons])
        axes.set_xlabel("horizon: quantile of the event times", fontsize=9)
        drawings.append(drawing)
    return _together(drawings, cells, paper, "the horizon, for each event type")


def error_lines(
    axes: Axes,
    cells: Sequence[Cell],
    steps: Sequence[float],
    step: Callable[[Cell], float],
    paper: Published | None = None,
    by_model: bool = False,
) -> None:
    """Draw one line per model with error bars, shifted sideways so that none hides another; the paper's DSM dashed.

    by_model: the selections of a model are steps of one line, not lines of their own.
    """
    rows = (
        [(model, "") for model in dict.fromkeys(row[0] for row in rows_of(cells))]
        if by_model
        else rows_of(cells)
    )
    offsets = np.linspace(-0.3, 0.3, len(rows) + 1)
    for (model, selection), offset in zip(rows, offsets, strict=False):
        own = [
            cell
            for cell in cells
            if cell.model == model and (by_model or cell.selection == selection)
        ]
        _error_line(axes, own, steps, step, offset, _style(model, selection))
    here = {cell.place for cell in cells}
    theirs = [
        cell for (model, place), cell in (paper or {}).items() if model == "dsm" and place in here
    ]
    style = {**_HOLLOW, "ls": (0, (3, 3)), "lw": 0.9, "ms": 4.5, "elinewidth": 0.8}
    _error_line(axes, theirs, steps, step, offsets[-1], style)
    axes.set_xlim(-0.5, len(steps) - 0.5)
    axes.set_ylabel(
        "Cᵗᵈ" if cells[0].measure == "ctd" else measure_of(cells[0].measure).title, fontsize=9
    )


def _error_line(
    axes: Axes,
    cells: Sequence[Cell],
    steps: Sequence[float],
    step: Callable[[Cell], float],
    offset: float,
    style: Mapping[str, Any],
) -> None:
    own = sorted((cell for cell in cells if np.isfinite(cell.mean)), key=step)
    if own:
        at = [steps.index(step(cell)) + offset for cell in own]
        axes.errorbar(at, [cell.mean for cell in own], [_error(cell) for cell in own], **style)


def _error(cell: Cell) -> float:
    return cell.error if math.isfinite(cell.error) else 0.0


def _style(model: str, selection: str) -> dict[str, Any]:
    own = style_of(model)
    leading = own.ours and model in ("default", "tuned", "lifemix")
    return {
        "color": own.colour,
        "marker": own.marker,
        "ms": 6 if leading else 4.5,
        "lw": 2.0 if leading else 0.9,
        "elinewidth": 1.4 if leading else 0.8,
        "ls": ":" if own.reference else ("--" if selection == "nested" and not leading else "-"),
        "zorder": 3 if leading else 2,
    }


def dots(cells: Sequence[Cell], paper: Published, title: Callable[[int, float], str]) -> Html:
    """Show every model's number with its standard error, and the paper's as a hollow diamond.

    cells: of one measure and level of censoring. title: of the panel of an event type and a horizon.
    """
    cells = _drawable(cells)
    drawings = []
    rows = rows_of(cells)
    for event, horizon in sorted({(cell.event, cell.horizon) for cell in cells}):
        here = {
            (c.model, c.selection): c for c in cells if (c.event, c.horizon) == (event, horizon)
        }
        drawing, axes = panel(title(event, horizon), width=3.8, height=0.75 + 0.25 * len(rows))
        for line, row in enumerate(rows):
            cell = here.get(row)
            if cell is None or not math.isfinite(cell.mean):
                continue
            axes.errorbar(
                cell.mean,
                line,
                xerr=_error(cell),
                color=style_of(row[0]).colour,
                marker="o",
                ms=5,
                lw=1.3,
            )
            theirs = paper.get((cell.model, cell.place))
            if theirs is not None:
                axes.errorbar(
                    theirs.mean,
                    line + 0.28,
                    xerr=theirs.error,
                    ms=4,
                    elinewidth=0.7,
                    lw=0,
                    **_HOLLOW,
                )
        axes.set_yticks(
            range(len(rows)), [_label(row, rows, cells[0].data) for row in rows], fontsize=8.5
        )
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(axis="x", color="#e5e7eb", linewidth=0.7)
        drawings.append(drawing)
    way = (
        "the further right the better"
        if sign_of(cells[0].measure) > 0
        else "the further left the better"
    )
    both = any((cell.model, cell.place) in paper for cell in cells)
    return figure(
        drawings,
        f"{measure_of(cells[0].measure).title} of each model with its standard error; the tables have the numbers",
        joined(measure_title(cells[0].measure), f" of each model, with one standard error: {way}."),
        legend={"ours": ("#0072B2", "●"), "in the paper": (PAPER, "◇")} if both else None,
    )


def _label(row: tuple[str, str], rows: Sequence[tuple[str, str]], data: str) -> str:
    """Return a model's name, and how its settings were selected where it is there more than once."""
    several = sum(model == row[0] for model, _ in rows) > 1
    way = {"paper": "best CV"}.get(row[1], row[1])
    return f"{model_title(row[0], data)}, {way}" if several else model_title(row[0], data)


def _drawable(cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what would squeeze all else: concordance without covariates, which is one half."""
    return [cell for cell in cells if cell.model != "floor" or sign_of(cell.measure) < 0]


def _together(drawings: Sequence[Figure], cells: Sequence[Cell], paper: Published, by: str) -> Html:
    caption = joined(
        measure_title(cells[0].measure),
        f" by {by}: mean over the folds, bars of one standard error.",
    )
    alt = f"{measure_of(cells[0].measure).title} of all models by {by}; the tables have the numbers"
    return figure(drawings, alt, caption, legend=legend(cells, paper))


def legend(cells: Sequence[Cell], paper: Published | None = None) -> dict[str, tuple[str, str]]:
    """Return the names of what is drawn, each with its colour and its marker."""
    entries = {}
    rows = rows_of(cells)
    ways = {"nested": ", nested selection (dashed)", "paper": ", paper’s selection"}
    for model, selection in rows:
        own = style_of(model)
        both = {(model, "paper"), (model, "nested")} <= set(rows)
        title = model_title(model, cells[0].data) + (ways.get(selection, "") if both else "")
        entries[title] = (own.colour, _SIGNS.get(own.marker, "●"))
    if any(("dsm", cell.place) in (paper or {}) for cell in cells):
        entries["DSM in the paper"] = (PAPER, "◇")
    return entries
