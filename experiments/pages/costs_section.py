"""The section on costs: training times, numbers of parameters, the growth with the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..cells import Cell
from ..names import data_title, measure_of, model_title, rank, style_of
from ..records import Record
from .figures import drawn, legend, panel
from .pieces import Entry, Html, Page, TableColumn, Value, figure, table
from .tables import measure_title

__all__ = ["COSTS", "add_costs", "cost_cells"]

COSTS = ("seconds", "parameters")


def cost_cells(records: Iterable[Record]) -> list[Cell]:
    """Return the mean training time and number of parameters of each model, without artificial censoring."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        if record.censoring == 0:
            found.setdefault((record.data, record.model, "seconds"), []).append(record.seconds)
            if record.parameters is not None:
                found.setdefault((record.data, record.model, "parameters"), []).append(
                    float(record.parameters)
                )
    return [
        Cell.of((data, measure, 1, 1.0, 0.0), model, "fixed", values)
        for (data, model, measure), values in found.items()
    ]


def add_costs(page: Page, cells: Sequence[Cell]) -> None:
    """Add training times and numbers of parameters, and where it was measured the growth with the rows."""
    section = page.add("Costs", anchor="costs")
    whole = [cell for cell in cells if not cell.is_growth]
    growing = [cell for cell in cells if cell.is_growth]
    if whole:
        section.blocks += [*drawn(lambda: _bars(whole)), _table(whole)]
    if growing:
        section.add(
            "Growth with the number of rows", *drawn(lambda: _growth(growing)), anchor="growth"
        )


def _bars(cells: Sequence[Cell]) -> Html:
    """Show the training time and the number of parameters of each model, on a logarithmic scale."""
    drawings = []
    for data, measure in dict.fromkeys((cell.data, cell.measure) for cell in cells):
        own = [
            cell for cell in cells if (cell.data, cell.measure) == (data, measure) and cell.mean > 0
        ]
        here = sorted(own, key=lambda cell: rank(cell.model))
        if not here:
            continue
        words = {"seconds": "seconds per fit", "parameters": "parameters"}[measure]
        drawing, axes = panel(
            f"{data_title(data)}: {words}", width=4.2, height=0.9 + 0.3 * len(here)
        )
        bars = axes.barh(
            range(len(here)),
            [c.mean for c in here],
            color=[style_of(c.model).colour for c in here],
            height=0.65,
        )
        axes.bar_label(bars, [_short(c.mean) for c in here], padding=3, fontsize=8.5)
        axes.set_yticks(range(len(here)), [model_title(c.model, data) for c in here])
        axes.set_xscale("log")
        axes.set_xlim(min(c.mean for c in here) / 2, max(c.mean for c in here) * 6)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        drawings.append(drawing)
    return figure(
        drawings,
        "training time and number of parameters of each model; the table has the numbers",
        "What one fit of each model costs, mean over the fits; logarithmic scale.",
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _table(cells: Sequence[Cell]) -> Html:
    heads = list(dict.fromkeys((cell.data, cell.measure) for cell in cells))
    found = {(cell.model, cell.data, cell.measure): cell for cell in cells}
    columns = [
        TableColumn(
            measure_title(measure),
            "seconds" if measure == "seconds" else "",
            measure_of(measure).digits,
            group=data_title(data),
        )
        for data, measure in heads
    ]
    lines: list[list[Entry]] = []
    for model in sorted({cell.model for cell in cells}, key=rank):
        own = [found.get((model, *head)) for head in heads]
        values = [
            None if c is None else Value(c.mean, c.error if c.measure == "seconds" else None)
            for c in own
        ]
        lines.append([model_title(model, heads[0][0]), *values])
    foot = "Mean ± standard error over the fits; processor time of one thread."
    return table(
        [TableColumn("Model", text=True), *columns],
        lines,
        "Training time and number of parameters",
        foot,
    )


def _growth(cells: Sequence[Cell]) -> Html:
    """Show training time by the number of rows."""
    drawings = []
    for data in dict.fromkeys(cell.data for cell in cells):
        drawing, axes = panel(f"{data_title(data)}: seconds per fit")
        for model in sorted({cell.model for cell in cells if cell.data == data}, key=rank):
            own = sorted(
                (_rows(cell), cell.mean)
                for cell in cells
                if (cell.data, cell.model) == (data, model)
            )
            style = style_of(model)
            axes.plot(
                *zip(*own, strict=True), color=style.colour, marker=style.marker, ms=5, lw=1.2
            )
        axes.set(xscale="log", yscale="log")
        sizes = sorted({_rows(cell) for cell in cells if cell.data == data})
        axes.set_xticks(sizes[::2], [f"{size:,}" for size in sizes[::2]])
        axes.minorticks_off()
        axes.set_xlabel("training rows", fontsize=9)
        drawings.append(drawing)
    return figure(
        drawings,
        "training time by number of rows, one line per model",
        "Training time against the number of rows, both on logarithmic scales: a slope of one is proportional growth. "
        "Networks run 20 epochs without early stopping; beyond the data’s own number rows are repeated.",
        legend=legend(cells),
    )


def _rows(cell: Cell) -> int:
    return int(cell.selection.removeprefix("n="))
