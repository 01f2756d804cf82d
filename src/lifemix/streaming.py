"""Tables on disk, read in blocks: to fit (see ``mapped_matrix``), to evaluate and to predict."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray, IntArray
from .checks import check_times, check_weight
from .errors import (
    CovariateError,
    InputError,
    LifemixError,
    MissingExtraError,
    SettingError,
    TargetError,
)
from .files import atomic_write
from .metrics import evaluate as evaluate_table
from .preprocessing import TableLike
from .splits import default_horizons
from .target import Target, as_target, subject_codes

__all__ = ["SAMPLE_SEED", "RowBlock", "TableSource", "evaluate", "join_blocks", "write_predictions"]


_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "ipc",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".orc": "orc",
}
_FORMATS |= {".csv": "csv", ".tsv": "csv", ".txt": "csv"}
_MISSING = (  # the texts that pandas takes as missing
    *(
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
    ),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
_WRITTEN = (".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
_INDEX = re.compile(
    r"__index_level_\d+__"
)  # the column in which pandas stores row names in Parquet
_BAD_CELL = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'"
)
_BLOCK_ROWS, _BLOCK_VALUES = 2**16, 2**22
_EVALUATED_ROWS = 50_000
SAMPLE_SEED, _SPLIT_SEED = 1, 2  # added to a seed, so that the choices are independent


def _arrow(module: str = "") -> Any:
    """Return PyArrow or one of its modules."""
    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise MissingExtraError(
            "pyarrow", "tables", "reading a table from disk in blocks"
        ) from None


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows of a table; ``row`` holds their positions in the table."""

    row: IntArray
    frame: pd.DataFrame
    target: Target | None
    weight: FloatArray

    def take(self, rows: NDArray[Any]) -> RowBlock:
        """Return some rows, by index or mask."""
        index = np.flatnonzero(rows) if rows.dtype == bool else rows
        target = None if self.target is None else self.target.take(index)
        return RowBlock(self.row[index], self.frame.iloc[index], target, self.weight[index])

    @property
    def outcome(self) -> Target:
        """The target; an error if the source has none."""
        if self.target is None:
            raise TargetError(
                "the source names no time and event. Use TableSource(path, time=..., event=...)."
            )
        return self.target

    def is_chosen(self, share: float, seed: int) -> BoolArray:
        """Return a random choice of about this share of the rows; the rows of a subject are chosen together."""
        subject = None if self.target is None else self.target.subject
        return np.asarray(_unit_hash(self.row if subject is None else subject, seed) < share)


def _unit_hash(keys: IntArray, seed: int) -> FloatArray:
    """Return a number in [0, 1) for each key (SplitMix64), whatever block the key is in."""
    with np.errstate(over="ignore"):
        x = keys.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(
            2 * (seed % 2**62) + 1
        )
        for _ in range(2):  # neighbouring seeds would be correlated after one round
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


