"""The experiment on transfer: how much of what was learnt for one event serves another."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..._html import Html, figure
from ..cells import Cell
from ..comparison import Published
from .figures import PAPER, error_lines, legend, panel
from .names import measure_of

__all__ = ["is_shape", "transfer_by_nodes"]


def is_shape(cell: Cell) -> bool:
    """Tell whether a cell is of one shape of network, ``<layers>x<nodes>``."""
    return re.fullmatch(r"\d+x\d+", cell.selection) is not None


def transfer_by_nodes(cells: Sequence[Cell], paper: Published) -> Html:
    """Show the concordance by the width of the representation; the selection of these cells is ``<layers>x<nodes>``."""
    drawings = []
    shapes = {cell.selection: tuple(map(int, cell.selection.split("x"))) for cell in cells}
    nodes = sorted({width for _, width in shapes.values()})
    theirs = [cell for (model, _), cell in paper.items() if model == "dsm"]
    for layers in sorted({depth for depth, _ in shapes.values()}):
        drawing, axes = panel("One hidden layer" if layers == 1 else f"{layers} hidden layers")
        here = [cell for cell in cells if shapes[cell.selection][0] == layers]
        error_lines(axes, here, [float(n) for n in nodes], lambda cell: float(shapes[cell.selection][1]), by_model=True)
        for cell in theirs:
            axes.axhline(cell.mean, color=PAPER, lw=0.9, ls=(0, (3, 3)))
        axes.set_xticks(range(len(nodes)), [str(n) for n in nodes])
        axes.set_xlabel("nodes of the last layer", fontsize=9)
        axes.set_ylabel(measure_of(here[0].measure).plain, fontsize=9)
        drawings.append(drawing)
    names = legend(cells, {})
    if theirs:
        names["DSM in the paper, its best"] = (PAPER, "- -")
    return figure(
        drawings,
        "concordance of a Cox model on each representation by its number of nodes",
        "Harrell’s C of a Cox model for event 2 on representations learnt for event 1; bars of one standard error.",
        legend=names,
    )
