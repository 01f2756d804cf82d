"""Records, one line of JSON per table, model and fold: what is missing is computed, and added at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from joblib import Parallel, delayed

import lifemix
from experiments.line_files import LineFile
from experiments.provenance import commit
from lifemix.splits import EventStratifiedKFold

from ..harness import one_thread
from .models import MODELS, VERSIONS
from .scores import fold_scores
from .tables import UnseenTable, load_table

__all__ = ["FOLDS", "Models", "current", "missing", "open_records", "read_records", "run", "stale"]

FOLDS = 5  # of every repeat


class Cell(NamedTuple):
    """What one record is about; the fold counts on from repeat to repeat, 5 * repeat + fold."""

    table: str
    model: str
    fold: int


@dataclass(frozen=True, eq=False)
class Models:
    """What makes the models, and the words for what they are, which their records carry."""

    makers: Mapping[str, Callable[[bool, int], Any]]
    versions: Mapping[str, str]

    def made(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a record is of the model as it is now."""
        return record.get("version") == self.versions.get(record["model"], "")


UNSEEN = Models(MODELS, VERSIONS)


def run(path: Path, cells: Sequence[Cell], jobs: int = 1, models: Models = UNSEEN) -> None:
    """Compute the cells, in several processes; only this one writes, so that a kill loses what is under way alone."""
    file = open_records(path)
    for record in _results(cells, jobs, models):
        facts = {
            "version": models.versions[record["model"]],
            "lifemix": lifemix.__version__,
            "commit": commit(),
        }
        file.append([record | facts])


def missing(
    path: Path,
    names: Iterable[str],
    models: Iterable[str],
    folds: int,
    repeats: int = 1,
    known: Models = UNSEEN,
) -> list[Cell]:
    """Return the cells without a current record, the first fold of all tables first."""
    done = {Cell(r["table"], r["model"], r["fold"]) for r in read_records(path) if known.made(r)}
    numbers = [FOLDS * repeat + fold for repeat in range(repeats) for fold in range(folds)]
    names, models = list(names), list(models)
    wanted = [Cell(name, model, number) for number in numbers for name in names for model in models]
    return [cell for cell in wanted if cell not in done]


def _results(cells: Sequence[Cell], jobs: int, models: Models) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from (record_of(cell, models) for cell in cells)
        return
    tasks = (delayed(_in_worker)(cell, models, os.getpid()) for cell in cells)
    yield from Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks)


def _in_worker(cell: Cell, models: Models, parent: int) -> dict[str, Any]:
    """Compute a cell, unless the process that would write it is gone."""
    if os.getppid() != parent:
        os._exit(1)
    return record_of(cell, models)


def record_of(cell: Cell, models: Models) -> dict[str, Any]:
    """Fit and measure; a model that fails is a result."""
    one_thread()
    table = _table(cell.table)
    record: dict[str, Any] = cell._asdict() | {"n_events": int(table.y["event"].max())}
    train, test = _splits(cell.table, cell.fold // FOLDS)[cell.fold % FOLDS]
    try:
        model = models.makers[cell.model](record["n_events"] > 1, cell.fold)
        return record | fold_scores(model, table.X, table.y, train, test)
    except Exception as error:  # noqa: BLE001
        return record | {"error": f"{type(error).__name__}: {error}"[:300]}


@cache
def _table(name: str) -> UnseenTable:
    return load_table(name)


@cache
def _splits(name: str, repeat: int) -> list[Any]:
    table = _table(name)
    return list(EventStratifiedKFold(FOLDS, random_state=repeat).split(table.X, table.y))


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return what the file has, without lines that are not whole."""
    return open_records(path).records


def open_records(path: Path) -> LineFile[dict[str, Any]]:
    """Return the file, to which records can be added; one without checksums counts too."""
    return LineFile(path, dict, older=True)


def current(
    path: Path, names: Iterable[str], models: Iterable[str], known: Models = UNSEEN
) -> pd.DataFrame:
    """Return the records of these tables and models, made by the version of each model that there is now."""
    frame = pd.DataFrame([record for record in read_records(path) if known.made(record)])
    if not len(frame):
        raise SystemExit(
            f"{path.name} has no record of the models as they are now; run without --show or --report."
        )
    frame = frame.drop_duplicates(["table", "model", "fold"], keep="last")
    return frame[frame["table"].isin(list(names)) & frame["model"].isin(list(models))].reset_index(
        drop=True
    )


def stale(path: Path) -> dict[str, int]:
    """Return how many records of each model are of another version of it."""
    others = pd.Series([r["model"] for r in read_records(path) if not UNSEEN.made(r)], dtype=object)
    return {str(model): int(count) for model, count in others.value_counts().items()}