class TableSource:
    """A table that is read from disk in blocks.

    ``DeepSurvivalMachines().fit(source)`` fits a model to it, ``model.log_likelihood(source)`` evaluates one; see also
    ``write_predictions`` and ``evaluate``. It needs PyArrow: ``pip install 'lifemix[tables]'``.

    Parameters
    ----------
    data : path, sequence of paths, pyarrow Dataset or pyarrow Table
        A Parquet, Feather, ORC or CSV file, a folder of such files (``year=2020/...`` makes a column), or anything that
        ``pyarrow.dataset`` opens. CSV files are read as UTF-8 with a line of column names.
    time, event : str, optional
        The columns of time and event, as in ``make_target``; not needed for predictions.
    entry, upper : str, optional
        The columns of delayed entry and of the upper end of intervals.
    weight : str, optional
        A column of case weights; rows of weight 0 are dropped.
    subject : str, optional
        A column that identifies subjects; their rows are held out together.
    paths : bool, default True
        With ``entry`` and ``subject``, as in ``make_target``: whether the rows of a subject are consecutive intervals.
        A fit checks all rows of a sample of the subjects (all subjects if the table has at most 131,072 rows), and
        overlaps among rows that are read together.
    columns : sequence of str, optional
        The covariates; by default all other columns.
    drop : sequence of str, default ()
        Columns to ignore.
    categorical : sequence of str, default ()
        Columns that hold labels, even if they look like numbers. It sets the type of a CSV column to text.
    codes : mapping from label to int, optional
        The event code of each label of the event column: 0 censored, 1..M event types.
    skip_incomplete : bool, default False
        Whether rows without time or event are dropped; otherwise they are refused.
    missing : sequence of str, default ()
        More texts of a CSV file that mean missing, besides those of pandas.
    delimiter : str, optional
        The delimiter of CSV files; by default it is detected from the first line.
    cache : path-like, optional
        A folder in which a fit keeps the encoded matrix. A later fit with the same files, columns and seed reuses it.
        By default the matrix lies in the folder ``checkpoint`` of the model, or in a temporary folder, and is deleted
        when the fit ends.

    Attributes
    ----------
    columns : list of str
        The covariates.
    n_rows : int
        The number of rows of the files, before any are dropped; CSV files are read once to count them.
    n_files : int
        The number of files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> from lifemix.streaming import TableSource
    >>> data = datasets.load_metabric()
    >>> folder = Path(tempfile.mkdtemp())
    >>> table = data.X.assign(time=data.y["time"], event=data.y["event"])
    >>> table[:1000].to_parquet(folder / "part-0.parquet")
    >>> table[1000:].to_parquet(folder / "part-1.parquet")
    >>> source = TableSource(folder, time="time", event="event")
    >>> source.n_rows
    1904
    >>> model = DeepSurvivalMachines(hidden=(8,), n_members=1, max_epochs=2).fit(source)
    >>> model.predict_survival_function(data.X[:2], [50, 100]).shape
    (2, 2)

    """

    def __init__(
        self,
        data: Any,
        time: str | None = None,
        event: str | None = None,
        *,
        entry: str | None = None,
        upper: str | None = None,
        weight: str | None = None,
        subject: str | None = None,
        paths: bool = True,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        categorical: Sequence[str] = (),
        codes: Mapping[str, int] | None = None,
        skip_incomplete: bool = False,
        missing: Sequence[str] = (),
        delimiter: str | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        if (time is None) != (event is None):
            raise SettingError(
                f"time and event go together; got time={time!r} and event={event!r}. Name both columns."
            )
        self.time, self.event, self.entry, self.upper = time, event, entry, upper
        self.weight, self.subject, self.paths = weight, subject, bool(paths)
        self.codes, self.skip_incomplete = codes, bool(skip_incomplete)
        self.cache = None if cache is None else Path(cache)
        self._parts: list[
            tuple[float, int, bool]
        ] = []  # share, seed, whether the chosen rows are inside
        roles = [name for name in (time, event, entry, upper, weight, subject) if name is not None]
        as_text = [*categorical, *([] if subject is None else [subject])]
        self._fragments, self._schema = _open(data, delimiter, (*_MISSING, *missing), as_text)
        names = [name for name in self._schema.names if not _INDEX.fullmatch(name)]
        _check_columns(self._fragments[0], self._schema, [*roles, *(columns or ()), *drop])
        self.columns = [name for name in columns or names if name not in {*roles, *drop}]
        if not self.columns:
            raise CovariateError(
                f"the source has no covariates besides {sorted({*roles, *drop})}. Name at least one covariate."
            )
        self._needed = list(dict.fromkeys([*self.columns, *roles]))
        for fragment in self._fragments:
            _check_columns(fragment, self._schema, self._needed)
        kinds = {name: _kind(self._schema.field(name).type) for name in self.columns}
        self.labels = [
            name for name in self.columns if name in categorical or kinds[name] == "label"
        ]
        for name, kind in kinds.items():
            if kind == "other":
                raise CovariateError(
                    f"column {name!r} must hold numbers, booleans or labels; got {self._schema.field(name).type}. Turn "
                    "dates into numbers, such as days since a common origin, or leave it out: drop=[...]."
                )

    @property
    def n_files(self) -> int:
        """The number of files."""
        return len(self._fragments)

    @cached_property
    def _file_rows(self) -> list[int]:
        return [_guarded(fragment, fragment.count_rows) for fragment in self._fragments]

    @property
    def n_rows(self) -> int:
        """The number of rows of the files; of a part of a split, about its number of rows."""
        share = 1.0
        for fraction, _, inside in self._parts:
            share *= fraction if inside else 1 - fraction
        return round(sum(self._file_rows) * share)

    def blocks(self) -> Iterator[tuple[pd.DataFrame, Target | None]]:
        """Yield the table in blocks, in its order.

        Yields
        ------
        tuple of DataFrame and Target or None
            The covariates and the outcome of some rows; labels are pandas Categoricals.

        """
        for block in self.read():
            yield block.frame, block.target

    def split(self, share: float, random_state: int = 0) -> tuple[TableSource, TableSource]:
        """Divide the rows at random into two sources, as a training and a test part; subjects stay together.

        Parameters
        ----------
        share : float
            About the share of the rows, or of the subjects, that the second source has.
        random_state : int, default 0
            Seed of the choice, which depends on the row's position or on its subject.

        Returns
        -------
        tuple of two TableSource
            Each reads the whole table and drops the rows of the other; ``n_rows`` is about their number.

        """
        first, second = copy.copy(self), copy.copy(self)
        first._parts = [*self._parts, (share, random_state + _SPLIT_SEED, False)]
        second._parts = [*self._parts, (share, random_state + _SPLIT_SEED, True)]
        return first, second

    def read(self) -> Iterator[RowBlock]:
        """Yield all rows with an outcome and a positive weight, in blocks of a fixed number of rows of one file.

        Yields
        ------
        RowBlock
            At least one row.

        """
        first_row = 0
        for fragment in self._fragments:
            for table in _tables(fragment, self._schema, self._needed):
                try:
                    block = self._block(table, first_row)
                except LifemixError as error:
                    kind = type(error) if isinstance(error, InputError) else InputError
                    last_row = first_row + table.num_rows
                    raise kind(
                        f"{_name(fragment)}, rows {first_row + 1:,} to {last_row:,}: {error}"
                    ) from None
                first_row += table.num_rows
                for share, seed, inside in self._parts:
                    block = block.take(block.is_chosen(share, seed) == inside)
                if len(block.row):
                    yield block

    def _block(self, table: Any, first_row: int) -> RowBlock:
        weight = None if self.weight is None else _floats(table.column(self.weight))
        used = check_weight(weight, table.num_rows) > 0
        values: dict[str, Any] = {}
        if self.time is not None and self.event is not None:
            values = {"time": _floats(table.column(self.time))}
            values["event"] = _event_codes(table.column(self.event), self.codes, self.event)
            values |= {
                name: _floats(table.column(column))
                for name, column in (("entry", self.entry), ("upper", self.upper))
                if column is not None
            }
            if self.skip_incomplete:
                used &= ~np.isnan(values["time"]) & ~np.isnan(values["event"])
            if self.subject is not None:
                values["subject"] = _subjects(table.column(self.subject))
        frame = pd.DataFrame(
            {
                name: _labels(table.column(name))
                if name in self.labels
                else _floats(table.column(name))
                for name in self.columns
            },
            copy=False,
        )
        row = np.arange(first_row, first_row + table.num_rows)
        block = RowBlock(row, frame, None, np.ones(len(row)) if weight is None else weight)
        if not used.all():
            block = block.take(used)
        if not values or not used.any():
            return block
        # The rows of a subject may lie in several blocks: each counts given survival to its entry.
        records = pd.DataFrame(values)[used].to_records(index=False)
        return replace(block, target=as_target(np.asarray(records)))

    def fingerprint(self) -> str:
        """Return a hash of the files (name, rows and time of the last change), the columns and the options.

        Returns
        -------
        str

        """
        names = [_name(fragment) for fragment in self._fragments]
        changed = [os.stat(name).st_mtime_ns if os.path.exists(name) else 0 for name in names]
        roles = [
            self.time,
            self.event,
            self.entry,
            self.upper,
            self.weight,
            self.subject,
            self.codes,
        ]
        options = [self.columns, self.labels, self.skip_incomplete, self._parts]
        facts = [names, changed, self._file_rows, str(self._schema), roles, options]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


# Files of a table.


def _open(
    data: Any, delimiter: str | None, missing: Sequence[str], as_text: Sequence[str]
) -> tuple[list[Any], Any]:
    """Return the fragments of a dataset, one per file, and the types with which all of them are read."""
    ds, pa = _arrow("dataset"), _arrow()
    is_csv = False
    if hasattr(data, "get_fragments"):
        dataset = data
    elif hasattr(data, "to_batches"):
        dataset = ds.dataset(data)
    else:
        paths, base = _find_files(data)
        kind = _FORMATS[paths[0].suffix.lower()]
        is_csv = kind == "csv"
        options: dict[str, Any] = (
            {} if base is None else {"partitioning": "hive", "partition_base_dir": str(base)}
        )
        file_format = _csv_format(paths[0], delimiter, missing) if is_csv else kind
        try:
            dataset = ds.dataset([str(path) for path in paths], format=file_format, **options)
        except (OSError, pa.ArrowException) as error:
            raise _file_error(str(paths[0]), error) from None
    fragments = list(dataset.get_fragments())
    if not fragments:
        raise InputError("the source has no files; expected at least one. Check the path.")
    types = {field.name: field.type for field in dataset.schema}
    for fragment in fragments:
        for field in _guarded(fragment, partial(getattr, fragment, "physical_schema")):
            types[field.name] = _common_type(types.get(field.name, field.type), field.type, is_csv)
    if is_csv:
        types |= {name: pa.string() for name in as_text if name in types}
    return fragments, pa.schema(list(types.items()))


def _find_files(data: Any) -> tuple[list[Path], Path | None]:
    """Return the files of a path, a folder or several paths, all of one format, and the folder."""
    given = [Path(data)] if isinstance(data, (str, os.PathLike)) else [Path(path) for path in data]
    files: list[Path] = []
    for path in given:
        if not path.exists():
            raise InputError(f"there is no file or folder {path}. Check the path.")
        inside = sorted(path.rglob("*")) if path.is_dir() else []
        tables = [file for file in inside if file.is_file() and file.suffix.lower() in _FORMATS]
        tables = [
            file
            for file in tables
            if not any(part[0] in "._" for part in file.relative_to(path).parts)
        ]
        if path.is_dir() and not tables:
            raise InputError(
                f"the folder {path} has no table files; expected some of {', '.join(_FORMATS)}."
            )
        files += tables if path.is_dir() else [path]
    kinds = {_FORMATS.get(file.suffix.lower(), "") for file in files}
    if len(kinds) != 1 or "" in kinds:
        raise InputError(
            f"a source must hold files of one format, by their extension ({', '.join(_FORMATS)}); got "
            f"{', '.join(file.name for file in files[:5])}. Unpack files, and keep others in another folder."
        )
    return files, given[0] if len(given) == 1 and given[0].is_dir() else None


def _csv_format(path: Path, delimiter: str | None, missing: Sequence[str]) -> Any:
    csv, ds = _arrow("csv"), _arrow("dataset")
    if delimiter is None:
        with open(path, encoding="utf-8", errors="replace") as file:
            header = re.sub(r'"[^"]*"', "", file.readline())
        delimiter = max(",;\t|", key=header.count)
    return ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(null_values=list(missing), strings_can_be_null=True),
    )


