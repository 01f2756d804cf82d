"""Figures of the pages, like the paper's: measures, training time, number of parameters."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .compare import LOWER_IS_BETTER
from .models import MODELS, by_rank, model_title
from .published import published_cells
from .records import Frame
from .results import CELL
from .tables import MEASURES, data_title, row_rank

__all__ = ["cost_figure", "data_uri", "line_figure", "measure_figure"]

_COLUMNS = 3


def data_uri(figure: Figure) -> str:
    """Return a figure as a PNG image for a page."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130)
    return f"data:image/png;base64,{base64.b64encode(image.getvalue()).decode()}"


def _panels(titles: Sequence[str], height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with one panel per title, in rows of three."""
    n_columns = min(len(titles), _COLUMNS)
    n_rows = math.ceil(len(titles) / n_columns)
    figure = Figure(figsize=(11.2, height * n_rows + 0.9), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(
            axis="y",
            color="#e5e7eb",
            linewidth=0.7,
        )
        axes.tick_params(labelsize=9)
    for axes in grid[len(titles) :]:
        axes.set_visible(False)
    return figure, grid[: len(titles)]


def line_figure(
    cells: Frame,
    panel: str,
    x: str,
    title: Callable[[float], str],
    is_log: bool = False,
) -> Figure:
    """Return one panel per value of a column, with a line per model and selection over another column.

    Lines are shifted sideways, so that no error bar hides another.
    """
    groups = dict(list(cells.groupby(panel)))
    figure, grid = _panels([title(value) for value in groups])
    steps = sorted(cells[x].unique())
    keys = set(zip(cells["model"], cells["selection"], strict=True))
    rows = sorted(keys, key=lambda key: row_rank(*key))
    offsets = np.linspace(-0.3, 0.3, len(rows) + 1)
    paper = published_cells(cells["data"]).query("model == 'dsm'")
    paper = paper[[*CELL, "mean", "error"]]
    for axes, group in zip(grid, groups.values(), strict=True):
        lines = []
        for (model, selection), line in group.groupby(["model", "selection"]):
            i = rows.index((model, selection))
            label = model_title(model, line["data"].iloc[0])
            lines.append((line, i, _line_style(label, model, selection, rows)))
        printed = group.drop_duplicates(x).merge(paper, on=CELL, suffixes=("_ours", ""))
        if len(printed):
            lines.append((printed, len(rows), _PAPER_STYLE))
        for line, i, style in sorted(lines, key=lambda line: line[1]):
            line = line[np.isfinite(line["mean"])].sort_values(x)
            positions = [steps.index(value) + offsets[i] for value in line[x]]
            axes.errorbar(positions, line["mean"], line["error"].fillna(0), **style)
        labels = [f"{step:.0%}" if max(steps) <= 1 else f"{step:,.0f}" for step in steps]
        axes.set_xticks(range(len(steps)), labels)
        axes.set_xlabel(_X_TITLES[x], fontsize=9)
        axes.set_yscale("log" if is_log else "linear")
    measure = cells["measure"].iloc[0]
    grid[0].set_ylabel(MEASURES[measure].title.replace("C^td", "Cᵗᵈ"), fontsize=9)
    _add_legend(figure, grid)
    return figure


_X_TITLES = {
    "censoring": "training events censored artificially",
    "horizon": "horizon: quantile of the event times",
    "nodes": "nodes of the last layer",
    "rows": "training rows",
}
_PAPER_STYLE = {
    "label": "DSM in the paper",
    "color": "#111827",
    "marker": "D",
    "mfc": "white",
    "ms": 4.5,
    "ls": "--",
    "lw": 0.9,
}


def _line_style(
    label: str,
    model: str,
    selection: str,
    rows: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    info = MODELS[model]
    is_leading = model in ("default", "tuned", "lifemix")
    has_selections = sum(name == model for name, _ in rows) > 1
    dashes = "--" if has_selections and selection == "nested" else "-"
    return {
        "label": f"{label}, {selection} selection" if has_selections else label,
        "color": info.colour,
        "marker": info.marker,
        "ms": 6 if is_leading else 4.5,
        "lw": 2.0 if is_leading else 0.9,
        "elinewidth": 0.8,
        "ls": ":" if info.group == "reference" else dashes,
        "zorder": 3 if is_leading else 2,
    }


def _add_legend(figure: Figure, grid: Sequence[Axes]) -> None:
    entries: dict[str, Any] = {}
    for axes in grid:
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=4,
        fontsize=8.5,
        frameon=False,
    )


def measure_figure(cells: Frame, when: Callable[..., str]) -> Figure | None:
    """Return a measure by the level of censoring, or by the horizon if there is one level, as in the paper."""
    if cells["measure"].iloc[0] not in LOWER_IS_BETTER:
        cells = cells[cells["model"] != "floor"]  # one half would squeeze all others
    if cells.empty:
        return None
    if cells["censoring"].nunique() > 1:
        return line_figure(cells, "horizon", "censoring", lambda horizon: when(1, horizon))
    return line_figure(cells, "event", "horizon", lambda event: when(int(event)))


def cost_figure(cells: Frame) -> Figure:
    """Return training time and number of parameters of each model, on logarithmic scales."""
    groups = dict(list(cells.groupby(["data", "measure"], sort=False)))
    titles = [f"{data_title(data)}: {MEASURES[measure].title}" for data, measure in groups]
    n_bars = max(group["model"].nunique() for group in groups.values())
    figure, grid = _panels(titles, 0.9 + 0.25 * n_bars)
    for axes, group in zip(grid, groups.values(), strict=True):
        means = group[group["mean"] > 0].set_index("model")["mean"]
        means = means.loc[by_rank(means.index)]
        colours = [MODELS[model].colour for model in means.index]
        bars = axes.barh(range(len(means)), means, color=colours, height=0.65)
        labels = [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in means]
        axes.bar_label(bars, labels, padding=3, fontsize=8)
        axes.set_yticks(
            range(len(means)), [model_title(model) for model in means.index], fontsize=8
        )
        axes.set(xscale="log", xlim=(means.min() / 2, means.max() * 8))
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
    return figure
