"""A model file with what it remembers of its table, and the columns of another table that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.markup import escape

from ..errors import CovariateError, InputError, SettingError
from ..estimators import DeepSurvivalMachines
from ..persistence import load
from ..preprocessing import TableData
from ..splits import default_horizons
from ..target import as_target, event_names
from .outcome import EventCodes, dates_to_years, read_target
from .output import Screen
from .predict_histories import refuse_histories
from .read_table import TableFile, looks_like_numbers, read_table
from .table_options import TableOptions
from .visits import visits_as_intervals

__all__ = ["SavedModel", "open_model", "open_outcomes"]

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model, the options of the table it was fitted to, and its event codes (None: saved from Python)."""

    model: DeepSurvivalMachines
    options: TableOptions
    codes: EventCodes | None
    metadata: dict[str, Any]

    @property
    def event_names(self) -> tuple[str, ...]:
        """The name of each event type."""
        return event_names(None, self.model.n_events_) if self.codes is None else self.codes.names

    @property
    def horizons(self) -> list[float]:
        """The default times at which this model is shown and evaluated, the same for every command."""
        found: list[float] = default_horizons(self.model.training_target_).tolist()
        return found

    def covariates(self, table: TableFile, screen: Screen, apart: Sequence[str]) -> pd.DataFrame:
        """Return the covariates of a table in the model's order; name those that are missing or not used.

        ``apart`` are columns with another use, such as the outcome.
        """
        columns = [str(name) for name in getattr(self.model, "feature_names_in_", ())]
        if not columns:
            raise InputError(
                "the model was fitted to an array without column names; use it from Python."
            )
        given = list(table.frame.columns)
        absent = [name for name in columns if name not in given]
        if absent:
            raise CovariateError(
                f"{table.name} lacks {_some(absent)}, which the model needs. Add {_it(absent)} "
                f"(empty where the value is unknown). The model's columns are: {', '.join(columns)}."
            )
        known = {
            *columns,
            *apart,
            *self.options.apart,
            *(column["name"] for column in self.metadata.get("columns", ())),
        }
        extra = [name for name in given if name not in known]
        if extra:
            screen.warn(f"not used, as the model does not know {_it(extra)}: {_some(extra)}.")
        self._refuse_numbers_as_text(table.frame)
        return dates_to_years(table.frame, columns, self.options)[0][columns]

    def _refuse_numbers_as_text(self, frame: pd.DataFrame) -> None:
        """Refuse texts such as 15,7 in a column that held numbers in training."""
        numeric = {"numbers", "0 / 1"}
        for name in [
            column["name"]
            for column in self.metadata.get("columns", ())
            if column["kind"] in numeric
        ]:
            values = frame.get(name, pd.Series(dtype=float)).dropna().head(50)
            texts = values[pd.to_numeric(values, errors="coerce").isna()].astype(str).tolist()
            if looks_like_numbers(texts).sum() > len(texts) / 2:
                raise CovariateError(
                    f"column {name!r} held numbers in training; got numbers as text, such as {texts[0]!r}. Name the "
                    "marks of a text file, such as --decimal , or --thousands ,"
                )


def open_model(path: Path) -> SavedModel:
    """Read a model file."""
    model = load(path)
    metadata = getattr(model, "metadata_", {})
    if "roles" not in metadata:
        return SavedModel(model, TableOptions(), None, metadata)
    codes = EventCodes(tuple(metadata["censored"]), tuple(metadata["events"]))
    return SavedModel(model, TableOptions.from_state(metadata["roles"]), codes, metadata)


def open_outcomes(
    screen: Screen, path: Path, data: Path, given: TableOptions
) -> tuple[SavedModel, TableData, NDArray[np.void]]:
    """Return a model, and the covariates and the target of a table; options that are given replace the model's."""
    saved = open_model(path)
    refuse_histories(saved, "this command")
    options = saved.options.override(given)
    if options.time is None or options.event is None:
        raise SettingError(
            "the model file does not name the columns of the outcome (it was made in Python). Add --time and --event."
        )
    table = read_table(data, options)
    TableOptions(
        options.time, options.event, entry=options.entry, upper=options.upper, id=given.id
    ).resolve(list(table.frame.columns))
    learn_codes = given.censored or (given.event and given.event != saved.options.event)
    codes = None if learn_codes else saved.codes
    table, options = visits_as_intervals(table, options, codes)
    rows, y, _ = read_target(table, options, codes)
    X = saved.covariates(table, screen, options.apart)
    screen.say(f"[bold]{escape(str(table))}[/]")
    if saved.model.training_summary_.matches(as_target(y)):
        screen.warn(
            "these look like the training rows of the model: its quality on other rows will be lower."
        )
    complete = (X if rows.all() else X[rows]).reset_index(drop=True)
    return replace(saved, options=options), TableData(complete), y


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _some(names: list[str]) -> str:
    what = "the column " if len(names) == 1 else f"{len(names)} columns: "
    return what + ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
