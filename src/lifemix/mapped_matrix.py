"""The memory-mapped matrix of a fit from disk.

A fit reads the table twice. ``scan_table`` learns the statistics of the columns and takes a sample
of the rows. ``mapped_arrays`` encodes each block and writes memory-mapped arrays in random order,
which the usual training loop reads.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._types import FloatArray
from .errors import InputError
from .files import folder_lock
from .preprocessing import TableData
from .preprocessing.running_statistics import RunningStatistics
from .streaming import SAMPLE_SEED, RowBlock, TableSource
from .target import Target

__all__ = ["Scan", "mapped_arrays", "open_arrays", "scan_table"]

Encoder = Callable[[RowBlock], dict[str, NDArray[Any]]]

_SAMPLE_ROWS, _SAMPLE_VALUES = 2**17, 2**24
_HELD_OUT_ROWS = 2**18
_BUCKET_BYTES = 2**26  # rows that are shuffled in memory at once


@dataclass(frozen=True, eq=False)
class Scan:
    """What the first pass of a fit learns: statistics of all rows, and a sample of the rows."""

    statistics: RunningStatistics
    n_rows: int
    mean_weight: float
    n_train: int  # rows that carry information: not censored at time 0
    n_held_out: int
    held_out_share: float
    frame: pd.DataFrame  # the sample, and the first and last events of every type
    target: Target
    weight: FloatArray


def scan_table(source: TableSource, validation_fraction: float, max_levels: int, seed: int) -> Scan:
    """Read a table once.

    Parameters
    ----------
    source : TableSource
        The table, with an outcome.
    validation_fraction : float
        The share of the rows, or of the subjects, to hold out; less if that would be more than
        262,144 rows.
    max_levels : int
        The maximum number of levels of a column.
    seed : int
        Seed of the sample and of the held-out rows.

    Returns
    -------
    Scan

    """
    file_rows = max(source.n_rows, 1)
    held_out_share = min(validation_fraction, _HELD_OUT_ROWS / file_rows)
    sample_share = min(_SAMPLE_ROWS, _SAMPLE_VALUES // len(source.columns)) / file_rows
    statistics = RunningStatistics(max_levels)
    n_rows, n_train, n_held_out, total_weight = 0, 0, 0, 0.0
    samples: list[RowBlock] = []
    extremes: list[RowBlock] = []
    for block in source.read():
        statistics.add(TableData(block.frame).data)
        is_sampled = block.is_chosen(sample_share, seed + SAMPLE_SEED)
        samples.append(block.take(is_sampled))
        extremes.append(_extremes(block.take(~is_sampled)))
        n_rows += len(block.row)
        total_weight += block.weight.sum()
        is_held_out = block.is_chosen(held_out_share, seed)[block.outcome.informative]
        n_held_out += int(is_held_out.sum())
        n_train += int((~is_held_out).sum())
    if not n_rows:
        raise InputError(
            "the source has no rows of positive weight with an outcome; expected some. Check the columns."
        )
    sample, extreme = RowBlock.join(samples), _extremes(RowBlock.join(extremes))
    target = sample.outcome
    if source.paths and target.subject is not None and target.truncated.any():
        target = target.with_paths(target.subject, row_numbers=sample.row + 1)
    return Scan(
        statistics,
        n_rows,
        total_weight / n_rows,
        n_train,
        n_held_out,
        held_out_share,
        pd.concat([sample.frame, extreme.frame], ignore_index=True),
        target.followed_by(extreme.outcome) if len(extreme.row) else target,
        np.concatenate([sample.weight, extreme.weight]),
    )


def _informative_blocks(source: TableSource) -> Iterator[RowBlock]:
    for block in source.read():
        block = block.take(block.outcome.informative)
        if len(block.row):
            yield block


def _extremes(block: RowBlock) -> RowBlock:
    """Return the first and last rows of every event code, and a row of every kind of censoring."""
    target = block.outcome
    last = np.fmax(target.time, target.upper)
    first = np.where((target.time > 0) & ~target.interval, target.time, np.inf)
    is_early_event = (target.time == 0) & (target.event > 0)
    rows: set[int] = set()
    for code in np.unique(target.event):
        rows_of_code = np.flatnonzero(target.event == code)
        rows.add(rows_of_code[last[rows_of_code].argmax()])
        rows.add(rows_of_code[first[rows_of_code].argmin()])
    for is_kind in (target.interval, target.truncated, is_early_event):
        rows.update(np.flatnonzero(is_kind)[:1])
    return block.take(np.array(sorted(rows), dtype=np.intp))


@contextmanager
def mapped_arrays(
    source: TableSource, scan: Scan, encode: Encoder, seed: int, key: str, folder: Path | None
) -> Iterator[Path]:
    """Encode all rows that a fit uses and yield the folder of their arrays, for ``open_arrays``.

    In each array the training rows come first, in random order, then the held-out rows. The folder
    is deleted at the end, unless it is in the cache of the source.

    Parameters
    ----------
    source : TableSource
        The table.
    scan : Scan
        What the first pass learned.
    encode : callable
        Returns the arrays of a block, one row per row.
    seed : int
        Seed of the held-out rows and of the order of rows.
    key : str
        A hash of everything that the arrays depend on.
    folder : Path or None
        Where the arrays lie if the source has no cache; None: a temporary folder.

    Yields
    ------
    Path
        The folder.

    """
    with ExitStack() as stack:
        parent = source.cache or folder
        if parent is None:
            parent = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lifemix-")))
        destination = parent / f"lifemix-{key[:32] if source.cache else 'matrix'}"
        unfinished = destination.with_suffix(".unfinished")
        if not source.cache:
            stack.callback(shutil.rmtree, destination, ignore_errors=True)
        with folder_lock(parent, "matrix"):
            if not (source.cache and destination.exists()):
                for path in (destination, unfinished):  # of a process that was killed
                    shutil.rmtree(path, ignore_errors=True)
                stack.callback(shutil.rmtree, unfinished, ignore_errors=True)
                unfinished.mkdir(parents=True)
                _write_arrays(source, scan, encode, seed, unfinished)
                unfinished.rename(destination)
        yield destination


def open_arrays(folder: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a folder into memory; changes to them do not reach the files.

    Parameters
    ----------
    folder : Path
        What ``mapped_arrays`` yielded.

    Returns
    -------
    dict of arrays

    """
    return {path.stem: np.load(path, mmap_mode="c") for path in sorted(folder.glob("*.npy"))}


