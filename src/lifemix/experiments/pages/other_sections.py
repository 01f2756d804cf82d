"""The sections on costs and on transfer."""

from __future__ import annotations

from collections.abc import Sequence

from ..._html import Entry, Html, Page, TableColumn, Value, table
from ..cells import Cell
from ..comparison import Published
from ..published import PLUS_MINUS
from .costs import costs, growth, is_growth
from .facts import RunFacts
from .names import data_title, look, measure_of, rank
from .sections import drawn
from .tables import comparison_table
from .transfer import is_shape, transfer_by_nodes

__all__ = ["add_costs", "add_transfer"]


def add_costs(page: Page, cells: Sequence[Cell]) -> None:
    """Add training times and numbers of parameters, and where it was measured the growth with the rows."""
    section = page.add("What it costs", anchor="costs")
    whole = [cell for cell in cells if not is_growth(cell)]
    growing = [cell for cell in cells if is_growth(cell)]
    if whole:
        section.blocks += drawn(lambda: costs(whole)) + [_cost_table(whole)]
    if growing:
        section.add("Growth with the number of rows", *drawn(lambda: growth(growing)), anchor="growth")


def _cost_table(cells: Sequence[Cell]) -> Html:
    heads = list(dict.fromkeys((cell.data, cell.measure) for cell in cells))
    found = {(cell.model, cell.data, cell.measure): cell for cell in cells}
    columns = [
        TableColumn(
            measure_of(measure).title,
            "seconds" if measure == "seconds" else "",
            measure_of(measure).digits,
            group=data_title(data),
        )
        for data, measure in heads
    ]
    lines: list[list[Entry]] = []
    for model in sorted({cell.model for cell in cells}, key=rank):
        own = [found.get((model, *head)) for head in heads]
        values = [None if c is None else Value(c.mean, c.error if c.measure == "seconds" else None) for c in own]
        lines.append([look(model).title, *values])
    foot = "Mean over the fits of the folds; ± is the standard error."
    return table([TableColumn("Model", text=True), *columns], lines, "Training time and number of parameters", foot)


def add_transfer(page: Page, cells: Sequence[Cell], paper: Published, facts: RunFacts) -> None:
    """Add the experiment on transfer: the tuned representations beside the paper's, and all widths and depths."""
    section = page.add("Knowledge transfer", anchor="transfer")
    tuned = [cell for cell in cells if not is_shape(cell)]
    shapes = [cell for cell in cells if is_shape(cell)]
    foot = f" {PLUS_MINUS['transfer'].says} Here it is a standard error, by the t law with 4 degrees of freedom."
    if tuned:
        caption = "Concordance for event 2 of a Cox model on representations learnt for event 1"
        section.blocks.append(comparison_table(tuned, paper, facts, caption, foot))
    if shapes:
        inner = section.add("By nodes and layers", anchor="nodes")
        inner.blocks += [*drawn(lambda: transfer_by_nodes(shapes, paper)), _shape_table(shapes)]


def _shape_table(cells: Sequence[Cell]) -> Html:
    shapes = sorted({cell.selection for cell in cells}, key=lambda shape: [int(part) for part in shape.split("x")])
    found = {(cell.model, cell.selection): cell for cell in cells}
    columns = [TableColumn(shape.split("x")[1], "nodes", 4, "max", f"{shape.split('x')[0]} hidden") for shape in shapes]
    lines: list[list[Entry]] = []
    for model in sorted({cell.model for cell in cells}, key=rank):
        own = [found.get((model, shape)) for shape in shapes]
        lines.append([look(model).title, *(None if c is None else Value(c.mean, c.error) for c in own)])
    return table(
        [TableColumn("Model", text=True), *columns],
        lines,
        "Harrell’s C by hidden layers and nodes",
        "Mean ± standard error.",
    )
