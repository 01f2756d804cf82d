"""The experiments by name: data, protocol, models, in full and in quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import SettingError
from .data import Source
from .jobs import make_jobs
from .learners import LEARNERS, OPTIONAL, TUNED_FOREST, learner
from .protocol import COMPETING, Protocol, n_events
from .scaling import scaling_studies
from .study import Study
from .summary import summarise
from .transfer import REPRESENTATIONS, transfer_study

__all__ = ["EXPERIMENTS", "GRIDS", "MODELS", "TABLES", "models_of", "studies", "table_study"]

LEVELS = (0.0, 0.25, 0.5)
TABLES = {
    "support": ("support",),
    "metabric": ("metabric",),
    "synthetic": ("synthetic",),
    "seer": ("seer",),
    "standins": ("flchain", "ebmt", "metabric_causes"),
}
"""The experiments that are tables of models by horizons, and the data sets of each."""
EXPERIMENTS = (*TABLES, "transfer", "scaling")
MODELS = tuple(dict.fromkeys((*LEARNERS, *REPRESENTATIONS)))
GRIDS = ("reduced", "full")
_SINGLE = ("support", "metabric")
_QUICK_ROWS = {"synthetic": 6000, "seer": 6000}


def studies(name: str, quick: bool = False, path: str | None = None, grid: str = "reduced") -> list[Study]:
    """Return the parts of an experiment, one a data set.

    grid: ``"reduced"`` is for competing risks, whose data are large: DSM has 16 of the paper's 144 settings,
    each without and with biases, and on SYNTHETIC and SEER the forests have fewer trees. SUPPORT and
    METABRIC always have the paper's grids.
    """
    if grid not in GRIDS:
        raise SettingError(f"grid must be one of {', '.join(GRIDS)}; got {grid!r}.")
    if name not in EXPERIMENTS:
        raise SettingError(f"unknown experiment; got {name!r}, expected one of {', '.join(EXPERIMENTS)}.")
    if name == "transfer":
        return [transfer_study(quick, path)]
    if name == "scaling":
        return scaling_studies(quick)
    return [table_study(name, _protocol(Source(data, path), quick, grid)) for data in TABLES[name]]


def table_study(experiment: str, protocol: Protocol) -> Study:
    """Return the table of models by horizons of one data set."""
    data = protocol.source.name
    chosen = data not in _SINGLE and protocol.run == "full" and protocol.grid == "full"
    return Study(
        experiment=experiment,
        place=data,
        data=data,
        protocol=protocol,
        models=tuple(models_of(protocol, tuple(LEARNERS))),
        jobs=lambda wanted: make_jobs(protocol, models_of(protocol, wanted)),
        summarise=lambda records, selection: summarise(records, protocol.quantiles, selection),
        options=" --grid full" if chosen else "",
        notes=_notes(protocol),
    )


def _protocol(source: Source, quick: bool, grid: str) -> Protocol:
    n_folds = 10 if source.name == "metabric" else 5
    folds = (0, 1) if quick else tuple(range(n_folds))
    run = "quick" if quick else "full"
    if source.name in _SINGLE:
        return Protocol(source, n_folds, folds, (0.0,) if quick else LEVELS, run=run)
    rows = _QUICK_ROWS.get(source.name) if quick else None
    return Protocol(source, n_folds, folds, (0.0,), COMPETING, run=run, rows=rows, grid=grid)


def _notes(protocol: Protocol) -> tuple[str, ...]:
    """Return what differs from the paper's protocol, and where the tuned forest is smaller than on SUPPORT."""
    data, kinds, notes = protocol.source.name, n_events(protocol), []
    for one in (learner(name) for name in ("dsm", "rsf", "cs-rsf", "forest", "cs-forest")):
        own, whole = one.candidates(data, protocol.run, protocol.grid), one.settings(data)
        if own == whole or not one.covers(data, kinds):
            continue
        alone = f" ({_words(own[0])})" if len(own) == 1 else ""
        if "forest" in one.name:
            notes.append(f"{one.title}: smaller{alone} than in a full run on SUPPORT ({_words(TUNED_FOREST)}).")
        elif all(setting in whole for setting in own):
            twice = ", taken without and with biases, which the paper leaves open" if "bias" in own[0] else ""
            notes.append(f"{one.title}: {len(own)} of the {len(whole)} settings of the paper's grid{alone}{twice}.")
        else:
            notes.append(f"{one.title}: {len(own)} setting{alone} in place of the {len(whole)} of the paper's grid.")
    if protocol.rows is not None:
        notes.append(f"{protocol.rows:,} rows of the data, drawn at random.")
    return tuple(notes)


def _words(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def models_of(protocol: Protocol, wanted: Sequence[str] | None = None) -> list[str]:
    """Return the models of an experiment that are wanted, where none is named all but the optional ones."""
    kinds = n_events(protocol)
    names = [name for name in LEARNERS if (name in wanted if wanted else name not in OPTIONAL)]
    return [name for name in names if learner(name).covers(protocol.source.name, kinds)]