def _common_type(first: Any, second: Any, is_csv: bool) -> Any:
    """Return the type that holds the values of two files; whole numbers of one file may be fractions in the next."""
    pa, types = _arrow(), _arrow("types")
    if types.is_null(first) or types.is_null(second):
        first = second = second if types.is_null(first) else first
    if first != second and is_csv and "label" in (_kind(first), _kind(second)):
        return pa.string()
    numeric = [
        types.is_null(each) or types.is_integer(each) or types.is_floating(each)
        for each in (first, second)
    ]
    return pa.float64() if all(numeric) and (is_csv or first != second) else first


def _kind(dtype: Any) -> str:
    """Return what a column of an Arrow type holds: a number (booleans are 0 and 1), a label, or other."""
    types = _arrow("types")
    texts = [types.is_dictionary, types.is_string, types.is_large_string]
    numbers = [
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    ]
    if any(test(dtype) for test in [*texts, getattr(types, "is_string_view", types.is_string)]):
        return "label"
    return "number" if any(test(dtype) for test in numbers) else "other"


def _check_columns(fragment: Any, schema: Any, columns: Sequence[str]) -> None:
    """Refuse a file that lacks a column, or that holds values of another kind in it."""
    own = _guarded(fragment, lambda: fragment.physical_schema)
    keys = _arrow("dataset").get_partition_keys(fragment.partition_expression)
    absent = [name for name in columns if name not in own.names and name not in keys]
    if absent:
        raise CovariateError(
            f"{_name(fragment)} lacks the column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent[:5]))}; it has "
            f"{', '.join(own.names[:20])}. All files must have the same columns."
        )
    for name in columns:
        if (
            name in own.names
            and str(own.field(name).type) != "null"
            and getattr(fragment, "format", None) is not None
        ):
            kinds = _kind(own.field(name).type), _kind(schema.field(name).type)
            if kinds[0] != kinds[1] and kinds[1] != "label" or kinds == ("other", "label"):
                raise CovariateError(
                    f"{_name(fragment)} has {own.field(name).type} in the column {name!r}; other files have "
                    f"{schema.field(name).type}. Write it again with the same types."
                )


