"""Pictures like the paper's: small panels, side by side or one below the other as the screen allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._html import Html, figure, joined, new_figure
from ..cells import Cell
from ..comparison import Published, place, sign_of
from .names import look, measure_of
from .tables import rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PAPER", "by_censoring", "by_horizon", "drawable", "error_lines", "legend", "panel"]

PAPER = "#111827"
SIGNS = dict(zip("oDsv^Xh*P_d2", "●◆■▼▲✖⬢★✚–♦Y", strict=True))


def panel(title: str, width: float = 3.4, height: float = 3.0) -> tuple[Figure, Axes]:
    """Return one small picture with a title, without the frame's upper and right lines."""
    drawing = new_figure(width, height)
    axes = drawing.subplots()
    drawing.suptitle(title, fontsize=10.5, x=0.02, ha="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.7)
    axes.set_axisbelow(True)
    return drawing, axes


def by_censoring(cells: Sequence[Cell], paper: Published, times: Sequence[str] = ()) -> Html:
    """Show a measure by the level of artificial censoring, one panel a horizon, like the paper's figures."""
    cells = drawable(cells)
    levels = sorted({cell.censoring for cell in cells})
    drawings = []
    for number, horizon in enumerate(sorted({cell.horizon for cell in cells})):
        when = f" ({times[number]})" if number < len(times) else ""
        drawing, axes = panel(f"{100 * horizon:g} % of the events{when}")
        here = [cell for cell in cells if cell.horizon == horizon]
        error_lines(axes, here, levels, lambda cell: cell.censoring, paper)
        axes.set_xticks(range(len(levels)), ["as it is" if level == 0 else f"+{100 * level:g} %" for level in levels])
        axes.set_xlabel("censoring of the training rows", fontsize=9)
        drawings.append(drawing)
    return _together(drawings, cells, paper, "the level of censoring, at each horizon")


def by_horizon(cells: Sequence[Cell], paper: Published, titles: Mapping[int, str]) -> Html:
    """Show a measure by the horizon, one panel a kind of event, like the paper's figures."""
    cells = drawable(cells)
    horizons = sorted({cell.horizon for cell in cells})
    drawings = []
    for event in sorted({cell.event for cell in cells}):
        drawing, axes = panel(titles.get(event, f"Event {event}"))
        here = [cell for cell in cells if cell.event == event]
        error_lines(axes, here, horizons, lambda cell: cell.horizon, paper)
        axes.set_xticks(range(len(horizons)), [f"{100 * horizon:g} %" for horizon in horizons])
        axes.set_xlabel("horizon: share of the events", fontsize=9)
        drawings.append(drawing)
    return _together(drawings, cells, paper, "the horizon, for each kind of event")


def error_lines(
    axes: Axes,
    cells: Sequence[Cell],
    steps: Sequence[float],
    step: Callable[[Cell], float],
    paper: Published | None = None,
    by_model: bool = False,
) -> None:
    """Draw one line a model with error bars, shifted sideways so that none hides another; the paper's DSM dashed.

    by_model: the selections of a model are steps of one line, not lines of their own.
    """
    rows = (
        rows_of(cells) if not by_model else [(model, "") for model in dict.fromkeys(row[0] for row in rows_of(cells))]
    )
    offsets = np.linspace(-0.3, 0.3, len(rows) + 1)
    for (model, selection), offset in zip(rows, offsets, strict=False):
        own = [cell for cell in cells if cell.model == model and (by_model or cell.selection == selection)]
        _error_line(axes, own, steps, step, offset, _style(model, selection))
    here = {place(cell) for cell in cells}
    theirs = [cell for (model, where), cell in (paper or {}).items() if model == "dsm" and where in here]
    style = {"color": PAPER, "marker": "D", "mfc": "white", "ls": (0, (3, 3)), "lw": 0.9, "ms": 4.5, "elinewidth": 0.8}
    _error_line(axes, theirs, steps, step, offsets[-1], style)
    axes.set_xlim(-0.5, len(steps) - 0.5)
    axes.set_ylabel("$C^{td}$" if cells[0].measure == "ctd" else measure_of(cells[0].measure).plain, fontsize=9)


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
        errors = [cell.error if np.isfinite(cell.error) else 0.0 for cell in own]
        axes.errorbar(at, [cell.mean for cell in own], errors, **style)


def _style(model: str, selection: str) -> dict[str, Any]:
    own = look(model)
    leading = model == "lifemix"
    return {
        "color": own.colour,
        "marker": own.marker,
        "ms": 6 if leading else 4.5,
        "lw": 2.0 if leading else 0.9,
        "elinewidth": 1.4 if leading else 0.8,
        "ls": ":" if own.reference else ("--" if selection == "nested" else "-"),
        "zorder": 3 if leading else 2,
    }


def drawable(cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what would squeeze all else: concordance without covariates, which is one half."""
    return [cell for cell in cells if cell.model != "floor" or sign_of(cell.measure) < 0]


def _together(drawings: Sequence[Figure], cells: Sequence[Cell], paper: Published, by: str) -> Html:
    measure = measure_of(cells[0].measure)
    caption = joined(measure.title, f" by {by}: mean over the folds, bars of one standard error.")
    alt = f"{measure.plain} of all models by {by}; the tables have the numbers"
    return figure(drawings, alt, caption, legend=legend(cells, paper))


def legend(cells: Sequence[Cell], paper: Published) -> dict[str, tuple[str, str]]:
    """Return the names of what is drawn, each with its colour and its marker."""
    entries = {}
    rows = rows_of(cells)
    for model, selection in rows:
        own = look(model)
        both = {(model, "paper"), (model, "nested")} <= set(rows)
        way = (
            {"nested": ", nested selection (dashed)", "paper": ", paper’s selection"}.get(selection, "") if both else ""
        )
        entries[own.title + way] = (own.colour, SIGNS.get(own.marker, "●"))
    if any(("dsm", place(cell)) in paper for cell in cells):
        entries["DSM in the paper"] = (PAPER, "◇")
    return entries
