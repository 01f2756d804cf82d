"""What each covariate of a table was understood to be, and what will be done with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import CovariateError
from ..preprocessing.reading import ColumnData
from .roles import Roles
from .tables import ROW_NAMES

__all__ = ["ColumnFacts", "refuse_problems", "understand"]

_FEW = 20  # rows below which all values of a column may differ by chance
_MOST_LEVELS = 1000
_SHOWN = 3


@dataclass(frozen=True)
class ColumnFacts:
    """One column: its kind, the share of missing values, its values in short, and what is done with it.

    problem: why it cannot be used as it is; "" where it can.
    """

    name: str
    kind: str
    missing: float
    values: str
    action: str
    used: bool
    problem: str = ""

    def to_state(self) -> dict[str, Any]:
        """Return the facts in JSON's types."""
        return asdict(self)


def understand(X: pd.DataFrame, roles: Roles) -> list[ColumnFacts]:
    """Look at every covariate."""
    return [_look(str(name), values, roles) for name, values in X.items()]


def refuse_problems(facts: list[ColumnFacts]) -> None:
    """Say all that is wrong with the columns at once, and which options would leave them out."""
    bad = [fact for fact in facts if fact.problem]
    if bad:
        what = "; ".join(fact.problem for fact in bad)
        options = " ".join(f"--drop '{fact.name}'" if " " in fact.name else f"--drop {fact.name}" for fact in bad)
        raise CovariateError(f"{what}. Repair {'it' if len(bad) == 1 else 'them'}, or leave out: {options}")
    if not any(fact.used for fact in facts):
        raise CovariateError("no column is left to predict from: each is constant, empty or left out. Add covariates.")


def _look(name: str, values: pd.Series[Any], roles: Roles) -> ColumnFacts:
    missing = float(values.isna().mean())
    present = values.dropna()
    if present.empty:
        return ColumnFacts(name, "empty", missing, "", "left out: no values", False)
    if _is_date(present):
        problem = (
            f"column {name!r} holds dates such as {str(present.iloc[0])!r}; expected numbers, say days since a start"
        )
        return ColumnFacts(name, "dates", missing, _few(present), "", False, problem)
    try:
        numbers = ColumnData(name, values).numbers
        if numbers is not None and name not in roles.categorical:
            return _look_at_numbers(name, numbers, missing, roles)
    except CovariateError as error:
        return ColumnFacts(name, "unusable", missing, _few(present), "", False, str(error).rstrip("."))
    return _look_at_labels(name, present, missing, roles)


def _look_at_numbers(name: str, x: Any, missing: float, roles: Roles) -> ColumnFacts:
    observed = x[~np.isnan(x)]
    low, high = observed.min(), observed.max()
    if low == high:
        return ColumnFacts(name, "constant", missing, f"{low:g}", "left out: one value", False)
    span = f"{low:g} to {high:g}, mean {observed.mean():.4g}"
    if _are_row_numbers(x) and name not in roles.keep:
        how = "left out" if name == ROW_NAMES else f"left out (--keep {name} to use)"
        return ColumnFacts(name, "row numbers", missing, span, how, False)
    kind = "0 / 1" if set(np.unique(observed)) == {0.0, 1.0} else "numbers"
    return ColumnFacts(name, kind, missing, span, "scaled" + _filled(missing, "mean"), True)


def _look_at_labels(name: str, present: pd.Series[Any], missing: float, roles: Roles) -> ColumnFacts:
    codes, levels = ColumnData(name, present).coded
    count = len(set(levels))
    if count == 1:
        return ColumnFacts(name, "constant", missing, levels[0], "left out: one value", False)
    problem = "" if name in roles.categorical else _mixture(name, present)
    if not problem and len(present) >= _FEW and count == len(present) and name not in roles.keep:
        kind = "row names" if name == ROW_NAMES else "identifier"
        return ColumnFacts(name, kind, missing, _few(present), "left out: all values differ", False)
    if not problem and count > _MOST_LEVELS:
        example = str(present.iloc[0])
        problem = (
            f"column {name!r} has {count} different texts, such as {example!r}; at most {_MOST_LEVELS} can be used"
        )
    shares = np.sort(np.bincount(codes))[::-1] / len(present)
    order = np.argsort(-np.bincount(codes), kind="stable")
    shown = ", ".join(f"{levels[i]} {share:.0%}" for i, share in zip(order[:_SHOWN], shares, strict=False))
    text = shown + (f", and {count - _SHOWN} more" if count > _SHOWN else "")
    return ColumnFacts(
        name, "categories", missing, text, f"{count} levels" + _filled(missing, "most frequent"), True, problem
    )


def _filled(missing: float, by: str) -> str:
    return f"; missing: {by}, and marked" if missing else ""


def _mixture(name: str, present: pd.Series[Any]) -> str:
    """Return what is wrong with a column that is mostly numbers, but not only."""
    numbers = pd.to_numeric(present.astype(str), errors="coerce")
    texts = present[numbers.isna().to_numpy()]
    if not 0 < len(texts) < len(present) / 2:
        return ""
    some = ", ".join(dict.fromkeys(repr(str(text)) for text in texts.iloc[:50]))
    return (
        f"column {name!r} holds numbers, but also text in {len(texts)} rows: {some[:60]} (where it means missing, add "
        f"--missing {str(texts.iloc[0])!r}; where the numbers are codes, --categorical {name})"
    )


def _is_date(present: pd.Series[Any]) -> bool:
    if pd.api.types.is_datetime64_any_dtype(present.dtype) or pd.api.types.is_timedelta64_dtype(present.dtype):
        return True
    if not pd.api.types.is_object_dtype(present.dtype) and not pd.api.types.is_string_dtype(present.dtype):
        return False
    sample = present.iloc[:50].astype(str)
    return bool(sample.str.fullmatch(r"\d{4}-\d\d?-\d\d?([ T].*)?|\d\d?[./]\d\d?[./]\d{4}").all())


def _are_row_numbers(x: Any) -> bool:
    steps = np.arange(len(x))
    return len(x) >= _FEW and bool(np.array_equal(x, steps) or np.array_equal(x, steps + 1))


def _few(present: pd.Series[Any]) -> str:
    return ", ".join(str(value)[:20] for value in present.iloc[:_SHOWN]) + ", ..."
