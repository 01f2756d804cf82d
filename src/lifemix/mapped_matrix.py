"""The matrix of a fit from disk: a table on disk becomes memory-mapped arrays, which the usual training loop reads.

A fit reads the table twice. ``scan_table`` learns the statistics of the columns and takes a sample of the rows;
``mapped_arrays`` encodes each block and writes it to disk, in random order.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._types import FloatArray
from .errors import InputError
from .files import folder_lock
from .preprocessing.running_statistics import RunningStatistics
from .start_stop import checked_starts
from .streaming import SAMPLE_SEED, RowBlock, TableSource, join_blocks
from .target import Target, first_appearance

__all__ = ["Scan", "mapped_arrays", "open_arrays", "scan_table"]

Encoder = Callable[[RowBlock], dict[str, NDArray[Any]]]

_SAMPLE_ROWS, _SAMPLE_VALUES = 2**17, 2**24
_HELD_OUT_ROWS = 2**18
_BUCKET_BYTES = 2**26  # rows that are shuffled in memory at once


@dataclass(frozen=True, eq=False)
class Scan:
    """What the first pass of a fit learns: statistics of all rows, and a sample of them."""

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
        The share of the rows, or of the subjects, to hold out; less if that would be more than 262,144 rows.
    max_levels : int
        The maximum number of levels of a column.
    seed : int
        Seed of the sample and of the held-out rows.

    Returns
    -------
    Scan

    """
    file_rows, n_columns = max(source.n_rows, 1), len(source.columns)
    held_out_share = min(validation_fraction, _HELD_OUT_ROWS / file_rows)
    sample_share = min(1.0, min(_SAMPLE_ROWS, _SAMPLE_VALUES // n_columns) / file_rows)
    statistics = RunningStatistics(source.columns, source.labels, max_levels)
    n_rows, n_used, n_held_out, total_weight = 0, 0, 0, 0.0
    sample: list[RowBlock] = []
    extremes: list[RowBlock] = []
    for block in source.read():
        target = block.outcome
        statistics.add(block.frame)
        used = (target.time > 0) | (target.event > 0)
        n_rows, n_used, total_weight = (
            n_rows + len(target),
            n_used + int(used.sum()),
            total_weight + block.weight.sum(),
        )
        n_held_out += int((used & block.is_chosen(held_out_share, seed)).sum())
        if source.paths and target.subject is not None and target.truncated.any():
            _check_paths(block, all_rows=False)
        is_sampled = block.is_chosen(sample_share, seed + SAMPLE_SEED)
        sample.append(block.take(is_sampled))
        extremes.append(_extremes(block.take(~is_sampled)))
        if len(extremes) == 64:
            extremes = [_extremes(join_blocks(extremes))]
    if not n_rows:
        raise InputError(
            "the source has no rows of positive weight with an outcome; expected some. Check the columns."
        )
    joined, last = join_blocks(sample), _extremes(join_blocks(extremes))
    target = joined.outcome
    if source.paths and target.subject is not None and target.truncated.any():
        target = _check_paths(joined, all_rows=True)
    target = target.followed_by(last.outcome) if len(last.row) else target
    joined, mean_weight, n_train = (
        join_blocks([joined, last]),
        total_weight / n_rows,
        n_used - n_held_out,
    )
    return Scan(
        statistics,
        n_rows,
        mean_weight,
        n_train,
        n_held_out,
        held_out_share,
        joined.frame,
        target,
        joined.weight,
    )


def _extremes(block: RowBlock) -> RowBlock:
    """Return the first and the last row of every event code, and one of every kind of censoring."""
    target = block.outcome
    last = np.fmax(target.time, target.upper)
    rows: list[int] = []
    for code in np.unique(target.event):
        own = np.flatnonzero(target.event == code)
        exact = own[(target.time[own] > 0) & ~target.interval[own]]
        rows += [
            int(own[last[own].argmax()]),
            *([int(exact[target.time[exact].argmin()])] if len(exact) else []),
        ]
    for is_kind in (target.interval, target.truncated, (target.time == 0) & (target.event > 0)):
        rows += np.flatnonzero(is_kind)[:1].tolist()
    return block.take(np.unique(np.array(rows, dtype=np.intp)))


def _check_paths(block: RowBlock, all_rows: bool) -> Target:
    """Return the target with the rows of each subject as a path; refuse rows that do not follow each other."""
    target = block.outcome
    assert target.subject is not None
    path, n_paths = first_appearance(target.subject)
    if n_paths == len(path):
        return target
    entry = checked_starts(
        path, None, target.entry, target.time, target.event, block.row + 1, all_rows
    )
    return replace(target, entry=entry, path=path)


@contextmanager
def mapped_arrays(
    source: TableSource, scan: Scan, encode: Encoder, seed: int, key: str, folder: Path | None
) -> Iterator[Path]:
    """Encode all rows that a fit uses, write them to disk and yield their folder, for ``open_arrays``.

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
        A hash of all that the arrays depend on.
    folder : Path or None
        Where the arrays lie if the source has no cache; None: a temporary folder.

    Yields
    ------
    Path
        The folder. In each array the training rows come first, in random order, then the held-out rows. The folder is
        deleted at the end, unless it is in the cache of the source.

    """
    if source.cache is not None:
        destination = source.cache / f"lifemix-{key[:32]}"
    else:
        destination = (
            Path(tempfile.mkdtemp(prefix="lifemix-")) / "matrix"
            if folder is None
            else folder / "lifemix-matrix"
        )
    temporary = (
        None if source.cache is not None else destination.parent if folder is None else destination
    )
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        with folder_lock(destination.parent, "matrix"):
            if source.cache is None or not destination.exists():
                shutil.rmtree(destination, ignore_errors=True)
                unfinished = destination.with_name(f"{destination.name}.unfinished")
                try:
                    _write_arrays(source, scan, encode, seed, unfinished)
                    unfinished.rename(destination)
                finally:
                    shutil.rmtree(unfinished, ignore_errors=True)
        yield destination
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


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
    """Write the arrays in random order: rows go to random buckets, and each bucket is then shuffled in memory."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = np.random.default_rng([seed, len(source.columns)])
    arrays: dict[str, NDArray[Any]] = {}
    edges = next_row = bucket_of_row = np.empty(0, dtype=np.int64)
    n_total, n_read, held_out_row = scan.n_train + scan.n_held_out, 0, scan.n_train
    for block in source.read():
        target = block.outcome
        block = block.take((target.time > 0) | (target.event > 0))
        if not len(block.row):
            continue
        encoded = encode(block)
        if not arrays:
            row_bytes = sum(values.nbytes for values in encoded.values()) // len(block.row)
            _check_free_space(folder, n_total * row_bytes, n_total)
            n_buckets = max(1, min(2**16 - 1, -(-scan.n_train * row_bytes // _BUCKET_BYTES)))
            edges = np.linspace(0, scan.n_train, n_buckets + 1).astype(np.int64)
            next_row = edges[:-1].copy()
            bucket_of_row = rng.permutation(
                np.repeat(np.arange(n_buckets, dtype=np.uint16), np.diff(edges))
            )
            arrays = {
                name: np.lib.format.open_memmap(
                    folder / f"{name}.npy", "w+", values.dtype, (n_total, *values.shape[1:])
                )
                for name, values in encoded.items()
            }
        is_held_out = block.is_chosen(scan.held_out_share, seed)
        held_out, train = np.flatnonzero(is_held_out), np.flatnonzero(~is_held_out)
        bucket = bucket_of_row[n_read : n_read + len(train)]
        order, counts = (
            np.argsort(bucket, kind="stable"),
            np.bincount(bucket, minlength=len(next_row)),
        )
        starts = np.cumsum(counts) - counts
        for name, values in encoded.items():
            arrays[name][held_out_row : held_out_row + len(held_out)] = values[held_out]
            sorted_values = values[train[order]]
            for row, start, count in zip(next_row, starts, counts, strict=True):
                arrays[name][row : row + count] = sorted_values[start : start + count]
        next_row, n_read, held_out_row = (
            next_row + counts,
            n_read + len(train),
            held_out_row + len(held_out),
        )
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        order = rng.permutation(stop - start)
        for array in arrays.values():
            array[start:stop] = array[start:stop][order]


def _check_free_space(folder: Path, n_bytes: int, n_rows: int) -> None:
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise InputError(
            f"the encoded matrix of {n_rows:,} rows needs {n_bytes / 1e9:.1f} GB in {folder.parent}; there are "
            f"{free / 1e9:.1f} GB. Name a folder with more space: TableSource(..., cache=...)."
        )
