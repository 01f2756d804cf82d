"""The columns of a table as the checks look at them, read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import CovariateError
from ...preprocessing.columns import factorize, holds_numbers, to_floats
from ...target import Target
from .findings import Finding

__all__ = ["Bools", "Floats", "Ints", "Variable", "exact_times", "read_variables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Variable:
    """One column; either ``numbers`` (NaN where missing), or ``codes`` (-1 where missing), the places among ``levels``.

    ``distinct`` counts the different values, the missing apart.
    """

    name: str
    missing: Bools
    numbers: Floats | None
    codes: Ints | None
    levels: tuple[str, ...]
    distinct: int

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers only."""
        if self.numbers is None:
            return False
        seen = self.numbers[~self.missing]
        return bool((seen == np.floor(seen)).all())

    @property
    def n_inputs(self) -> int:
        """How many free numbers a model gets from it: one, or the levels but one; one more where values are missing."""
        if self.distinct < 2:
            return int(self.missing.any() and self.distinct > 0)
        return (1 if self.numbers is not None else len(self.levels) - 1) + int(self.missing.any())

    def take(self, rows: NDArray[np.intp]) -> Variable:
        """Return the column at some rows; ``distinct`` and ``levels`` stay those of the whole."""
        numbers = None if self.numbers is None else self.numbers[rows]
        codes = None if self.codes is None else self.codes[rows]
        return Variable(self.name, self.missing[rows], numbers, codes, self.levels, self.distinct)


def read_variables(frame: pd.DataFrame) -> tuple[list[Variable], list[Finding]]:
    """Read every column of a table; one that no model could read becomes a finding."""
    variables, findings = [], []
    for name, values in frame.items():
        try:
            variables.append(_read(str(name), values))
        except CovariateError as error:
            findings.append(
                Finding(
                    "stop",
                    "unreadable column",
                    f"The column {name} cannot be used as it is: {error}",
                    "Repair or leave out the column.",
                )
            )
    return variables, findings


def _read(name: str, values: pd.Series[Any]) -> Variable:
    missing = values.isna().to_numpy(bool)
    if missing.all() or holds_numbers(name, values):
        numbers = np.full(len(values), np.nan) if missing.all() else to_floats(name, values)
        return Variable(name, missing, numbers, None, (), len(np.unique(numbers[~missing])))
    codes, texts = factorize(name, values)
    return Variable(name, missing, None, codes.astype(np.int64), tuple(texts), len(set(texts)))


def exact_times(target: Target) -> Target:
    """Return the target with every interval replaced by its middle: good enough to look for what stands out."""
    middle = np.where(target.interval, (target.time + np.where(target.interval, target.upper, 0.0)) / 2, target.time)
    return Target(target.event, middle, target.entry, np.full(len(target), np.nan))