def _tables(fragment: Any, schema: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield a file as tables with the same number of rows, however its format divides it."""
    pa = _arrow()
    size = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // len(columns)))
    options = {"batch_size": size, "batch_readahead": 2, "fragment_readahead": 1}
    batches = iter(
        _guarded(
            fragment, lambda: fragment.to_batches(schema=schema, columns=list(columns), **options)
        )
    )
    waiting: list[Any] = []
    while (batch := _guarded(fragment, lambda: next(batches, None), schema)) is not None:
        waiting.append(batch)
        while sum(part.num_rows for part in waiting) >= size:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, size)
            waiting = [part for part in table.slice(size).to_batches() if part.num_rows]
    if sum(part.num_rows for part in waiting):
        yield pa.Table.from_batches(waiting)


def _name(fragment: Any) -> str:
    return getattr(fragment, "path", None) or "the table"


def _guarded(fragment: Any, read: Callable[[], Any], schema: Any = None) -> Any:
    """Return what Arrow reads; an error names the file, and the line and the option if a cell does not fit."""
    try:
        return read()
    except (OSError, _arrow().ArrowException) as error:
        bad_cell = _BAD_CELL.search(str(error))
        if bad_cell is None:
            raise _file_error(_name(fragment), error) from None
        position, line, dtype, cell = bad_cell.groups()
        name = fragment.physical_schema.names[int(position)]
        where = f"{_name(fragment)}, line {line}" if line else _name(fragment)
        raise CovariateError(
            f"{where}: {cell!r} in column {name!r} does not fit the type {dtype} of the first rows. Correct the cell, "
            f"name it as missing=[{cell!r}], or read the column as labels: categorical=[{name!r}]."
        ) from None


def _file_error(name: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:200]
    return InputError(
        f"{name} cannot be read: {reason}. Is the file truncated or damaged? Write it again."
    )


# Columns of a block.


def _floats(column: Any) -> FloatArray:
    """Return a column of numbers, NaN if missing."""
    if _kind(column.type) != "number":
        example = column[0].as_py()
        raise CovariateError(
            f"a column must hold numbers; got {column.type} such as {example!r}. Turn dates into days since a common "
            "origin, and write numbers as numbers, not as text."
        )
    floats: FloatArray = _arrow("compute").cast(column, _arrow().float64(), safe=False).to_numpy()
    return floats


def _labels(column: Any) -> pd.Categorical:
    """Return a column of labels."""
    values = column.combine_chunks()
    if not _arrow("types").is_dictionary(values.type):
        values = values.dictionary_encode()
    codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    levels = values.dictionary.to_pandas()
    if levels.is_unique and not levels.isna().any():
        return pd.Categorical.from_codes(codes, categories=levels)
    return pd.Categorical(values.to_pandas())


def _event_codes(column: Any, codes: Mapping[str, int] | None, name: str) -> FloatArray:
    """Return the event codes, NaN if missing."""
    if codes is None:
        if _kind(column.type) != "number":
            raise TargetError(
                f"the event column {name!r} must hold whole numbers (0 censored, 1..M) or booleans; got {column.type} "
                f"such as {column[0].as_py()!r}. Give the code of each label: codes={{...}}."
            )
        return _floats(column)
    labels = _labels(column)
    texts = [
        f"{level:g}" if isinstance(level, float) else str(level).strip()
        for level in labels.categories
    ]
    unknown = sorted(set(texts) - set(codes))
    if unknown:
        raise TargetError(
            f"the event column {name!r} has labels without a code: {unknown[:5]}; codes has {[*codes]}."
        )
    return np.array([*(codes[text] for text in texts), np.nan], dtype=np.float64)[labels.codes]


def _subjects(column: Any) -> IntArray:
    """Return the code of each row's subject."""
    if _kind(column.type) != "label":
        return subject_codes(column.to_numpy())
    labels = _labels(column)
    if (labels.codes < 0).any():
        return subject_codes(np.asarray(labels, dtype=object))  # refuses the row
    return subject_codes(labels.categories.to_numpy(dtype=object))[labels.codes]


def join_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return blocks as one."""
    target = blocks[0].outcome
    names = ("event", "time", "entry", "upper", "subject")
    arrays = {name: [getattr(block.outcome, name) for block in blocks] for name in names}
    columns: dict[str, Any] = {
        name: None if values[0] is None else np.concatenate(values)
        for name, values in arrays.items()
    }
    frame = pd.DataFrame(
        {
            name: pd.api.types.union_categoricals([block.frame[name].array for block in blocks])
            if isinstance(blocks[0].frame[name].dtype, pd.CategoricalDtype)
            else np.concatenate([block.frame[name].to_numpy() for block in blocks])
            for name in blocks[0].frame.columns
        }
    )
    row, weight = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("row", "weight")
    )
    return RowBlock(row, frame, replace(target, **columns), weight)


# Predictions and quality.


def write_predictions(
    model: Any,
    source: TableSource,
    path: str | os.PathLike[str],
    times: ArrayLike,
    quantiles: Sequence[float] = (),
) -> int:
    """Predict all rows of a source and write them to a file, a block at a time.

    Parameters
    ----------
    model : fitted survival model
        ``DeepSurvivalMachines`` or another model of this package.
    source : TableSource
        The rows; it needs no outcome.
    path : path-like
        A .parquet, .csv or .tsv file (.csv.gz and .tsv.gz too); it appears when all rows are written.
    times : array-like of shape (n_times,)
        Times from the origin.
    quantiles : sequence of float, default ()
        Quantiles of the time besides the median, of models that predict distributions.

    Returns
    -------
    int
        The number of rows written: ``row`` (from 1), ``survival_<time>``, with several event types
        ``incidence_<type>_<time>``, ``median`` and ``quantile_<q>``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.streaming import TableSource, write_predictions
    >>> data = datasets.load_metabric()
    >>> folder = Path(tempfile.mkdtemp())
    >>> data.X.to_csv(folder / "new.csv", index=False)
    >>> model = CoxPH().fit(data.X, data.y)
    >>> write_predictions(model, TableSource(folder / "new.csv"), folder / "out.csv", [60, 120])
    1904

    """
    checked_times, n_rows = check_times(times, warn_unsorted=True), 0
    with _table_writer(Path(path)) as write:
        for block in source.read():
            predictions = _predictions(model, block.frame, checked_times, list(quantiles))
            write(pd.DataFrame({"row": block.row + 1} | predictions))
            n_rows += len(block.row)
    return n_rows


def _predictions(
    model: Any, X: TableLike, times: FloatArray, quantiles: list[float]
) -> dict[str, FloatArray]:
    """Return the columns of the predictions of some rows."""
    distribution = model.predict_distribution(X) if hasattr(model, "predict_distribution") else None
    survival = (
        model.predict_survival_function(X, times)
        if distribution is None
        else distribution.survival(times)
    )
    columns = {f"survival_{time:.10g}": survival[:, i] for i, time in enumerate(times)}
    if model.n_events_ > 1:
        if distribution is None:
            incidences = model.predict_cumulative_incidences(X, times)
        else:
            incidences = distribution.cumulative_incidences(times)
        for event, incidence in enumerate(incidences, 1):
            columns |= {
                f"incidence_{event}_{time:.10g}": incidence[:, i] for i, time in enumerate(times)
            }
    if distribution is not None:
        columns["median"] = distribution.median()
        if quantiles:
            values = distribution.quantile(quantiles)
            columns |= {f"quantile_{q:g}": values[:, i] for i, q in enumerate(quantiles)}
    return columns


@contextmanager
def _table_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that appends a block to a table; the file appears when all blocks are written."""
    name = path.name.lower()
    if not name.endswith(_WRITTEN):
        raise SettingError(
            f"the file's name must end in {', '.join(_WRITTEN)}; got {path.name!r}. Rename it."
        )
    with atomic_write(path) as unfinished:
        if name.endswith((".parquet", ".pq")):
            writer: Any = None

            def write(block: pd.DataFrame) -> None:
                nonlocal writer
                table = _arrow().Table.from_pandas(block, preserve_index=False)
                writer = writer or _arrow("parquet").ParquetWriter(str(unfinished), table.schema)
                writer.write_table(table)

            try:
                yield write
            finally:
                if writer is not None:
                    writer.close()
            return
        separator = "\t" if ".tsv" in name else ","
        with (
            gzip.open(unfinished, "wb") if name.endswith(".gz") else open(unfinished, "wb") as file
        ):
            yield lambda block: block.to_csv(
                file, sep=separator, index=False, header=file.tell() == 0, lineterminator="\n"
            )


def evaluate(
    model: Any,
    source: TableSource,
    horizons: ArrayLike | None = None,
    sample: int = _EVALUATED_ROWS,
    random_state: int = 0,
) -> pd.DataFrame:
    """Evaluate a model on a source: the log-likelihood of all rows, other metrics on a random sample of them.

    Parameters
    ----------
    model : fitted survival model
        ``DeepSurvivalMachines`` or another model of this package.
    source : TableSource
        Rows with an outcome that the model was not fitted to.
    horizons : array-like of shape (h,), optional
        Times of the metrics; by default quartiles of the training event times.
    sample : int, default 50000
        About how many rows concordance, Brier score and AUC are computed from.
    random_state : int, default 0
        Seed of the sample.

    Returns
    -------
    DataFrame
        As ``metrics.evaluate``, with a first line ``log_likelihood``, the mean per row over all rows, if the model has
        one. Interval-censored and left-truncated rows have only the log-likelihood.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.streaming import TableSource, evaluate
    >>> data = datasets.load_metabric()
    >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> data.X.assign(time=data.y["time"], event=data.y["event"]).to_parquet(path)
    >>> model = CoxPH().fit(data.X, data.y)
    >>> table = evaluate(model, TableSource(path, "time", "event"), [60, 120])
    >>> table["metric"].unique().tolist()[:3]
    ['concordance', 'brier', 'auc']

    """
    share = min(1.0, sample / max(source.n_rows, 1))
    blocks, total, total_weight = [], 0.0, 0.0
    for block in source.read():
        if hasattr(model, "log_likelihood"):
            total += model.log_likelihood(block.frame, block.outcome, block.weight)
            total_weight += block.weight.sum()
        blocks.append(block.take(block.is_chosen(share, random_state + SAMPLE_SEED)))
    if not blocks or not sum(len(block.row) for block in blocks):
        raise InputError(
            "the source has no rows with an outcome; expected some. Check the columns."
        )
    lines = [("log_likelihood", np.nan, np.nan, total / total_weight)] if total_weight else []
    likelihood = pd.DataFrame(lines, columns=["metric", "event", "horizon", "value"])
    sampled = join_blocks(blocks)
    if sampled.outcome.interval.any() or sampled.outcome.truncated.any():
        return likelihood
    chosen = default_horizons(model.training_target_) if horizons is None else horizons
    metrics = evaluate_table(model, model.training_target_, sampled.frame, sampled.outcome, chosen)
    return pd.concat([likelihood, metrics], ignore_index=True) if lines else metrics
