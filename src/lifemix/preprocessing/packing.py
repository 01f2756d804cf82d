"""The parts of a packed row: what was learned of each source, and how its numbers are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._types import Float32Array, FloatArray
from ..errors import CovariateError
from ..histories import ArrayRows, Block, Histories
from ..histories.blocks import HEAD, TIME_FEATURES
from ..registry import register_model
from .tabular import TabularPreprocessor

__all__ = ["ArrayPart", "Part", "TablePart", "VisitsPart"]


class Part(Protocol):
    """One source."""

    def block(self, name: str) -> Block:
        """Return its place and shape."""

    def names(self) -> list[str]:
        """Return the names of its numbers, behind the name of the source."""

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the numbers of a source into ``out``, which is zero before."""


@register_model
@dataclass(frozen=True, eq=False)
class TablePart:
    """A table: encoded as ever."""

    table: TabularPreprocessor

    def __post_init__(self) -> None:
        if not isinstance(self.table, TabularPreprocessor):
            raise ValueError("table must be a TabularPreprocessor")

    def block(self, name: str) -> Block:
        """Return its place and shape."""
        return Block(name, "table", (len(self.table.get_feature_names_out()),))

    def names(self) -> list[str]:
        """Return the names of its numbers."""
        return [f".{name}" for name in self.table.get_feature_names_out()]

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the numbers of a table."""
        if isinstance(source, (Histories, ArrayRows)):
            raise CovariateError(f"training had a table here; got {source!r}.")
        out[:] = self.table.transform(source)


@register_model
@dataclass(frozen=True, eq=False)
class ArrayPart:
    """An array of any rank: taken as it is."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or not all(
            type(size) is int and size >= 0 for size in self.shape
        ):
            raise ValueError(f"the shape of an array must be whole numbers; got {self.shape!r:.60}")

    def block(self, name: str) -> Block:
        """Return its place and shape."""
        return Block(name, "array", self.shape)

    def names(self) -> list[str]:
        """Return the names of its numbers: the places in the array."""
        return [str(list(place)) for place in np.ndindex(self.shape)]

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the numbers of an array."""
        if not isinstance(source, ArrayRows) or source.values.shape[1:] != self.shape:
            got = source.values.shape if isinstance(source, ArrayRows) else type(source).__name__
            raise CovariateError(f"expected an array of shape {('n', *self.shape)}; got {got}.")
        try:
            out[:] = source.values.reshape(len(out), -1)
        except (TypeError, ValueError) as error:
            raise CovariateError(f"an array must hold numbers; {error}.") from None
        if not np.isfinite(out).all():
            raise CovariateError(
                f"an array must hold finite numbers that single precision can; got {int((~np.isfinite(out)).sum())} "
                "others. Fill missing values, or scale it."
            )


@register_model
@dataclass(frozen=True, eq=False)
class VisitsPart:
    """Histories: the encoded values of each visit, with times, gaps and marks of what was missing.

    Attributes
    ----------
    table : TabularPreprocessor
        How the columns are encoded.
    masked : tuple of int
        The columns with missing values in training.
    max_visits : int
        The longest sequence; of a longer one the last visits are kept.
    time_scale, gap_scale : float
        What times and gaps are divided by.
    """

    table: TabularPreprocessor
    masked: tuple[int, ...]
    max_visits: int
    time_scale: float
    gap_scale: float

    def __post_init__(self) -> None:
        masked, n_columns = self.masked, len(self.table.columns_)
        if list(masked) != sorted(set(masked)) or (
            masked and not 0 <= masked[0] <= masked[-1] < n_columns
        ):
            raise ValueError(f"masked must be ascending numbers of columns; got {masked!r:.60}")
        if type(self.max_visits) is not int or self.max_visits < 1:
            raise ValueError(f"max_visits must be at least 1; got {self.max_visits!r:.60}")
        if not (0 < self.time_scale < math.inf and 0 < self.gap_scale < math.inf):
            raise ValueError(
                f"the scales must be above 0; got {self.time_scale} and {self.gap_scale}"
            )

    @classmethod
    def learn(
        cls, table: TabularPreprocessor, histories: Histories, max_visits: int | None
    ) -> VisitsPart:
        """Learn from the visits of the training rows, each once."""
        visits, starts, stops = histories.parts()
        longest = int((stops - starts).max(initial=0))
        if longest == 0:
            raise CovariateError("no subject has a visit; got sequences of length 0 only.")
        table = table.set_params(missing_indicators=False).fit(visits.carried)
        gaps = np.diff(visits.times)[np.diff(visits.owner) == 0]
        gaps = gaps[gaps > 0]
        return cls(
            table,
            tuple(np.flatnonzero(visits.missing.any(0)).tolist()),
            longest if max_visits is None else min(longest, int(max_visits)),
            _positive(float(visits.times.std())),
            _positive(float(np.median(gaps)) if len(gaps) else 0.0),
        )

    @property
    def n_values(self) -> int:
        """The number of encoded values of a visit."""
        return len(self.table.get_feature_names_out())

    def block(self, name: str) -> Block:
        """Return its place and shape."""
        width = TIME_FEATURES + self.n_values + len(self.masked)
        return Block(name, "visits", (self.max_visits, width), self.n_values)

    def names(self) -> list[str]:
        """Return the names of its numbers."""
        columns = [column.name for column in self.table.columns_]
        values = [str(name) for name in self.table.get_feature_names_out()]
        own = ["time", "gap", *values, *(f"missing_{columns[place]}" for place in self.masked)]
        steps = [f"[{step}].{name}" for step in range(self.max_visits) for name in own]
        return [".count", ".until", ".elapsed", *steps]

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the numbers of histories."""
        if not isinstance(source, Histories):
            raise CovariateError(
                f"training had histories here; got {type(source).__name__}. Use Histories.from_long."
            )
        visits, starts, stops = source.parts()
        count = np.minimum(stops - starts, self.max_visits)
        out[:, 0] = count
        last = np.nan_to_num(source.last_times)
        until = np.where(np.isnan(source.at), last, source.at)
        out[:, 1] = until / self.time_scale
        out[:, 2] = np.where(
            count > 0, np.log1p(np.maximum(until - last, 0.0) / self.gap_scale), 0.0
        )
        if not len(visits):
            return
        features = self._features(visits)
        steps = out[:, HEAD:].reshape(
            len(out), self.max_visits, features.shape[1]
        )  # a copy: out is a part of rows
        places = np.arange(self.max_visits)
        present = places < count[:, None]
        steps[present] = features[((stops - count)[:, None] + places)[present]]
        out[:, HEAD:] = steps.reshape(len(out), -1)

    def _features(self, visits: Any) -> FloatArray:
        """Return the features of every visit, ``[visits, features]``."""
        gaps = np.diff(visits.times, prepend=visits.times[0])
        gaps[np.append(True, np.diff(visits.owner) != 0)] = 0.0
        times = np.stack([visits.times / self.time_scale, np.log1p(gaps / self.gap_scale)], axis=1)
        values = self.table.transform(visits.carried)
        missing = visits.missing[:, list(self.masked)]
        return np.concatenate([times, values, missing], axis=1)


def _positive(scale: float) -> float:
    return scale if scale > 0 and math.isfinite(scale) else 1.0
