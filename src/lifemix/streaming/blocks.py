"""Blocks: some rows of a table in memory, columns of numbers and of labels apart, with their outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..checks import check_weight
from ..errors import CovariateError, InputError, LifemixError, TargetError
from ..preprocessing.reading import ColumnData, TableData
from ..subjects import subject_codes
from ..target import Target, as_target
from .arrow import arrow, kind_of

__all__ = ["RowBlock", "BlockMaker", "Roles", "join_blocks", "label_text"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Roles:
    """Which columns hold the outcome; ``codes`` turns labels of the event column into 0 and 1..M."""

    time: str | None = None
    event: str | None = None
    entry: str | None = None
    upper: str | None = None
    weight: str | None = None
    subject: str | None = None
    codes: Mapping[str, int] | None = None
    skip_incomplete: bool = False
    paths: bool = True

    @property
    def follows(self) -> bool:
        """Whether rows of one subject are intervals of a path."""
        return self.paths and self.entry is not None and self.subject is not None

    @property
    def columns(self) -> list[str]:
        """The columns that are no covariates."""
        named = (self.time, self.event, self.entry, self.upper, self.weight, self.subject)
        return list(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows.

    ``row`` is the number of each in the whole table; ``n_read`` counts those that were read, ``skipped`` those of them
    that had no outcome.
    """

    columns: tuple[str, ...]
    numbers: Floats  # [columns of numbers, rows], NaN where missing
    labels: dict[str, pd.Series[Any]]
    row: Ints
    target: Target | None
    weight: Floats
    n_read: int = 0
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Any) -> RowBlock:
        """Return some of the rows, by index or mask."""
        labels = {name: values.iloc[rows].reset_index(drop=True) for name, values in self.labels.items()}
        target = None if self.target is None else self.target.take(rows)
        return replace(
            self,
            numbers=self.numbers[:, rows],
            labels=labels,
            row=self.row[rows],
            target=target,
            weight=self.weight[rows],
        )

    def frame(self) -> pd.DataFrame:
        """Return the covariates as a DataFrame."""
        names = [name for name in self.columns if name not in self.labels]
        frame = pd.DataFrame(self.numbers.T, columns=names, copy=False)
        for place, name in enumerate(self.columns):  # the numbers stay one matrix
            if name in self.labels:
                frame.insert(place, name, self.labels[name])
        return frame

    def table(self) -> TableData:
        """Return the covariates column by column, which saves the copies that a DataFrame makes."""
        columns = {name: ColumnData(name, values) for name, values in self.labels.items()}
        names = (name for name in self.columns if name not in columns)
        columns |= {name: ColumnData.of_numbers(name, own) for name, own in zip(names, self.numbers, strict=True)}
        return TableData.of_columns([columns[name] for name in self.columns], len(self))

    @property
    def outcome(self) -> Target:
        """The target; an error where the source has none."""
        if self.target is None:
            raise TargetError("the source names no time and event. Make it as TableSource(path, time=..., event=...).")
        return self.target


def join_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return blocks one behind the other."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    labels = {
        name: pd.Series(pd.api.types.union_categoricals([block.labels[name].array for block in blocks]))
        for name in first.labels
    }
    target = None
    if first.target is not None:
        parts = [block.outcome for block in blocks]
        joined = {
            name: np.concatenate([getattr(t, name) for t in parts]) for name in ("event", "time", "entry", "upper")
        }
        subjects = [t.subject for t in parts if t.subject is not None]
        target = Target(**joined, subject=np.concatenate(subjects) if subjects else None)
    return RowBlock(
        first.columns,
        np.concatenate([block.numbers for block in blocks], axis=1),
        labels,
        np.concatenate([block.row for block in blocks]),
        target,
        np.concatenate([block.weight for block in blocks]),
        sum(block.n_read for block in blocks),
        sum(block.skipped for block in blocks),
    )


