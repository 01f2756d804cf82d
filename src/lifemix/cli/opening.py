"""A model's file with what it remembers of its table, and the columns of a new table that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import CovariateError, InputError
from ..estimators import DeepSurvivalMachines
from ..persistence import load
from .events import EventCodes
from .roles import Roles
from .screen import Screen
from .tables import TableFile, read_table

__all__ = ["SavedModel", "open_model", "open_table"]

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model, the roles of the columns it was fitted to, and its event codes (None: saved from Python)."""

    model: DeepSurvivalMachines
    roles: Roles
    codes: EventCodes | None
    metadata: dict[str, Any]

    @property
    def events(self) -> tuple[str, ...]:
        """What to call each kind of event."""
        kinds = tuple(str(number) for number in range(1, self.model.n_events_ + 1))
        return (self.codes or EventCodes(("0",), kinds)).names

    @property
    def columns(self) -> list[str]:
        """The covariates that the model needs."""
        return [str(name) for name in getattr(self.model, "feature_names_in_", ())]

    def take(self, table: TableFile, screen: Screen) -> pd.DataFrame:
        """Return the covariates of a table in the model's order; say what is missing or not used."""
        if not self.columns:
            raise InputError("the model was fitted to an array without names of columns; use it from Python.")
        given = list(table.frame.columns)
        absent = [name for name in self.columns if name not in given]
        if absent:
            raise CovariateError(
                f"{table.name} lacks {_some(absent)}, which the model needs. Add {_it(absent)} "
                f"(empty where the value is unknown). The model's columns are: {', '.join(self.columns)}."
            )
        known = {*self.columns, *self.roles.apart, *(c["name"] for c in self.metadata.get("columns", ()))}
        extra = [name for name in given if name not in known]
        if extra:
            screen.warn(f"not used, as the model does not know {_it(extra)}: {_some(extra)}.")
        return table.frame[self.columns]


def open_model(path: Path) -> SavedModel:
    """Read a model's file."""
    model = load(path)
    metadata = getattr(model, "metadata_", {})
    if "roles" not in metadata:
        return SavedModel(model, Roles(), None, metadata)
    codes = EventCodes(tuple(metadata["censored"]), tuple(metadata["events"]))
    return SavedModel(model, Roles.from_state(metadata["roles"]), codes, metadata)


def open_table(data: Path, roles: Roles, encoding: str | None) -> TableFile:
    """Read a table for a model."""
    return read_table(data, as_text=[roles.id] if roles.id else [], missing=roles.missing, encoding=encoding)


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _some(names: list[str]) -> str:
    what = "the column " if len(names) == 1 else f"{len(names)} columns: "
    return what + ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