def _write_arrays(
    source: TableSource, scan: Scan, encode: Encoder, seed: int, folder: Path
) -> None:
    """Write the arrays: training rows go to random buckets, which are then shuffled in memory."""
    rng = np.random.default_rng([seed, len(source.columns)])
    example = encode(next(_informative_blocks(source)).take(np.arange(1)))
    row_bytes = sum(values.nbytes for values in example.values())
    n_rows = scan.n_train + scan.n_held_out
    _check_free_space(folder, n_rows * row_bytes, n_rows)
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in example.items():
        path, shape = folder / f"{name}.npy", (n_rows, *values.shape[1:])
        arrays[name] = np.lib.format.open_memmap(path, "w+", values.dtype, shape)
    n_buckets = max(1, min(2**16 - 1, -(-scan.n_train * row_bytes // _BUCKET_BYTES)))
    edges = np.linspace(0, scan.n_train, n_buckets + 1).astype(np.int64)
    buckets = np.arange(n_buckets, dtype=np.uint16)
    bucket_of_row = rng.permutation(np.repeat(buckets, np.diff(edges)))
    next_row = edges.copy()  # of each bucket; the held-out rows follow the last bucket
    for block in _informative_blocks(source):
        is_train = ~block.is_chosen(scan.held_out_share, seed)
        n_train = int(is_train.sum())
        bucket = np.full(len(is_train), n_buckets)
        bucket[is_train] = bucket_of_row[:n_train]
        bucket_of_row = bucket_of_row[n_train:]
        encoded = encode(block)
        for index in np.unique(bucket):
            is_in_bucket = bucket == index
            start = next_row[index]
            next_row[index] += is_in_bucket.sum()
            for name, values in encoded.items():
                arrays[name][start : next_row[index]] = values[is_in_bucket]
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        order = rng.permutation(stop - start)
        for array in arrays.values():
            array[start:stop] = array[start:stop][order]


def _check_free_space(folder: Path, n_bytes: int, n_rows: int) -> None:
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise InputError(
            f"the encoded matrix of {n_rows:,} rows needs {n_bytes / 1e9:.1f} GB in {folder.parent}; there "
            f"are {free / 1e9:.1f} GB. Name a folder with more space: TableSource(..., cache=...)."
        )
