"""Several rows of one subject: which columns tell, where the target does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._types import FloatArray
from ...preprocessing.columns import ColumnData
from ...target import Target
from ..text import counted, listed
from .findings import Finding

__all__ = ["check_subjects"]

_LEAST_VALUES = 20
_ROWS = 20_000
_MISSING = -1e300  # a value like any other
_ENOUGH_FIXED = 2  # columns that are the same in all rows of a value


def check_subjects(
    variables: Sequence[ColumnData], target: Target, known: Sequence[str]
) -> list[Finding]:
    """Find a column whose repeated values fix other columns, as an identifier of subjects fixes what is true of them.

    ``known`` are columns that were found to be identifiers by their names. Nothing is looked for where the target has
    subjects.
    """
    if target.subject is not None or known:
        return []
    parts = [variable.take(np.arange(min(len(target), _ROWS))) for variable in variables]
    several = [part for part in parts if part.distinct >= _LEAST_VALUES]
    for part in several:
        repeats = _LEAST_VALUES <= part.distinct <= 0.75 * len(part.missing)
        if not repeats or part.missing.any() or not (part.numbers is None or part.is_whole):
            continue
        fixed = [
            other.name
            for other in several
            if other is not part and _is_fixed(_values(other), _values(part))
        ]
        if len(fixed) >= _ENOUGH_FIXED:
            return [_finding(part, fixed)]
    return []


def _values(variable: ColumnData) -> FloatArray:
    values = variable.numbers if variable.numbers is not None else variable.codes
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=_MISSING)


def _is_fixed(values: FloatArray, groups: FloatArray) -> bool:
    """Tell whether the values are the same within each group, without rising or falling along with the groups."""
    order = np.argsort(groups, kind="stable")
    values, same_group = values[order], np.diff(groups[order]) == 0
    steps = np.diff(values)
    return bool((steps[same_group] == 0).all() and (steps > 0).any() and (steps < 0).any())


def _finding(variable: ColumnData, fixed: list[str]) -> Finding:
    rows = counted(len(variable.missing), "row")
    return Finding(
        "warn",
        "repeated subjects",
        f"{variable.name} has {counted(variable.distinct, 'different value')} in {rows}, and {listed(fixed, 4)} "
        f"{'is' if len(fixed) == 1 else 'are'} the same in all rows of a value: it may identify subjects with several "
        "rows.",
        f"If so, say whose row it is: make_target(..., subject=), on the command line --id {variable.name}. Every "
        "split then keeps the rows of a subject together; otherwise held-out rows of known subjects make a model look "
        "better than it is.",
    )
