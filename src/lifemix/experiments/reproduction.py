"""One experiment from start to end: what is missing is computed, then tables and a page are written."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import SettingError
from . import experiments
from .cells import Cell
from .comparison import paper_of
from .experiments import MODELS, studies
from .pages import RunFacts, write_page
from .pages.facts import machine, versions
from .protocol import times_of
from .records import Record
from .runner import run_jobs
from .store import RecordStore
from .study import Study
from .tables import write_tables

__all__ = ["EXPERIMENTS", "reproduce", "write_results", "write_study"]

EXPERIMENTS = (*experiments.EXPERIMENTS, "all")


def reproduce(
    name: str,
    *,
    out: str | os.PathLike[str] = "results",
    quick: bool = False,
    selection: str = "both",
    jobs: int = 1,
    backend: str = "loky",
    models: Sequence[str] | None = None,
    data: str | None = None,
    grid: str = "reduced",
    quiet: bool = False,
) -> list[Path]:
    """Run an experiment, or go on with one that was interrupted, and return the pages with its results.

    name: one of ``EXPERIMENTS``. out: the folder of all results; a quick run has folders of its own there.
    selection: ``"paper"``, ``"nested"`` or ``"both"``. jobs: how many at a time. backend: joblib's, loky, dask or ray.
    models: only these; what is known of others stays in the tables. data: the user's file, for synthetic and seer.
    grid: with competing risks the models choose from a part of the paper's settings, or with ``"full"`` from all.
    """
    if name not in EXPERIMENTS:
        raise SettingError(f"unknown experiment; got {name!r}, expected one of {', '.join(EXPERIMENTS)}.")
    for model in models or ():
        if model not in MODELS:
            raise SettingError(f"unknown model; got {model!r}, expected some of {', '.join(MODELS)}.")
    names = [one for one in experiments.EXPERIMENTS if one != "seer"] if name == "all" else [name]
    pages = []
    for one in names:
        parts = studies(one, quick, data, grid)
        for study in parts:
            run_jobs(study.jobs(models), RecordStore(Path(out) / study.folder), jobs, backend, quiet)
        pages.append(write_results(Path(out), parts, selection))
    return pages


def write_results(out: Path, parts: Sequence[Study], selection: str = "both") -> Path:
    """Write tables and facts of every data set of an experiment, and its page, from the records alone."""
    cells: list[Cell] = []
    records: list[Record] = []
    facts: dict[str, dict[str, Any]] = {}
    for study in parts:
        own, known, facts[study.data] = write_study(out, study, selection)
        cells += own
        records += known if study.tabular else []
    return write_page(out, cells, _run_facts(parts, facts), records)


def write_study(out: Path, study: Study, selection: str = "both") -> tuple[list[Cell], list[Record], dict[str, Any]]:
    """Write tables and facts of one data set; return its cells, its records and the facts."""
    folder = out / study.folder
    records = study.records(RecordStore(folder).records())
    cells, chosen = study.summarise(records, selection)
    facts = _facts(study, records, chosen)
    published = list(paper_of([study.data]).values())
    write_tables(folder, _title(study), cells, published, chosen, study.notes)
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return cells, records, facts


def _title(study: Study) -> str:
    quick = " (quick run: fewer settings and folds)" if study.protocol.run == "quick" else ""
    name = study.protocol.dataset().name
    return f"{study.experiment.capitalize()}: {name}{quick}" if not study.tabular else name + quick


def _facts(study: Study, records: Sequence[Record], chosen: Any) -> dict[str, Any]:
    """Return what must be told about a run beside its numbers."""
    protocol, data = study.protocol, study.protocol.dataset()
    return {
        "data": study.data,
        "title": data.name,
        "rows": len(data.X),
        "columns": data.X.shape[1],
        "run": protocol.run,
        "command": study.command,
        "notes": list(study.notes),
        "folds": list(protocol.folds),
        "n_folds": protocol.n_folds,
        "levels": list(protocol.levels),
        "quantiles": list(protocol.quantiles),
        "horizons": times_of(protocol).tolist(),
        "time_unit": data.time_unit,
        "event_names": {str(code): name for code, name in data.event_names.items()},
        "seed": protocol.seed,
        "records": len(records),
        "seconds": round(sum(record.seconds for record in records), 1),
        "seconds_by_model": _seconds(records),
        "chosen": chosen,
        "versions": versions(),
        "machine": machine(),
    }


def _run_facts(parts: Sequence[Study], facts: dict[str, dict[str, Any]]) -> RunFacts:
    """Return what the page tells about the run, all data sets together."""
    several = len(parts) > 1
    return RunFacts(
        parts[0].page,
        parts[0].command,
        "quick" if parts[0].protocol.run == "quick" else "full",
        tuple(sorted({study.protocol.seed for study in parts})),
        sum(one["seconds"] for one in facts.values()),
        {data: len(one["folds"]) for data, one in facts.items()},
        {data: one["horizons"] for data, one in facts.items()},
        {data: one["time_unit"] for data, one in facts.items()},
        {data: tuple(one["event_names"].values()) for data, one in facts.items()},
        notes=tuple(f"{one['title']}: {text}" if several else text for one in facts.values() for text in one["notes"]),
    )


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    models = sorted({record.model for record in records})
    return {name: round(sum(r.seconds for r in records if r.model == name), 1) for name in models}
