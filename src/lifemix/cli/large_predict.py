"""``lifemix predict`` for a table of any length: read, predicted and written in blocks, in constant memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from ..errors import InputError, LifemixWarning
from ..preprocessing import TabularPreprocessor
from ..streaming.writing import written_table
from .model_file import SavedModel, open_model
from .output import Screen
from .table_blocks import can_be_read_in_blocks, table_blocks
from .table_options import TableOptions, check_columns
from .time_units import TimeList

__all__ = ["about_rows", "predict_in_blocks", "worth_blocks"]

_LARGE = 2**26  # bytes of a file
_AT_ONCE = 20_000  # rows


def worth_blocks(path: Path, options: TableOptions) -> bool:
    """Tell whether a table is a folder, or so large that it is not read as a whole."""
    large = path.is_file() and path.stat().st_size > _LARGE
    return path.is_dir() or (large and can_be_read_in_blocks(path, options))


def predict_in_blocks(
    screen: Screen,
    model: Path,
    data: Path,
    given: TableOptions,
    at: TimeList,
    output: Path,
    predicted: Callable[[SavedModel, pd.DataFrame, list[float]], pd.DataFrame],
    finish: Callable[[pd.DataFrame], pd.DataFrame],
) -> tuple[int, list[str]]:
    """Write the predictions of all rows; return how many there are, and the columns."""
    saved = open_model(model)
    options = saved.options.override(given)
    times = at.within(options.time_unit) or saved.horizons
    last, beyond, rows, columns = float(saved.model.training_target_.time.max()), 0, 0, list[str]()
    with written_table(output) as write, screen.bar("predicting", about_rows(data)) as advance, _each_warning_once():
        for table in table_blocks(data, options, _text_labels(saved)):
            if given.id is not None:
                check_columns(list(table.frame.columns), [("--id", given.id)])
            X = saved.covariates(table, screen, options.apart)
            for start in range(0, len(X), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                with _rows_named(rows + 1, rows + len(X.iloc[part])):
                    block = predicted(saved, X.iloc[part], times)
                names = _subjects(table.frame.iloc[part], options, rows)
                whole = finish(pd.concat([names, block], axis=1))
                beyond += int((block["median"] > last).sum()) if "median" in block else 0
                rows, columns = rows + len(whole), list(whole.columns)
                write(whole)
            advance(len(X))
    if beyond:
        screen.warn(f"{beyond:,} of {rows:,} medians lie beyond the last training time, {last:g}: extrapolated.")
    far = [time for time in times if time > last]
    if far:
        shown = ", ".join(f"{time:g}" for time in far)
        screen.warn(f"times beyond the last training time, {last:g}, are extrapolated: {shown}.")
    return rows, columns


def _subjects(frame: pd.DataFrame, options: TableOptions, before: int) -> pd.DataFrame:
    """Return the column that identifies the rows: the identifier, or the row number from 1."""
    if options.id is not None and options.id in frame.columns:
        return frame[[options.id]].reset_index(drop=True)
    return pd.DataFrame({"row": range(before + 1, before + len(frame) + 1)})


def _text_labels(saved: SavedModel) -> list[str]:
    """Return the columns of labels that are not all numbers: as they are written, whatever a block looks like."""
    fitted = getattr(saved.model, "preprocessor_", None)
    if not isinstance(fitted, TabularPreprocessor):
        return []
    return [column.name for column in fitted.columns_ if column.levels and not all(map(_is_number, column.levels))]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def about_rows(path: Path) -> int:
    """Return about how many rows a table has, for the progress."""
    from ..streaming.arrow import arrow
    from ..streaming.files import find_files
    from .memory_limit import shards_kind

    files = find_files(path)
    if shards_kind(path) == "parquet":
        try:
            return sum(int(arrow("parquet").read_metadata(file).num_rows) for file in files)
        except (OSError, arrow().ArrowException):
            return 0  # whoever reads it says what is wrong
    with open(files[0], "rb") as file:
        some = file.read(2**20)
    return int(sum(one.stat().st_size for one in files) * some.count(b"\n") / max(len(some), 1))


@contextmanager
def _rows_named(first: int, last: int) -> Iterator[None]:
    """Say in an error which rows it is about."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"data rows {first:,} to {last:,}: {error}") from None


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Show warnings of the package once, although every block has numbers of its own in them."""
    shown, show = set[str](), warnings.showwarning

    def first(message: Warning | str, category: type[Warning], *where: object, **rest: object) -> None:
        text = re.sub(r"\d[\d,.]*", "#", str(message))
        if not (issubclass(category, LifemixWarning) and text in shown):
            shown.add(text)
            show(message, category, *where, **rest)  # type: ignore[arg-type]

    warnings.showwarning = first
    try:
        yield
    finally:
        warnings.showwarning = show
