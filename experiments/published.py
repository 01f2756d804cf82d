"""The numbers that the paper printed, as data.

``published.csv`` is made from the paper's TeX source by ``scripts/make_published.py`` and has every number of its
tables: SUPPORT and METABRIC (C^td and Brier score), SYNTHETIC and SEER (C^td), transfer. Training times and numbers
of parameters are figures there, without printed numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd
from scipy.stats import t as student

from .records import Frame

__all__ = ["PLUS_MINUS", "published_cells"]

_CONTRADICTION = (
    "the section on experiments says “we report the standard error around the mean”, {}-fold; the appendix with this "
    "table says “the mean and the 90% confidence interval”, 5-fold. Read here as the standard error."
)
PLUS_MINUS = {
    "support": _CONTRADICTION.format(5),
    "metabric": _CONTRADICTION.format(10),
    "synthetic": _CONTRADICTION.format(5),
    "seer": _CONTRADICTION.format(5),
    "transfer": "the head of the column says “C-Index (90%-CI)”. Here: a standard error, by the t distribution with 4 "
    "degrees of freedom.",
}
"""What the paper says about the ± of each table."""


def published_cells(data: Iterable[str], as_interval: bool = False) -> Frame:
    """Return the paper's cells for data sets, with the standard errors of its means.

    as_interval: whether ± is read as a 90 % interval in tables about which the paper contradicts itself.
    """
    cells = _read()
    cells = cells[cells["data"].isin(set(data))].copy()
    is_interval = (cells["data"] == "transfer") | as_interval
    n_folds = cells["data"].map({"metabric": 10}).fillna(5)
    half_width = cells["error"] / student.ppf(0.95, n_folds - 1)
    cells["error"] = cells["error"].where(~is_interval, half_width)
    return cells.reset_index(drop=True)


@cache
def _read() -> Frame:
    cells = pd.read_csv(Path(__file__).with_name("published.csv"))
    cells = cells.rename(columns={"plus_minus": "error"}).drop(columns="bold")
    return cells.assign(selection="published", censoring=cells["censoring"].astype(float))
