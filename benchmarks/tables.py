"""Tables as they are printed and as they are in docs/performance.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Table", "plot_ratios", "ratio_tables"]


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers are shortened when the table is shown."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def text(self) -> str:
        """Return the table in columns of equal width."""
        cells = [list(self.columns), *[[number(value) for value in row] for row in self.rows]]
        widths = [max(len(row[place]) for row in cells) for place in range(len(self.columns))]
        lines = ["  ".join(_aligned(row, widths)).rstrip() for row in cells]
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])

    def markdown(self) -> str:
        """Return the table for a page."""
        head = "| " + " | ".join(self.columns) + " |"
        rule = "|" + "|".join(["---"] + ["---:"] * (len(self.columns) - 1)) + "|"
        body = ["| " + " | ".join(number(value) for value in row) + " |" for row in self.rows]
        return "\n".join(
            [f"**{self.title}**", "", head, rule, *body, *(["", self.note] if self.note else [])]
        )


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        row[0].ljust(widths[0]),
        *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)],
    ]


def number(value: Any) -> str:
    """Return a value with three or four significant digits; a dash where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.2e}"
    digits = 4 if abs(value) < 1 else 3 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return f"{value:,.{digits}f}"


def ratio_tables(results: dict[str, dict[str, float]]) -> list[Table]:
    """Return the table of a benchmark whose results are ``{case: {seconds, their_seconds, ratio}}``."""
    rows = [
        [case, run["seconds"], run["their_seconds"], run["ratio"]] for case, run in results.items()
    ]
    return [Table("Against scikit-survival", ["", "seconds", "theirs", "times faster"], rows)]


def plot_ratios(results: dict[str, dict[str, float]], figure: Any) -> None:
    """Show such results as bars."""
    axes = figure.subplots()
    axes.barh(list(results), [run["ratio"] for run in results.values()])
    axes.set(xscale="log", xlabel="times faster")
    axes.invert_yaxis()
