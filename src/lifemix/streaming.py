"""Tables on disk, read in blocks: to fit a model, to evaluate and to predict."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ._types import BoolArray, FloatArray, IntArray
from .checks import check_times, check_weight
from .errors import CovariateError, InputError, SettingError, TargetError
from .files import atomic_write
from .pipeline import apply_steps, final_model, split_pipeline
from .splits import default_horizons
from .table_files import (
    arrow,
    block_schema,
    common_schema,
    open_dataset,
    path_of,
    read_tables,
    refuse_missing_columns,
)
from .target import Target, as_target, subject_codes

__all__ = [
    "RowBlock",
    "TableSource",
    "evaluate",
    "write_predictions",
]

SAMPLE_SEED, _SPLIT_SEED = 1, 2  # added to a seed, so that the choices are independent


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows of a table; ``row`` holds their positions in the table."""

    row: IntArray
    frame: pd.DataFrame
    target: Target | None
    weight: FloatArray

    def take(self, rows: NDArray[Any]) -> RowBlock:
        """Return rows by index or mask."""
        target = None if self.target is None else self.target.take(rows)
        return RowBlock(self.row[rows], self.frame.iloc[rows], target, self.weight[rows])

    @classmethod
    def join(cls, blocks: Sequence[RowBlock]) -> RowBlock:
        """Return blocks with an outcome as one block."""
        return cls(
            np.concatenate([block.row for block in blocks]),
            pd.concat([block.frame for block in blocks], ignore_index=True),
            reduce(Target.followed_by, (block.outcome for block in blocks)),
            np.concatenate([block.weight for block in blocks]),
        )

    @property
    def outcome(self) -> Target:
        """The target; an error if the source has none."""
        if self.target is None:
            raise TargetError(
                "the source names no time and event. Use TableSource(path, time=..., event=...)."
            )
        return self.target

    def is_chosen(self, share: float, seed: int) -> BoolArray:
        """Choose about this share of the rows at random; the rows of a subject go together."""
        subject = None if self.target is None else self.target.subject
        keys = (self.row if subject is None else subject).astype(np.int64).view(np.uint64)
        with np.errstate(over="ignore"):
            keys = keys + np.uint64(0x9E3779B97F4A7C15) * np.uint64(2 * (seed % 2**62) + 1)
        # A hash does not depend on the other rows. Neighbouring seeds need two rounds.
        hashes = pd.util.hash_array(pd.util.hash_array(keys))
        return (hashes >> np.uint64(11)) * 2.0**-53 < share