class BlockMaker:
    """Turns record batches of Arrow into blocks; ``keep`` tells which rows of a block are wanted, where not all are."""

    def __init__(self, schema: Any, covariates: Sequence[str], roles: Roles, categorical: Sequence[str] = ()) -> None:
        self.covariates, self.roles = tuple(covariates), roles
        self.keep: Callable[[RowBlock], NDArray[np.bool_]] | None = None
        self.labels = [
            name for name in covariates if name in categorical or kind_of(schema.field(name).type) == "label"
        ]
        self.numbers = [name for name in covariates if name not in self.labels]
        self.needed = [*covariates, *(name for name in roles.columns if name not in covariates)]
        for name in covariates:
            if kind_of(schema.field(name).type) == "other":
                raise CovariateError(
                    f"column {name!r} must hold numbers, booleans or labels; got {schema.field(name).type}. Turn dates "
                    "into numbers, such as days since a common origin, or leave it out: drop=[...]."
                )

    def make(self, batches: Sequence[Any], place: str, first_row: int) -> RowBlock:
        """Return the rows of some batches of one file; ``first_row`` is the number of the first one."""
        pa = arrow()
        table = pa.Table.from_batches(batches)
        count = table.num_rows
        try:
            columns = {name: _one(table.column(name)) for name in {*self.labels, *self.roles.columns}}
            rows, target = self._outcome(columns, count)
            numbers = np.empty((len(self.numbers), count))
            for name, own in zip(self.numbers, numbers, strict=True):
                _write_floats(table.column(name), own)
            labels = {name: _labels(columns[name]) for name in self.labels}
            weight = check_weight(None if self.roles.weight is None else _floats(columns[self.roles.weight]), count)
        except LifemixError as error:
            kind = type(error) if isinstance(error, InputError) else InputError
            raise kind(f"{place}, rows {first_row + 1:,} to {first_row + count:,}: {error}") from None
        numbered = np.arange(first_row, first_row + count)
        block = RowBlock(self.covariates, numbers, labels, numbered, None, weight, count)
        if not rows.all():
            block = replace(block.take(np.flatnonzero(rows)), skipped=int((~rows).sum()))
        block = replace(block, target=target)
        wanted = block.weight > 0
        if self.keep is not None:
            wanted &= self.keep(block)
        return block if wanted.all() else block.take(np.flatnonzero(wanted))

    def _outcome(self, columns: Mapping[str, Any], count: int) -> tuple[NDArray[np.bool_], Target | None]:
        """Return which rows have an outcome, and it."""
        roles, everything = self.roles, np.ones(count, dtype=bool)
        if roles.time is None or roles.event is None:
            return everything, None
        found = {name: getattr(roles, name) for name in ("time", "entry", "upper")}
        values: dict[str, Any] = {name: _floats(columns[own]) for name, own in found.items() if own is not None}
        values["event"] = _events(columns[roles.event], roles.codes, roles.event)
        if roles.subject is not None:
            values["subject"] = _subjects(columns[roles.subject])
        rows = everything
        if roles.skip_incomplete:
            rows = ~np.isnan(values["time"]) & ~np.isnan(values["event"].astype(np.float64))
            values = {name: each[rows] for name, each in values.items()}
        if not rows.any():
            return rows, _no_rows(roles.subject is not None)
        # The rows of one subject may stand in several blocks: each is conditioned on survival to its own entry.
        return rows, as_target(np.asarray(pd.DataFrame(values).to_records(index=False)))  # so, without paths


def _no_rows(with_subject: bool) -> Target:
    nothing, codes = np.empty(0), np.empty(0, dtype=np.int64)
    return Target(codes, nothing, nothing, nothing, codes if with_subject else None)


def _one(column: Any) -> Any:
    """Return a column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else arrow().array([], column.type)


def _floats(column: Any) -> Floats:
    """Return a column of numbers, NaN where missing."""
    if column.type != "double":
        if kind_of(column.type) != "number":
            raise CovariateError(
                f"a column must hold numbers; got {column.type} such as {column[0].as_py()!r}. Turn dates into days "
                "since a common origin, and write numbers as such, not as text."
            )
        column = arrow("compute").cast(column, arrow().float64(), safe=False)
    values: Floats = column.to_numpy(zero_copy_only=False)
    return values


def _write_floats(column: Any, out: Floats) -> None:
    """Write a column that came in several parts, which are not put together first."""
    first = 0
    for part in column.chunks:
        out[first : first + len(part)] = _floats(part)
        first += len(part)


def _labels(column: Any) -> pd.Series[Any]:
    """Return a column of labels as a pandas Categorical."""
    types = arrow("types")
    encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    levels = encoded.dictionary.to_pandas()
    if levels.is_unique and not levels.isna().any():
        return pd.Series(pd.Categorical.from_codes(codes, categories=levels))
    return pd.Series(encoded.to_pandas())


def _events(column: Any, codes: Mapping[str, int] | None, name: str) -> NDArray[Any]:
    """Return the codes of the events, of the labels that stand for them where ``codes`` says so; NaN where missing."""
    if codes is None:
        if kind_of(column.type) != "number":
            raise TargetError(
                f"the event column {name!r} must hold whole numbers (0 censored, 1..M) or booleans; got {column.type} "
                f"such as {column[0].as_py()!r}. Say which label is which: codes={{...}}."
            )
        return _floats(column)
    encoded = column if arrow("types").is_dictionary(column.type) else column.dictionary_encode()
    texts = [label_text(level) for level in encoded.dictionary.to_pylist()]
    unknown = sorted(set(texts) - set(codes))
    if unknown:
        raise TargetError(
            f"the event column {name!r} has labels without a code: {unknown[:5]}; known are {list(codes)}."
        )
    numbers = np.array([*(codes[text] for text in texts), np.nan], dtype=np.float64)
    return numbers[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


def label_text(value: Any) -> str:
    """Return a label as a user would write it: 1 for 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _subjects(column: Any) -> Ints:
    """Return the code of each row's subject; of labels each different one is coded once."""
    if kind_of(column.type) != "label":
        return subject_codes(column.to_numpy(zero_copy_only=False))
    labels = _labels(column)
    codes = labels.cat.codes.to_numpy()
    if (codes < 0).any():
        return subject_codes(labels.to_numpy(dtype=object))  # says which row
    return subject_codes(labels.cat.categories.to_numpy(dtype=object))[codes]
