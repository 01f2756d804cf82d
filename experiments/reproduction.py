"""One experiment from start to end: what is missing is computed, then tables and a page are written."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lifemix.errors import SettingError
from lifemix.files import atomic_write, folder_lock

from .cells import Cell
from .comparison import paper_of
from .learners import LEARNERS
from .pages import RunFacts, write_page
from .pages.pieces import check_figures
from .protocol import times_of
from .records import Record, RecordStore
from .runner import run_jobs
from .scaling import scaling_studies
from .selection import Selected
from .study import Study
from .table_study import TABLES, table_studies
from .tables import write_tables
from .transfer import REPRESENTATIONS, transfer_study

__all__ = ["EXPERIMENTS", "reproduce", "studies", "write_results", "write_study"]

EXPERIMENTS = (*TABLES, "transfer", "scaling", "all")
_MODELS = tuple(dict.fromkeys((*LEARNERS, *REPRESENTATIONS)))
_GRIDS = ("reduced", "full")


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
    """Run one of the paper's experiments, or continue one that was interrupted, and write its tables and its page.

    Parameters
    ----------
    name : str
        One of ``experiments.EXPERIMENTS``; ``"all"`` is all but SEER.
    out : path, default "results"
        The folder of all results; a quick run has folders of its own there.
    quick : bool, default False
        Fewer settings, folds and levels of censoring.
    selection : {"both", "paper", "nested"}, default "both"
        How settings are selected: by the test folds as in the paper, or on an inner part of the training rows.
    jobs : int, default 1
        How many jobs run at a time.
    backend : {"loky", "dask", "ray"}, default "loky"
        Backend of joblib.
    models : sequence of str or None, default None
        Only these; what is known of others stays in the tables.
    data : str or None, default None
        Path of the user's own file, for synthetic and seer.
    grid : {"reduced", "full"}, default "reduced"
        With competing risks, whether settings are selected from a part of the paper's grid or from all of it.
    quiet : bool, default False
        Whether to hide the progress bar.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    SettingError
        If an experiment, model, selection, backend or grid is unknown, or a data file is missing.

    Examples
    --------
    >>> from experiments import reproduce
    >>> pages = reproduce("support", quick=True, out="build/demo")  # doctest: +SKIP
    """
    if name not in EXPERIMENTS:
        raise SettingError(
            f"unknown experiment; got {name!r}, expected one of {', '.join(EXPERIMENTS)}."
        )
    for model in models or ():
        if model not in _MODELS:
            raise SettingError(
                f"unknown model; got {model!r}, expected some of {', '.join(_MODELS)}."
            )
    names = [one for one in EXPERIMENTS if one not in ("seer", "all")] if name == "all" else [name]
    check_figures()
    pages = []
    # Studies read their data: what is not installed shows before the first job of the first experiment.
    for parts in [studies(one, quick, data, grid) for one in names]:
        for study in parts:
            with folder_lock(Path(out) / study.folder, "experiment"):
                run_jobs(
                    study.jobs(models), RecordStore(Path(out) / study.folder), jobs, backend, quiet
                )
        pages.append(write_results(Path(out), parts, selection))
    return pages


def studies(
    name: str, quick: bool = False, path: str | None = None, grid: str = "reduced"
) -> list[Study]:
    """Return the studies of an experiment, one per data set."""
    if grid not in _GRIDS:
        raise SettingError(f"grid must be one of {', '.join(_GRIDS)}; got {grid!r}.")
    if name == "transfer":
        return [transfer_study(quick, path)]
    if name == "scaling":
        return scaling_studies(quick)
    return table_studies(name, quick, path, grid)


def write_results(out: Path, parts: Sequence[Study], selection: str = "both") -> Path:
    """Write tables and facts of every data set of an experiment, and its page, from the records alone."""
    cells: list[Cell] = []
    selected: list[Selected] = []
    facts: dict[str, dict[str, Any]] = {}
    for study in parts:
        own, chosen, facts[study.data] = write_study(out, study, selection)
        cells += own
        selected += chosen if study.tabular else []
    return write_page(out, cells, _run_facts(parts, facts), selected)


def write_study(
    out: Path, study: Study, selection: str = "both"
) -> tuple[list[Cell], list[Selected], dict[str, Any]]:
    """Write tables and facts of one data set; return its cells, the settings selected and the facts."""
    folder = out / study.folder
    records = study.records(RecordStore(folder).records())
    cells, selected = study.summarise(records, selection)
    write_tables(folder, _title(study), cells, paper_of([study.data]), selected, study.notes)
    known = folder / "facts.json"
    before = known.read_text(encoding="utf-8") if known.exists() else ""
    facts = _facts(study, records, json.loads(before or "{}"))
    text = json.dumps(facts, indent=1) + "\n"
    if text != before:
        with atomic_write(known) as path:
            path.write_text(text, encoding="utf-8")
    return cells, selected, facts


def _title(study: Study) -> str:
    quick = " (quick run: fewer settings and folds)" if study.protocol.run == "quick" else ""
    name = study.protocol.dataset().name
    return f"{study.experiment.capitalize()}: {name}{quick}" if not study.tabular else name + quick


def _facts(study: Study, records: Sequence[Record], before: dict[str, Any]) -> dict[str, Any]:
    """Return what must be told about a run beside its numbers; where there are no new records, nothing new.

    Records say where they were made. Those of earlier versions do not; for them stay the versions and the machine of
    the facts ``before``.
    """
    protocol, data = study.protocol, study.protocol.dataset()
    origins = _origins(records)
    first = origins[0] if origins else {}
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
        "seconds_by_model": {
            name: round(sum(r.seconds for r in records if r.model == name), 1)
            for name in sorted({record.model for record in records})
        },
        "versions": before.get("versions", first.get("versions", {})),
        "machine": before.get(
            "machine", f"{first.get('processor', '')}, {first.get('cores', '')} cores"
        ),
        "made": origins,
    }


def _origins(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return where records were made, with the number of records of each, most first."""
    found = Counter(json.dumps(record.made, sort_keys=True) for record in records if record.made)
    return [{"records": number, **json.loads(made)} for made, number in found.most_common()]


def _run_facts(parts: Sequence[Study], facts: dict[str, dict[str, Any]]) -> RunFacts:
    """Return what the page tells about the run, all data sets together."""
    first = facts[parts[0].data]
    return RunFacts(
        experiment=parts[0].page,
        command=parts[0].command,
        run=parts[0].protocol.run,
        seeds=tuple(sorted({study.protocol.seed for study in parts})),
        seconds=sum(one["seconds"] for one in facts.values()),
        folds={data: len(one["folds"]) for data, one in facts.items()},
        horizons={data: one["horizons"] for data, one in facts.items()},
        units={data: one["time_unit"] for data, one in facts.items()},
        events={data: tuple(one["event_names"].values()) for data, one in facts.items()},
        versions=first["versions"],
        machine=first["machine"],
        notes=_notes(facts),
    )


def _notes(facts: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """Return the notes of all data sets, each once, with the data sets that it is about where it is not about all."""
    about: dict[str, list[str]] = {}
    for one in facts.values():
        for text in one["notes"]:
            about.setdefault(text, []).append(one["title"])
    return tuple(
        text if len(on) == len(facts) else f"{', '.join(on)}: {text}" for text, on in about.items()
    )