class TableSource:
    """A table that is read from disk in blocks.

    ``DeepSurvivalMachines().fit(source)`` fits a model to it, ``model.log_likelihood(source)`` evaluates one; see also
    ``write_predictions`` and ``evaluate``. It needs PyArrow: ``pip install 'lifemix[tables]'``.

    Parameters
    ----------
    data : path, sequence of paths, pyarrow Dataset or pyarrow Table
        A Parquet, Feather, ORC or CSV file, a folder of such files (``year=2020/...`` makes a column), or anything that
        ``pyarrow.dataset`` opens. CSV files are read as UTF-8 with a line of column names, from which
        the delimiter is detected.
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
        A fit checks all rows of a sample of the subjects (all subjects if the table has at most
        131,072 rows).
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
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        if (time is None) != (event is None):
            raise SettingError(
                f"time and event go together; got time={time!r} and event={event!r}. Name both columns."
            )
        self.time, self.paths = time, paths
        self.cache = None if cache is None else Path(cache)
        self._codes, self._skip_incomplete = codes, skip_incomplete
        self._splits: list[tuple[float, int, bool]] = []  # share, seed, whether chosen rows stay
        roles = {"time": time, "event": event, "entry": entry, "upper": upper}
        roles |= {"weight": weight, "subject": subject}
        self._roles = {role: name for role, name in roles.items() if name is not None}
        text_columns = [*categorical, *([subject] if subject else [])]
        dataset = open_dataset(data, missing, text_columns)
        self._fragments = list(dataset.get_fragments())
        schema = common_schema(dataset)
        excluded = {*self._roles.values(), *drop}
        names = [name for name in columns or schema.names if name not in excluded]
        # pandas stores row names in such columns of Parquet.
        self.columns = [name for name in names if not name.startswith("__index_level_")]
        if not self.columns:
            raise CovariateError(
                f"the source has no covariates besides {sorted(excluded)}. Name at least one covariate."
            )
        for fragment in self._fragments:
            refuse_missing_columns(fragment, [*self._roles.values(), *self.columns, *drop])
        label_columns = [*categorical] if codes is None or event is None else [*categorical, event]
        self._schema = block_schema(schema, self._roles, self.columns, label_columns)
        self.labels = [name for name in self.columns if self._schema.field(name).type == "string"]

    @property
    def n_rows(self) -> int:
        """The number of rows of the files; after a split, about the number of its rows."""
        n_rows: float = sum(fragment.count_rows() for fragment in self._fragments)
        for share, _, stays in self._splits:
            n_rows *= share if stays else 1 - share
        return round(n_rows)

    def blocks(self) -> Iterator[tuple[pd.DataFrame, Target | None]]:
        """Yield the table in blocks, in its order.

        Yields
        ------
        tuple of DataFrame and Target or None
            The covariates and the outcome of the rows; labels are pandas Categoricals.

        """
        for block in self.read():
            yield block.frame, block.target

    def split(self, share: float, random_state: int = 0) -> tuple[TableSource, TableSource]:
        """Divide the rows at random into two sources, such as a training and a test set.

        Subjects stay together.

        Parameters
        ----------
        share : float
            About the share of the rows, or of the subjects, that the second source has.
        random_state : int, default 0
            Seed of the choice, which depends on the row's position or on its subject.

        Returns
        -------
        tuple of two TableSource
            Each reads the whole table and drops the rows of the other.

        """
        first, second = copy.copy(self), copy.copy(self)
        first._splits = [*self._splits, (share, random_state + _SPLIT_SEED, False)]
        second._splits = [*self._splits, (share, random_state + _SPLIT_SEED, True)]
        return first, second

    def read(self) -> Iterator[RowBlock]:
        """Yield all rows with an outcome and a positive weight, in blocks of rows of one file."""
        first_row = 0
        for fragment in self._fragments:
            for table in read_tables(fragment, self._schema):
                next_row = first_row + table.num_rows
                try:
                    block = self._block(table, np.arange(first_row, next_row))
                except InputError as error:
                    rows = f"rows {first_row + 1:,} to {next_row:,}"
                    raise type(error)(f"{path_of(fragment)}, {rows}: {error}") from None
                first_row = next_row
                for share, seed, stays in self._splits:
                    block = block.take(block.is_chosen(share, seed) == stays)
                if len(block.row):
                    yield block

    def _block(self, table: Any, row: IntArray) -> RowBlock:
        frame = table.to_pandas(strings_to_categorical=True)
        columns = {role: frame[name].to_numpy() for role, name in self._roles.items()}
        weight = check_weight(columns.pop("weight", None), len(row))
        is_used = weight > 0
        block = RowBlock(row, frame[self.columns], None, weight)
        if self.time is None:
            return block.take(is_used)
        if self._codes is not None:
            columns["event"] = _event_codes(frame[self._roles["event"]], self._codes)
        if "subject" in columns:
            columns["subject"] = subject_codes(columns["subject"])
        if self._skip_incomplete:
            is_used &= ~pd.isna(columns["time"]) & ~pd.isna(columns["event"])
        block = block.take(is_used)
        if not len(block.row):
            return block
        # The rows of a subject may lie in several blocks, so each counts given survival to its entry.
        records = pd.DataFrame(columns)[is_used].to_records(index=False)
        return replace(block, target=as_target(np.asarray(records)))

    def fingerprint(self) -> str:
        """Return a hash of the files (path and time of the last change), columns and options."""
        paths = [path_of(fragment) for fragment in self._fragments]
        # A table in memory has no time of change, so no other table has this fingerprint.
        files = [
            (path, os.path.getmtime(path)) if os.path.exists(path) else os.urandom(16).hex()
            for path in paths
        ]
        options = [self._roles, self._codes, self._skip_incomplete, self._splits]
        content = [files, str(self._schema), self.columns, self.labels, *options]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _event_codes(labels: pd.Series[Any], codes: Mapping[str, int]) -> FloatArray:
    """Return the event codes of labels, NaN if missing."""
    unknown = sorted(set(labels.cat.categories) - set(codes))
    if unknown:
        raise TargetError(
            f"the event column {labels.name!r} has labels without a code: {unknown[:5]}; codes has "
            f"{[*codes]}."
        )
    event_codes: FloatArray = np.asarray(labels.map(codes), dtype=np.float64)
    return event_codes


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
        ``DeepSurvivalMachines``, another model of this package, or a pipeline or search that ends
        with one.
    source : TableSource
        The rows; it needs no outcome.
    path : path-like
        A .parquet, .csv or .tsv file; it appears when all rows are written.
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
    path, times = Path(path), check_times(times, warn_unsorted=True)
    if path.suffix not in (".parquet", ".csv", ".tsv"):
        raise SettingError(
            f"the file's name must end in .parquet, .csv or .tsv; got {path.name!r}. Rename it."
        )
    n_rows, writer = 0, None
    with atomic_write(path) as partial, ExitStack() as stack:
        for block in source.read():
            columns = {"row": block.row + 1} | _predictions(model, block.frame, times, quantiles)
            table = arrow().table(columns)
            if writer is None:
                writer = stack.enter_context(_open_writer(partial, table.schema))
            writer.write_table(table)
            n_rows += len(block.row)
        if writer is None:
            raise InputError("the source has no rows to predict; expected some.")
    return n_rows


def _predictions(
    model: Any, X: pd.DataFrame, times: FloatArray, quantiles: Sequence[float]
) -> dict[str, FloatArray]:
    """Return the columns of the predictions of a block."""
    model, X = final_model(model, X)
    curves = {"survival": model.predict_survival_function(X, times)}
    if model.n_events_ > 1:
        incidences = model.predict_cumulative_incidences(X, times)
        curves |= {f"incidence_{event}": curve for event, curve in enumerate(incidences, 1)}
    columns = {
        f"{name}_{time:.10g}": curve[:, i]
        for name, curve in curves.items()
        for i, time in enumerate(times)
    }
    if hasattr(model, "predict_distribution"):
        names = ["median", *(f"quantile_{level:g}" for level in quantiles)]
        values = model.predict_distribution(X).quantile([0.5, *quantiles])
        columns |= dict(zip(names, values.T, strict=True))
    return columns


def _open_writer(path: Path, schema: Any) -> Any:
    """Return a pyarrow writer of a Parquet or text file."""
    if path.suffix == ".parquet":
        return arrow("parquet").ParquetWriter(str(path), schema)
    csv = arrow("csv")
    options = csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
    return csv.CSVWriter(str(path), schema, write_options=options)


def evaluate(
    model: Any,
    source: TableSource,
    horizons: ArrayLike | None = None,
    sample: int = 50_000,
    random_state: int = 0,
) -> pd.DataFrame:
    """Evaluate a model on a source: the log-likelihood of all rows, other metrics on a random sample of them.

    Parameters
    ----------
    model : fitted survival model
        ``DeepSurvivalMachines``, another model of this package, or a pipeline or search that ends
        with one.
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
    ['concordance_td', 'brier', 'auc']

    """
    from .metrics import evaluate as evaluate_rows

    steps, last = split_pipeline(model)
    share = sample / max(source.n_rows, 1)
    samples, total, total_weight = [], 0.0, 0.0
    for block in source.read():
        if hasattr(last, "log_likelihood"):
            X = apply_steps(steps, block.frame)
            total += last.log_likelihood(X, block.outcome, block.weight)
            total_weight += block.weight.sum()
        samples.append(block.take(block.is_chosen(share, random_state + SAMPLE_SEED)))
    if not sum(len(block.row) for block in samples):
        raise InputError(
            "the source has no rows with an outcome; expected some. Check the columns."
        )
    tables = []
    if total_weight:
        columns = ["metric", "event", "horizon", "value"]
        values = ["log_likelihood", np.nan, np.nan, total / total_weight]
        tables.append(pd.DataFrame([values], columns=columns))
    rows = RowBlock.join(samples)
    if not (rows.outcome.interval.any() or rows.outcome.truncated.any()):
        train = last.training_target_
        horizons = default_horizons(train) if horizons is None else horizons
        tables.append(evaluate_rows(model, train, rows.frame, rows.outcome, horizons))
    return pd.concat(tables, ignore_index=True)
