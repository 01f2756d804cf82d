"""From histories, alone or beside tables and arrays, to packed rows of numbers.

``histories.Block`` describes the place of each source in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._types import Float32Array
from ..checks import Number, Whole
from ..errors import CovariateError, SettingError
from ..histories import HEAD, TIME_FEATURES, ArrayRows, Block, Histories, Sources, as_input
from ..registry import register_model
from .tabular import TabularPreprocessor, columns_by_name

__all__ = ["ArrayPart", "SequencePreprocessor", "TablePart", "VisitsPart"]


@register_model
@dataclass(frozen=True, eq=False)
class TablePart:
    """The encoded columns of a table."""

    table: TabularPreprocessor

    def block(self, name: str) -> Block:
        """Return the place and shape of the source."""
        return Block(name, "table", (len(self.table.get_feature_names_out()),))

    def names(self) -> list[str]:
        """Return the names of the encoded columns."""
        return [f".{name}" for name in self.table.get_feature_names_out()]

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the encoded rows of a table."""
        if isinstance(source, (Histories, ArrayRows)):
            raise CovariateError(f"training had a table here; got {source!r}.")
        out[:] = self.table.transform(source)


@register_model
@dataclass(frozen=True, eq=False)
class ArrayPart:
    """The unchanged numbers of an array, in C order."""

    shape: tuple[int, ...]

    def block(self, name: str) -> Block:
        """Return the place and shape of the source."""
        return Block(name, "array", self.shape)

    def names(self) -> list[str]:
        """Return the positions in the array."""
        return [str(list(position)) for position in np.ndindex(self.shape)]

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the numbers of an array."""
        if not isinstance(source, ArrayRows) or source.values.shape[1:] != self.shape:
            got = source.values.shape if isinstance(source, ArrayRows) else type(source).__name__
            raise CovariateError(f"expected an array of shape {('n', *self.shape)}; got {got}.")
        try:
            out[:] = source.values.reshape(len(out), -1)
        except (TypeError, ValueError) as error:
            raise CovariateError(f"an array must hold numbers; {error}.") from None
        n_wrong = int((~np.isfinite(out)).sum())
        if n_wrong:
            raise CovariateError(
                f"an array must hold finite numbers in the range of float32; got {n_wrong} others. "
                "Fill missing values, or scale the array."
            )


@register_model
@dataclass(frozen=True, eq=False)
class VisitsPart:
    """The encoded values of visits, with their times, gaps and indicators of missing values.

    Attributes
    ----------
    table : TabularPreprocessor
        The encoding of the columns.
    masked : tuple of int
        The columns with missing values in training.
    max_visits : int
        The longest sequence; of a longer one the last visits are kept.
    time_scale, gap_scale : float
        The divisors of times and gaps.
    """

    table: TabularPreprocessor
    masked: tuple[int, ...]
    max_visits: int
    time_scale: float
    gap_scale: float

    def __post_init__(self) -> None:
        n_columns = len(self.table.columns_)
        if not all(type(index) is int and 0 <= index < n_columns for index in self.masked):
            raise ValueError("masked must be numbers of columns")
        Whole(1)("max_visits", self.max_visits)
        Number(above=0.0)("time_scale", self.time_scale)
        Number(above=0.0)("gap_scale", self.gap_scale)

    @classmethod
    def learn(
        cls, table: TabularPreprocessor, histories: Histories, max_visits: int | None
    ) -> VisitsPart:
        """Learn from the visits of the training rows, each counted once."""
        visits, _, _ = histories.visits_and_bounds()
        longest = int(histories.n_visits.max(initial=0))
        if longest == 0:
            raise CovariateError("no subject has a visit; got sequences of length 0 only.")
        table = table.set_params(missing_indicators=False).fit(visits.carried)
        gaps = np.diff(visits.times)[np.diff(visits.subject) == 0]
        gaps = gaps[gaps > 0]
        return cls(
            table,
            tuple(np.flatnonzero(visits.missing.any(0)).tolist()),
            longest if max_visits is None else min(longest, int(max_visits)),
            float(visits.times.std()) or 1.0,
            float(np.median(gaps)) if len(gaps) else 1.0,
        )

    def block(self, name: str) -> Block:
        """Return the place and shape of the source."""
        n_values = len(self.table.get_feature_names_out())
        n_features = TIME_FEATURES + n_values + len(self.masked)
        return Block(name, "visits", (self.max_visits, n_features), n_values)

    def names(self) -> list[str]:
        """Return the names of the head and of the features of each visit."""
        columns = [self.table.columns_[index].name for index in self.masked]
        values = [str(name) for name in self.table.get_feature_names_out()]
        features = ["time", "gap", *values, *(f"missing_{column}" for column in columns)]
        steps = [f"[{step}].{name}" for step in range(self.max_visits) for name in features]
        return [".count", ".until", ".elapsed", *steps]

    def write(self, source: Any, out: Float32Array) -> None:
        """Write the head of each row, then the features of its last visits."""
        if not isinstance(source, Histories):
            raise CovariateError(
                f"training had histories here; got {type(source).__name__}. Use "
                "Histories.from_long."
            )
        visits, _, stops = source.visits_and_bounds()
        count = np.minimum(source.n_visits, self.max_visits)
        last = np.nan_to_num(source.last_times)
        until = np.where(np.isnan(source.at), last, source.at)
        elapsed = np.log1p(np.maximum(until - last, 0.0) / self.gap_scale)
        out[:, 0] = count
        out[:, 1] = until / self.time_scale
        out[:, 2] = np.where(count > 0, elapsed, 0.0)
        if not len(visits):
            return
        gaps = np.diff(visits.times, prepend=visits.times[0])
        gaps[np.diff(visits.subject, prepend=-1) != 0] = 0.0
        masked = [self.table.columns_[index].name for index in self.masked]
        features = np.column_stack(
            [
                visits.times / self.time_scale,
                np.log1p(gaps / self.gap_scale),
                self.table.transform(visits.carried),
                columns_by_name(visits.frame, masked).isna(),
            ]
        )
        step = np.arange(self.max_visits)
        is_visit = step < count[:, None]  # [n_rows, max_visits]
        visit = (stops - count)[:, None] + step
        steps = np.zeros((*is_visit.shape, features.shape[1]), np.float32)
        steps[is_visit] = features[visit[is_visit]]
        out[:, HEAD:] = steps.reshape(len(out), -1)


SourcePart: TypeAlias = TablePart | ArrayPart | VisitsPart
"""The columns of one source in a packed row."""


@register_model
class SequencePreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode, scale and pack histories, and the tables and arrays beside them.

    All statistics are learned from the training rows, those of measurements from their visits.
    ``table`` encodes the measurements like the columns of a table, but a missing value becomes the
    subject's last known value if there is one. Columns with missing values in training add an
    indicator to each visit. Each visit also has its time and the gap since the visit before. Only
    the last ``max_visits`` visits are used. Arrays are not changed.

    Parameters
    ----------
    table : TabularPreprocessor, optional
        Encodes the columns of tables and visits; None: one with default options.
    max_visits : int, optional
        The longest sequence; None: the longest one of the training rows.
    sequences : bool, default True
        Whether an array of three dimensions holds histories (subjects, steps, columns).

    Attributes
    ----------
    blocks_ : tuple of Block
        The position of each source in a row.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix.histories import Histories
    >>> from lifemix.preprocessing import SequencePreprocessor
    >>> histories = Histories.from_array(np.random.default_rng(0).normal(size=(5, 3, 2)))
    >>> fitted = SequencePreprocessor().fit(histories)
    >>> fitted.blocks_
    (Block(name='visits', kind='visits', shape=(3, 4), n_values=2),)
    >>> fitted.transform(histories).shape
    (5, 15)
    """

    parts_: dict[str, SourcePart]

    def __init__(
        self,
        table: TabularPreprocessor | None = None,
        max_visits: int | None = None,
        sequences: bool = True,
    ) -> None:
        self.table = table
        self.max_visits = max_visits
        self.sequences = sequences

    def fit(self, X: Any, y: Any = None) -> SequencePreprocessor:
        """Learn from the training rows.

        Parameters
        ----------
        X : Histories, Sources, dict or array
            The training rows.
        y : ignored
            As scikit-learn's transformers have it.

        Returns
        -------
        SequencePreprocessor
            Itself.

        Raises
        ------
        CovariateError
            If a source cannot be used; the message names it.
        """
        Whole(1, optional=True)("max_visits", self.max_visits)
        if self.table is not None and not isinstance(self.table, TabularPreprocessor):
            raise SettingError(
                f"table must be a TabularPreprocessor or None; got {type(self.table).__name__}."
            )
        self.parts_ = {}
        for name, source in _sources(X, self.sequences).items():
            table = TabularPreprocessor() if self.table is None else clone(self.table)
            with _source_in_errors(name):
                if isinstance(source, Histories):
                    self.parts_[name] = VisitsPart.learn(table, source, self.max_visits)
                elif isinstance(source, ArrayRows):
                    self.parts_[name] = ArrayPart(source.values.shape[1:])
                else:
                    self.parts_[name] = TablePart(table.fit(source))
        return self

    def _validate(self) -> None:
        """Check a transformer that was read from a model file."""
        if not all(isinstance(encoding, SourcePart) for encoding in self.parts_.values()):
            raise ValueError("parts_ must be the parts of a row")

    @property
    def blocks_(self) -> tuple[Block, ...]:
        """The place of each source in a row."""
        check_is_fitted(self, "parts_")
        return tuple(encoding.block(name) for name, encoding in self.parts_.items())

    def transform(self, X: Any) -> Float32Array:
        """Return one row of numbers per subject.

        Parameters
        ----------
        X : Histories, Sources, dict or array
            The sources of training.

        Returns
        -------
        array of shape (n, n_outputs), float32
            The blocks one after the other.

        Raises
        ------
        CovariateError
            If a source is missing or has another shape; the message names it.
        """
        blocks = self.blocks_
        sources = _sources(X, {block.name for block in blocks if block.kind == "visits"})
        if set(sources) != set(self.parts_):
            raise CovariateError(
                f"X must have the sources of training, {list(self.parts_)}; got {list(sources)}. "
                "Give a dict with a source under each of these names."
            )
        n_rows = len(next(iter(sources.values())))
        matrix = np.zeros((n_rows, sum(block.width for block in blocks)), np.float32)
        columns = np.split(matrix, np.cumsum([block.width for block in blocks])[:-1], axis=1)
        for (name, encoding), out in zip(self.parts_.items(), columns, strict=True):
            with _source_in_errors(name), np.errstate(over="ignore"):
                encoding.write(sources[name], out)
        return matrix

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the outputs.

        Parameters
        ----------
        input_features : ignored
            As scikit-learn's transformers have it.

        Returns
        -------
        array of str
            Such as ``clinic.age`` and ``visits[0].bili``, the first visit kept.
        """
        check_is_fitted(self, "parts_")
        names = [
            name + column for name, encoding in self.parts_.items() for column in encoding.names()
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags


def _sources(X: Any, sequences: bool | set[str]) -> dict[str, Any]:
    """Return the sources by name.

    sequences: whether arrays of three dimensions hold histories, or the names of those that do.
    """
    X = as_input(X)
    if isinstance(X, Sources):
        sources = dict(X.parts)
    elif isinstance(X, (Histories, ArrayRows)):
        sources = {"visits" if sequences or isinstance(X, Histories) else "array": X}
    else:
        raise CovariateError(
            f"this model takes histories, a dict of sources or an array; got {type(X).__name__} of "
            f"shape {getattr(X, 'shape', None)}."
        )
    for name, source in sources.items():
        is_sequence = sequences if isinstance(sequences, bool) else name in sequences
        if is_sequence and isinstance(source, ArrayRows):
            with _source_in_errors(name):
                sources[name] = Histories.from_array(source.values)
    return sources


@contextmanager
def _source_in_errors(name: str) -> Iterator[None]:
    """Put the name of the source before the messages of errors."""
    try:
        yield
    except CovariateError as error:
        raise CovariateError(f"source {name!r}: {error}") from None
