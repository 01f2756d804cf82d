"""One experiment from start to end: what is missing is computed, then tables and a page are written."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import joblib

import lifemix

from ..errors import SettingError
from .cells import Cell
from .experiments import TABLES, models_of, protocols
from .jobs import make_jobs
from .protocol import Protocol, times_of
from .records import Record
from .runner import run_jobs
from .store import RecordStore
from .summary import summarise
from .tables import write_tables

__all__ = ["EXPERIMENTS", "reproduce"]

EXPERIMENTS = (*TABLES, "all")
_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "torch", "joblib", "scikit-survival", "pycox")


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
    quiet: bool = False,
) -> list[Path]:
    """Run an experiment, or go on with one that was interrupted, and return the folders of its results.

    name: one of ``EXPERIMENTS``. out: the folder of all results; a quick run has folders of its own there.
    selection: ``"paper"``, ``"nested"`` or ``"both"``. jobs: how many at a time. backend: joblib's, loky, dask or ray.
    models: only these; what is known of others stays in the tables. data: the user's file, for synthetic and seer.
    """
    if name not in EXPERIMENTS:
        raise SettingError(f"unknown experiment; got {name!r}, expected one of {', '.join(EXPERIMENTS)}.")
    if name == "all":
        own = {"out": out, "quick": quick, "selection": selection, "jobs": jobs, "backend": backend, "quiet": quiet}
        names = [one for one in TABLES if one != "seer"]
        return [folder for one in names for folder in reproduce(one, models=models, **own)]  # type: ignore[arg-type]
    folders = []
    for protocol in protocols(name, quick, data):
        folder = folder_of(Path(out), protocol)
        store = RecordStore(folder)
        run_jobs(make_jobs(protocol, models_of(protocol, models)), store, jobs, backend, quiet)
        write_results(folder, protocol, store, selection)
        folders.append(folder)
    return folders


def folder_of(out: Path, protocol: Protocol) -> Path:
    """Return the folder of one data set; those of quick runs and of the user's files have names of their own."""
    name = protocol.source.name
    if name == "synthetic" and protocol.source.path is not None:
        name += "-original"
    return out / (name if protocol.run == "full" else f"{name}-{protocol.run}")


def write_results(folder: Path, protocol: Protocol, store: RecordStore, selection: str = "both") -> None:
    """Write tables, facts and page from the records."""
    records = [record for record in store.records() if record.run == protocol.run and record.seed == protocol.seed]
    cells, chosen = summarise(records, protocol.quantiles, selection)
    published = _published(protocol.source.name)
    title = protocol.dataset().name + (" (quick run: fewer settings and folds)" if protocol.run == "quick" else "")
    write_tables(folder, title, cells, published, chosen)
    facts = _facts(protocol, records, chosen)
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    pages: Any = _optional("pages")
    if pages is not None:
        pages.write_page(folder, cells, records, facts)


def _published(name: str) -> list[Cell]:
    module: Any = _optional("published")
    return [] if module is None else list(module.published_cells(name))


def _optional(name: str) -> Any:
    try:
        return import_module(f".{name}", __package__)
    except ModuleNotFoundError:
        return None


def _facts(protocol: Protocol, records: Sequence[Record], chosen: Any) -> dict[str, Any]:
    """Return what must be told about a run beside its numbers."""
    data = protocol.dataset()
    return {
        "data": protocol.source.name,
        "title": data.name,
        "rows": len(data.X),
        "columns": data.X.shape[1],
        "run": protocol.run,
        "command": _command(protocol),
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
        "versions": _versions(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": joblib.cpu_count(),
            "python": platform.python_version(),
        },
    }


def _command(protocol: Protocol) -> str:
    """Return the command that gives the tables; where the user's file lies is the user's."""
    own = " --data FILE" if protocol.source.path is not None else ""
    name = next(name for name, sets in TABLES.items() if protocol.source.name in sets)
    return f"lifemix reproduce {name}{own}" + (" --quick" if protocol.run == "quick" else "")


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    models = sorted({record.model for record in records})
    return {name: round(sum(r.seconds for r in records if r.model == name), 1) for name in models}


def _versions() -> dict[str, str]:
    found = {"lifemix": lifemix.__version__}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
