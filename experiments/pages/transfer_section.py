"""The section on transfer: how much of what was learned for one event serves another."""

from __future__ import annotations

from collections.abc import Sequence

from ..cells import Cell
from ..comparison import Published
from ..names import measure_of, model_title, rank
from ..published import PLUS_MINUS
from .facts import RunFacts
from .figures import PAPER, drawn, error_lines, legend, panel
from .pieces import Entry, Html, Page, TableColumn, Value, figure, table
from .tables import comparison_table

__all__ = ["add_transfer"]


def add_transfer(page: Page, cells: Sequence[Cell], paper: Published, facts: RunFacts) -> None:
    """Add the experiment on transfer: the selected representations beside the paper's, and all widths and depths."""
    section = page.add("Knowledge transfer", anchor="transfer")
    selected = [cell for cell in cells if not cell.is_shape]
    shapes = [cell for cell in cells if cell.is_shape]
    foot = f" {PLUS_MINUS['transfer'].says} Here: a standard error, by the t distribution with 4 degrees of freedom."
    if selected:
        caption = "Concordance for event 2 of a Cox model on representations learned for event 1"
        section.blocks.append(comparison_table(selected, paper, facts, caption, foot))
    if shapes:
        inner = section.add("By nodes and layers", anchor="nodes")
        inner.blocks += [*drawn(lambda: _by_nodes(shapes, paper)), _shape_table(shapes)]


def _shape(cell: Cell) -> tuple[int, int]:
    """Return hidden layers and nodes."""
    layers, nodes = cell.selection.split("x")
    return int(layers), int(nodes)


def _by_nodes(cells: Sequence[Cell], paper: Published) -> Html:
    """Show the concordance by the width of the representation, one panel per number of layers."""
    drawings = []
    nodes = sorted({_shape(cell)[1] for cell in cells})
    theirs = [cell for (model, _), cell in paper.items() if model == "dsm"]
    for layers in sorted({_shape(cell)[0] for cell in cells}):
        drawing, axes = panel("One hidden layer" if layers == 1 else f"{layers} hidden layers")
        here = [cell for cell in cells if _shape(cell)[0] == layers]
        error_lines(
            axes,
            here,
            [float(n) for n in nodes],
            lambda cell: float(_shape(cell)[1]),
            by_model=True,
        )
        for cell in theirs:
            axes.axhline(cell.mean, color=PAPER, lw=0.9, ls=(0, (3, 3)))
        axes.set_xticks(range(len(nodes)), [str(n) for n in nodes])
        axes.set_xlabel("nodes of the last layer", fontsize=9)
        axes.set_ylabel(measure_of(here[0].measure).title, fontsize=9)
        drawings.append(drawing)
    names = legend(cells)
    if theirs:
        names["DSM in the paper, its best"] = (PAPER, "- -")
    return figure(
        drawings,
        "concordance of a Cox model on each representation by its number of nodes",
        "Harrell’s C of a Cox model for event 2 on representations learned for event 1; bars of one standard error.",
        legend=names,
    )


def _shape_table(cells: Sequence[Cell]) -> Html:
    shapes = sorted({_shape(cell) for cell in cells})
    found = {(cell.model, _shape(cell)): cell for cell in cells}
    columns = [
        TableColumn(
            str(nodes), "nodes", 4, "max", f"{layers} hidden layer" + ("s" if layers > 1 else "")
        )
        for layers, nodes in shapes
    ]
    lines: list[list[Entry]] = []
    for model in sorted({cell.model for cell in cells}, key=rank):
        own = [found.get((model, shape)) for shape in shapes]
        title = model_title(model, cells[0].data)
        lines.append([title, *(None if c is None else Value(c.mean, c.error) for c in own)])
    heads = [TableColumn("Model", text=True), *columns]
    return table(heads, lines, "Harrell’s C by hidden layers and nodes", "Mean ± standard error.")
