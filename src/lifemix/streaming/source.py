"""A table on disk in place of X and y."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..checks import Whole
from ..errors import CovariateError, SettingError
from ..preprocessing.merging import TableStatistics
from ..target import Target
from .blocks import BlockMaker, Roles, RowBlock, join_blocks
from .files import open_table
from .path_check import PathCheck
from .pieces import check_columns
from .reading import SliceReader, read_ahead
from .scan import SPLITTING, Scan, Shares, held_out_rows
from .schedule import Slice, stretch

__all__ = ["TableSource"]

_WINDOW_NUMBERS = 2**23  # numbers of a window, at most
_PLACES = 16  # from which a few rows are taken
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls row names when it writes Parquet


class TableSource:
    """A table that is read from disk in blocks, and never held in memory as a whole.

    ``DeepSurvivalMachines().fit(source)`` fits a model to it, ``model.log_likelihood(source)`` measures one; see also
    ``write_predictions`` and ``evaluate`` of this module. It needs PyArrow: ``pip install 'lifemix[tables]'``.

    Parameters
    ----------
    data : path, sequence of paths or pyarrow Dataset
        A Parquet, Feather, ORC or CSV file, a folder of such files (shards; ``year=2020/...`` makes a column), or
        anything that ``pyarrow.dataset`` opens. CSV files are read as UTF-8 with a line of column names.
    time, event : str, optional
        The columns of time and event, as in ``make_target``; rows that are only predicted need none.
    entry, upper : str, optional
        The columns of delayed entry and of the upper end of intervals.
    weight : str, optional
        A column of case weights; rows of weight 0 are left out.
    subject : str, optional
        A column that identifies subjects; their rows are held out together.
    paths : bool, default True
        With ``entry`` and ``subject``, as in ``make_target``: whether the rows of one subject are consecutive
        intervals, which a fit checks. Overlaps and rows after an event are found among rows that are read together,
        gaps among all rows of some subjects: of all, where the table has at most 262,144 rows. Every row counts given
        survival to its entry, whether they are or not.
    columns : sequence of str, optional
        The covariates; by default all other columns.
    drop : sequence of str, default ()
        Columns to leave out.
    categorical : sequence of str, default ()
        Columns whose numbers are codes of categories.
    codes : mapping from label to int, optional
        What the labels of the event column mean: 0 censored, 1..M event types.
    skip_incomplete : bool, default False
        Whether rows without time or event are left out; otherwise they are refused.
    missing : sequence of str, default ()
        More texts of a CSV file that mean missing.
    delimiter : str, optional
        What separates the values of a CSV file; by default it is told from the first line.
    shuffle_rows : int, default 262144
        Rows that are shuffled together, taken from several places of the table. Fewer where the table is wide.
    lanes : int, optional
        In how many stretches an epoch reads the table: by default one for each process. With as many lanes one process
        makes the same batches as several. With one lane, each of several processes reads all rows, for members of its
        own.

    Attributes
    ----------
    columns : list of str
        The covariates.
    n_rows : int
        The number of rows, before any are left out; of CSV files the number of lines.
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
        shuffle_rows: int = 2**18,
        lanes: int | None = None,
    ) -> None:
        if (time is None) != (event is None):
            raise SettingError(f"time and event go together; got time={time!r} and event={event!r}. Name both columns.")
        self.roles = Roles(time, event, entry, upper, weight, subject, codes, skip_incomplete, bool(paths))
        self.shuffle_rows = int(Whole(1)("shuffle_rows", shuffle_rows))
        self.lanes = None if lanes is None else int(Whole(1)("lanes", lanes))
        opened = open_table(data, delimiter, missing, [] if subject is None else [subject])
        names = [name for name in opened.schema.names if not _INDEX.fullmatch(name)]
        given = [*self.roles.columns, *(columns or ()), *drop]
        check_columns(opened.schemas[:1], given)
        apart = {*self.roles.columns, *drop}
        self.columns = [name for name in (names if columns is None else columns) if name not in apart]
        if not self.columns:
            raise CovariateError(f"the source has no covariates besides {sorted(apart)}. Name at least one column.")
        check_columns(opened.schemas, [*self.columns, *self.roles.columns])
        self.pieces = opened.pieces
        self.n_files = len(opened.schemas)
        self.maker = BlockMaker(opened.schema, self.columns, self.roles, categorical)
        self.kept = 1.0  # share of the rows, of a part
        rows = [piece.rows for piece in self.pieces]
        self.first_rows = [0, *np.cumsum(rows).tolist()][: len(rows)]
        self.n_rows = sum(rows)

    @property
    def window_rows(self) -> int:
        """Rows that are shuffled together."""
        return max(1, min(self.shuffle_rows, _WINDOW_NUMBERS // len(self.columns)))

    def reader(self) -> SliceReader:
        """Return a reader of the pieces."""
        return SliceReader(self.pieces, self.first_rows, self.maker)

    def raw_blocks(self, part: int = 0, parts: int = 1) -> Iterator[tuple[int, RowBlock]]:
        """Yield all rows of one of several nearly equal groups of pieces, with the number of the piece."""
        order = range(len(self.pieces))
        rows = [piece.rows for piece in self.pieces]
        chosen = [one.piece for one in stretch(rows, order, part, parts) if _begins_in(rows, one.piece, part, parts)]
        reader = self.reader()
        numbered = ((number, block) for number in chosen for block in reader.read_all(number))
        yield from read_ahead(numbered, 4)

    def blocks(self) -> Iterator[tuple[pd.DataFrame, Target | None]]:
        """Yield the table in blocks, in its order.

        Yields
        ------
        tuple of DataFrame and Target or None
            The covariates and the outcome of some rows; labels are pandas Categoricals.

        """
        for _, block in self.raw_blocks():
            if len(block):
                yield block.frame(), block.target

    def split(self, share: float, random_state: int = 0) -> tuple[TableSource, TableSource]:
        """Divide the rows at random into two sources, as a training and a test part; subjects stay together.

        Parameters
        ----------
        share : float
            About the share of the rows, or of the subjects, that the second source has.
        random_state : int, default 0
            Which rows these are: by a hash of the row's number or of its subject.

        Returns
        -------
        tuple of two TableSource
            Each reads the whole table and leaves out the rows of the other; ``n_rows`` is about their number.

        """
        first, second = copy.copy(self), copy.copy(self)
        for part, inside in ((first, False), (second, True)):
            part.maker = copy.copy(self.maker)
            part.maker.keep = partial(_in_part, self.maker.keep, share, random_state + SPLITTING, inside)
            part.kept = self.kept * (share if inside else 1 - share)
            part.n_rows = round(sum(piece.rows for piece in self.pieces) * part.kept)
        return first, second

    def some_rows(self, count: int) -> RowBlock:
        """Return about so many rows from all over the table, consecutive ones from each of several places."""
        places = np.unique(np.linspace(0, len(self.pieces) - 1, _PLACES).astype(int)).tolist()
        each = -(-count // len(places))
        parts = [Slice(place, 0, min(each, self.pieces[place].rows)) for place in places]
        return join_blocks([self.reader().read(part) for part in parts])

    def scan(self, shares: Shares, max_levels: int, part: int = 0, parts: int = 1) -> Scan:
        """Read one of several parts of the table once."""
        found = Scan(TableStatistics.of(self.columns, self.maker.labels, max_levels), shares)
        if self.roles.follows:
            found.paths = PathCheck.of(self.n_rows, shares.seed)
        for number, block in self.raw_blocks(part, parts):
            found.add(block)
            found.piece_rows[number] = found.piece_rows.get(number, 0) + block.n_read
        return found

    def fingerprint(self) -> str:
        """Return a hash of the columns, their roles and the sizes of the pieces: the contents are not read."""
        pieces = [[piece.name.replace("\\", "/").rsplit("/", 1)[-1], piece.rows] for piece in self.pieces]
        keep = None if self.maker.keep is None else repr(self.maker.keep.args)  # type: ignore[attr-defined]
        facts = [pieces, self.columns, repr(self.roles), self.maker.labels, self.window_rows, self.kept, keep]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _in_part(
    before: Callable[[RowBlock], NDArray[np.bool_]] | None, share: float, seed: int, inside: bool, block: RowBlock
) -> NDArray[np.bool_]:
    """Tell which rows of a block are in one of the two parts."""
    rows = held_out_rows(block, share, seed) == inside
    return rows if before is None else rows & before(block)


def _begins_in(rows: Sequence[int], piece: int, part: int, parts: int) -> bool:
    """Tell whether a piece begins in a part, so that each is read whole by one of them."""
    total, first = sum(rows), sum(rows[:piece])
    return part * total // parts <= first < (part + 1) * total // parts
