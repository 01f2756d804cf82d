"""Records, one line of JSON per table, model and fold: what is missing is computed, and added at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from joblib import Parallel, delayed

import lifemix
from lifemix.splits import EventStratifiedKFold

from ..harness import one_thread
from .models import MODELS, VERSIONS
from .scores import fold_scores
from .tables import UnseenTable, load_table

__all__ = ["FOLDS", "Models", "current", "missing", "read_records", "run", "stale"]

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
    commit = _commit()
    for record in _results(cells, jobs, models):
        facts = {"version": models.versions[record["model"]], "lifemix": lifemix.__version__, "commit": commit}
        _append(path, record | facts)


def missing(
    path: Path, names: Iterable[str], models: Iterable[str], folds: int, repeats: int = 1, known: Models = UNSEEN
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


def _append(path: Path, record: dict[str, Any]) -> None:
    """Add a line in one write; a line that a kill has torn stays alone."""
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if torn else "") + json.dumps(record) + "\n")


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return what the file has, without lines that are not whole."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def current(path: Path, names: Iterable[str], models: Iterable[str], known: Models = UNSEEN) -> pd.DataFrame:
    """Return the records of these tables and models, made by the version of each model that there is now."""
    frame = pd.DataFrame([record for record in read_records(path) if known.made(record)])
    if not len(frame):
        raise SystemExit(f"{path.name} has no record of the models as they are now; run without --show or --report.")
    frame = frame.drop_duplicates(["table", "model", "fold"], keep="last")
    return frame[frame["table"].isin(list(names)) & frame["model"].isin(list(models))].reset_index(drop=True)


def stale(path: Path) -> dict[str, int]:
    """Return how many records of each model are of another version of it."""
    others = pd.Series([r["model"] for r in read_records(path) if not UNSEEN.made(r)], dtype=object)
    return {str(model): int(count) for model, count in others.value_counts().items()}


def _commit() -> str:
    """Return the commit of the sources, with a + where they have been changed since."""
    git = ["git", "-C", str(Path(__file__).parents[2])]
    try:
        found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", "src", "benchmarks/unseen"], check=False
    ).returncode
    return found.stdout.strip() + ("+" if changed else "")
