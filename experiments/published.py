"""The numbers that the paper printed, as data.

``published.csv`` is made from the paper's TeX source by scripts/make_published.py and has every number of its tables of
results: SUPPORT and METABRIC (C^td and Brier score), SYNTHETIC and SEER (C^td), transfer. Training times and numbers of
parameters are figures there, without printed numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from scipy.stats import norm, t

from lifemix.errors import SettingError

from .cells import Cell

__all__ = [
    "PLUS_MINUS",
    "PUBLISHED",
    "STATISTICS",
    "PlusMinus",
    "Statistics",
    "interval_to_error",
    "published_cells",
]

PUBLISHED = ("support", "metabric", "synthetic", "seer", "transfer")
"""What the paper has a table of results for."""


@dataclass(frozen=True)
class PlusMinus:
    """What stands behind ± in one of the paper's tables, and over how many folds."""

    meaning: Literal["contradictory", "90 % interval"]
    folds: int
    says: str


_CONTRADICTION = (
    "The section on experiments says “we report the standard error around the mean”, {folds}-fold; the appendix with "
    "this table says “the mean and the 90% confidence interval”, 5-fold. Read here as the standard error."
)
PLUS_MINUS: Mapping[str, PlusMinus] = MappingProxyType(
    {
        name: PlusMinus("contradictory", folds, _CONTRADICTION.format(folds=folds))
        for name, folds in {"support": 5, "metabric": 10, "synthetic": 5, "seer": 5}.items()
    }
    | {"transfer": PlusMinus("90 % interval", 5, "The head of the column says “C-Index (90%-CI)”.")}
)
"""What the paper says about the ± of each table."""


@dataclass(frozen=True)
class Statistics:
    """A row of the paper's table of data sets."""

    rows: int
    features: int
    events: tuple[int, ...]
    censored: int


STATISTICS: Mapping[str, Statistics] = MappingProxyType(
    {
        "support": Statistics(9_105, 30, (6_201,), 2_904),
        "metabric": Statistics(1_904, 9, (1_103,), 801),
        "synthetic": Statistics(30_000, 12, (7_600, 7_400), 15_000),
        "seer": Statistics(65_481, 21, (13_564, 4_245), 47_672),
    }
)


def interval_to_error(
    half_width: float, folds: int, distribution: Literal["t", "normal"] = "t"
) -> float:
    """Return the standard error of a mean from half the width of its 90 % interval.

    distribution: of the mean over the folds; the paper does not say which it used.
    """
    point: float = t.ppf(0.95, folds - 1) if distribution == "t" else norm.ppf(0.95)
    return half_width / point


def published_cells(data: str, interval: Literal["t", "normal"] | None = None) -> list[Cell]:
    """Return every number of the paper's table for a data set (or ``"transfer"``), in the order of the table.

    ``error`` is the printed ±, whatever it means there (``PLUS_MINUS``). With ``interval`` it is read as a 90 %
    interval and converted to a standard error (``interval_to_error``). Data that the paper lacks give no cells.
    """
    if interval not in (None, "t", "normal"):
        raise SettingError(f"interval is None, 't' or 'normal'; got {interval!r}.")
    cells = []
    for row in _rows():
        if row["data"] == data:
            error = float(row["plus_minus"])
            if interval is not None:
                error = interval_to_error(error, PLUS_MINUS[data].folds, interval)
            cells.append(_cell(row, error))
    return cells


def _cell(row: Mapping[str, str], error: float) -> Cell:
    return Cell(
        data=row["data"],
        model=row["model"],
        measure=row["measure"],
        event=int(row["event"]),
        horizon=float(row["horizon"]),
        censoring=float(row["censoring"]),
        selection="published",
        mean=float(row["mean"]),
        error=error,
    )


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with Path(__file__).with_name("published.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
