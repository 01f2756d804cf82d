"""One column of a table: what is learned from its training values, and the numbers it becomes.

A column of numbers becomes ``(x - mean) / scale``, a missing ``x`` first replaced by ``fill``; ``mean`` and ``scale``
(divisor n) are those of the training column after that replacement; with knots it becomes several numbers, one per bin
(see ``piecewise``). A column of labels becomes one 0/1 column per level. Either may add a missing-value indicator. A
column that is constant in training, or empty, becomes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..errors import CovariateError, SettingError
from ..registry import register_model
from .identifiers import refuse_free_text
from .reading import ColumnData

__all__ = ["Column", "learn_levels", "mode_of", "sorted_levels"]


@register_model
@dataclass(frozen=True)
class Column:
    """What was learned from one column of the training table.

    kind: ``numeric``, ``categorical``, ``constant`` (one value in training) or ``empty`` (all values missing).
    fill: imputed for a missing value; a number, or one of the ``levels``; None where the column is empty.
    knots: the edges of the bins that a number is encoded by; None where it is only scaled.
    usual: of a column of numbers, a low, the middle and a high value of training (see ``usual_values``).
    whole: whether all its training values are whole numbers.
    missing: the share of the training rows without a value.
    """

    name: str
    kind: str
    fill: Any = None
    mean: float = 0.0
    scale: float = 1.0
    levels: tuple[str, ...] | None = None
    indicator: bool = False
    knots: tuple[float, ...] | None = None
    usual: tuple[float, ...] | None = None
    whole: bool = False
    missing: float = 0.0

    def check(self) -> None:
        """Raise ``ValueError`` if a column of a model file cannot be used by ``transform``."""
        levels, knots, fill = self.levels or (), self.knots, self.fill
        is_number = isinstance(fill, Real)
        has_fill = {
            "numeric": is_number and np.isfinite(fill),
            "categorical": isinstance(fill, str) and fill in levels,
            "constant": is_number or isinstance(fill, str),
            "empty": fill is None,
        }
        if (
            not isinstance(self.name, str)
            or not has_fill.get(self.kind, False)
            or len(set(levels)) < len(levels)
        ):
            raise ValueError(
                f"column {self.name!r:.60} must be filled with a number or one of its levels"
            )
        if not (np.isfinite(self.mean) and 0 < self.scale < np.inf) or not all(
            isinstance(x, str) for x in levels
        ):
            raise ValueError(
                f"column {self.name!r:.60} must have a finite mean, a positive scale and texts as levels"
            )
        if knots is not None and not (
            len(knots) > 1 and np.isfinite(knots).all() and (np.diff(knots) > 0).all()
        ):
            raise ValueError(f"column {self.name!r:.60} must have two or more ascending knots")

    @property
    def outputs(self) -> list[str]:
        """The names of the numbers that this column becomes; that of a bin tells its upper edge."""
        values = {
            "numeric": [self.name],
            "categorical": [f"{self.name}={level}" for level in self.levels or ()],
        }
        if self.knots is not None:
            values["numeric"] = [f"{self.name}<={edge:.17g}" for edge in self.knots[1:]]
        return values.get(self.kind, []) + ([f"missing_{self.name}"] if self.indicator else [])


def learn_levels(data: ColumnData, fill: float | None, indicators: bool, max_levels: int) -> Column:
    """Learn a column of labels from its training values."""
    codes, levels = data.coded
    missing = int((codes < 0).sum())
    if missing == len(codes):
        return Column(data.name, "empty", missing=1.0)
    if fill is not None:
        values = data.values
        raise SettingError(
            f"fill_values are for columns of numbers; got {fill} for {data.name!r}, which holds {values.dtype} values "
            f"such as {values.dropna().iloc[0]!r}. Leave it out of fill_values: the most frequent level is used."
        )
    refuse_free_text(data)
    if len(levels) > max_levels:
        raise CovariateError(
            f"column {data.name!r} may have at most max_levels={max_levels} levels; got {len(levels)} in {len(codes)} "
            f"rows, such as {list(levels[:3])}. Leave it out if it is an identifier, group its levels, or raise "
            "max_levels."
        )
    counted = dict(
        zip(levels, np.bincount(codes[codes >= 0], minlength=len(levels)).tolist(), strict=True)
    )
    counts = {level: counted[level] for level in sorted_levels(levels)}
    kind = "categorical" if len(counts) > 1 else "constant"
    indicator = indicators and missing > 0
    return Column(
        data.name,
        kind,
        fill=mode_of(counts),
        levels=tuple(counts),
        indicator=indicator,
        missing=missing / len(codes),
    )


def mode_of(counts: dict[str, int]) -> str:
    """Return the most frequent of sorted levels, the first of them where several are."""
    return max(counts, key=counts.__getitem__)


def sorted_levels(levels: tuple[str, ...]) -> list[str]:
    """Sort levels as numbers where all of them are, else as text."""
    unique = sorted(levels)
    try:
        return sorted(unique, key=float)
    except ValueError:
        return unique
