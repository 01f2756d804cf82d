"""Reading slices of pieces in any order of pieces: open pieces go on where they were, and blocks are read ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ..errors import InputError
from .blocks import BlockMaker, RowBlock
from .pieces import FilePiece
from .schedule import Slice

__all__ = ["SliceReader", "read_ahead"]

Value = TypeVar("Value")


class _OpenPiece:
    """A piece that was read up to some row."""

    def __init__(self, piece: FilePiece, columns: Sequence[str]) -> None:
        self.piece, self.position = piece, 0
        self._batches = piece.batches(columns)
        self._rest: Any = None  # what was decoded and not taken

    def take(self, start: int, stop: int) -> list[Any]:
        """Return the record batches of some rows, which must not lie before the position."""
        found = []
        while self.position < stop:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            if batch is None:
                if not self.piece.exact:
                    break
                raise InputError(
                    f"{self.piece.name} has fewer rows than before: row {self.position + 1} of {self.piece.rows} is "
                    "missing. A file must not change while it is read."
                )
            skipped = min(max(start - self.position, 0), batch.num_rows)
            taken = min(stop - self.position - skipped, batch.num_rows - skipped)
            if taken > 0:
                found.append(batch.slice(skipped, taken))
            used = skipped + max(taken, 0)
            self.position += used
            self._rest = batch.slice(used) if used < batch.num_rows else None
        return found


class SliceReader:
    """Reads slices of the pieces of a source as blocks."""

    def __init__(self, pieces: Sequence[FilePiece], first_rows: Sequence[int], maker: BlockMaker) -> None:
        self.pieces, self.first_rows, self.maker = pieces, first_rows, maker
        self._open: dict[tuple[int, int], _OpenPiece] = {}

    def read(self, part: Slice, lane: int = 0) -> RowBlock:
        """Return the rows of a slice; a piece stays open until its end, for each lane that reads it at its own row."""
        piece = self.pieces[part.piece]
        reader = self._open.pop((lane, part.piece), None)
        if reader is None or reader.position > part.start:
            reader = _OpenPiece(piece, self.maker.needed)
        batches = reader.take(part.start, part.stop)
        if part.stop < piece.rows:
            self._open[lane, part.piece] = reader
        return self.maker.make(batches, piece.name, self.first_rows[part.piece] + part.start)

    def read_all(self, number: int) -> Iterator[RowBlock]:
        """Yield a whole piece in blocks, also where it is not known how many rows it has."""
        piece, row = self.pieces[number], self.first_rows[number]
        for batch in piece.batches(self.maker.needed):
            if batch.num_rows:
                yield self.maker.make([batch], piece.name, row)
            row += batch.num_rows


def read_ahead(values: Iterator[Value], ahead: int = 1) -> Iterator[Value]:
    """Yield the same values, while a thread works on the next ones."""
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="lifemix-read") as pool:
        waiting = deque(pool.submit(next, values, end) for _ in range(ahead))
        while (value := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, values, end))
            yield value
