"""The experiments by name: data, protocol, models, in full and in quick."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SettingError
from .data import Source
from .families import FAMILIES, OPTIONAL, family
from .protocol import COMPETING, Protocol, n_events

__all__ = ["TABLES", "models_of", "protocols"]

LEVELS = (0.0, 0.25, 0.5)
TABLES = {
    "support": ("support",),
    "metabric": ("metabric",),
    "synthetic": ("synthetic",),
    "seer": ("seer",),
    "standins": ("flchain", "ebmt", "metabric_causes"),
}
"""The experiments that are tables of models by horizons, and the data sets of each."""
_SINGLE = ("support", "metabric")


def protocols(name: str, quick: bool = False, path: str | None = None) -> list[Protocol]:
    """Return the protocol of each data set of an experiment."""
    if name not in TABLES:
        raise SettingError(f"unknown experiment; got {name!r}, expected one of {', '.join(TABLES)}.")
    return [_protocol(Source(data, path), quick) for data in TABLES[name]]


def _protocol(source: Source, quick: bool) -> Protocol:
    n_folds = 10 if source.name == "metabric" else 5
    folds = (0, 1) if quick else tuple(range(n_folds))
    run = "quick" if quick else "full"
    if source.name in _SINGLE:
        return Protocol(source, n_folds, folds, (0.0, 0.5) if quick else LEVELS, run=run)
    return Protocol(source, n_folds, folds, (0.0,), COMPETING, run=run)


def models_of(protocol: Protocol, wanted: Sequence[str] | None = None) -> list[str]:
    """Return the models of an experiment that are wanted, all where none is named."""
    for name in wanted or ():
        family(name)
    kinds = n_events(protocol)
    names = [name for name in FAMILIES if (name in wanted if wanted else name not in OPTIONAL)]
    return [name for name in names if family(name).covers(protocol.source.name, kinds)]
