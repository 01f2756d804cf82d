"""A model file with what it records of its table, and the columns of another table that it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lifemix

from ..errors import CovariateError, InputError, SettingError
from ..persistence import load
from ..preprocessing import TabularPreprocessor
from ..splits import default_horizons
from ..streaming import TableSource
from ..target import as_target, event_names
from .console import Console, to_json
from .options import OutcomeOptions, RowOptions, TableOptions, parse_times, refuse_missing
from .outcome import EventCodes, dates_to_years, read_outcome
from .read_table import read_table

__all__ = ["ModelFile", "model_metadata", "open_model", "open_outcomes", "table_source"]


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model, the options of the table it was fitted to, and its event codes (None: saved from Python)."""

    model: Any
    options: TableOptions
    codes: EventCodes | None
    metadata: dict[str, Any]

    @property
    def event_names(self) -> tuple[str, ...]:
        """The name of each event type."""
        return event_names(None, self.model.n_events_) if self.codes is None else self.codes.names

    @property
    def columns(self) -> list[str]:
        """The covariates."""
        if not hasattr(self.model, "feature_names_in_"):
            raise InputError(
                "the model was fitted to an array without column names; use it from Python."
            )
        return [str(name) for name in self.model.feature_names_in_]

    def times(self, texts: list[str] | None) -> list[float]:
        """Return the times of ``--times``; by default quartiles of the event times, in every command."""
        horizons: list[float] = default_horizons(self.model.training_target_).tolist()
        return parse_times(texts, self.options.unit, "--times") or horizons

    def with_covariates(
        self, console: Console, frame: pd.DataFrame, file_name: str
    ) -> pd.DataFrame:
        """Return a table whose dates are years; name covariates that are missing, and columns that are not used."""
        missing = [name for name in self.columns if name not in frame]
        if missing:
            raise CovariateError(
                f"{file_name} lacks {', '.join(map(repr, missing))}, which the model needs. Add them, "
                "empty if a value is unknown. "
                f"The model's columns are: {', '.join(self.columns)}."
            )
        recorded = {column["name"] for column in self.metadata.get("columns", ())}
        roles = {*self.options.roles.values(), *(self.options.drop or ())}
        unknown = [
            name for name in map(str, frame) if name not in {*self.columns, *recorded, *roles}
        ]
        if unknown:
            console.warn(f"not used, because the model does not know them: {', '.join(unknown)}.")
        return dates_to_years(frame, self.columns, self.options)[0]


def open_model(path: Path, options: RowOptions | None = None) -> ModelFile:
    """Read a model file; options of the user replace the model's."""
    model = load(path)
    metadata = getattr(model, "metadata_", {})
    saved, codes = TableOptions(**metadata.get("roles", {})), None
    if "roles" in metadata:
        codes = EventCodes(tuple(metadata["censored"]), tuple(metadata["events"]))
    if isinstance(options, OutcomeOptions) and (
        options.censored or options.event not in (None, saved.event)
    ):
        codes = None
    return ModelFile(model, saved.override(options or RowOptions()), codes, metadata)


def open_outcomes(
    console: Console, path: Path, data: Path, options: OutcomeOptions
) -> tuple[ModelFile, pd.DataFrame, NDArray[np.void]]:
    """Return a model, and the covariates and the target of a table; options of the user replace the model's."""
    saved = open_model(path, options)
    if saved.options.time is None:
        raise SettingError(
            "the model file does not name the columns of the outcome (it was made in Python). Add --time and --event."
        )
    frame = read_table(data, saved.options)
    console.say(f"{data.name}: {len(frame):,} rows, {frame.shape[1]} columns", style="bold")
    for option, column in saved.options.roles.items():
        if option != "--id" or options.id is not None:
            refuse_missing(column, option, list(frame.columns))
    rows, y, codes = read_outcome(frame, saved.options, saved.codes)
    X = saved.with_covariates(console, rows, data.name)[saved.columns].reset_index(drop=True)
    if saved.model.training_summary_.matches(as_target(y)):
        console.warn(
            "these look like the training rows of the model: its quality on other rows will be lower."
        )
    return replace(saved, codes=codes), X, y


def model_metadata(options: TableOptions, codes: EventCodes, **facts: Any) -> Any:
    """Return what a model file records of its table."""
    roles = {"roles": options.to_json(), "censored": codes.censored, "events": codes.types}
    return to_json({"lifemix": lifemix.__version__, **roles, **facts})


def table_source(
    data: Path,
    options: TableOptions,
    codes: EventCodes | None = None,
    saved: ModelFile | None = None,
) -> TableSource:
    """Return a table on disk, with the covariates of a model if there is one."""
    categorical, columns = options.categorical or [], None
    if saved is not None:
        columns = saved.columns
        preprocessor = getattr(saved.model, "preprocessor_", None)
        if isinstance(preprocessor, TabularPreprocessor):
            categorical = [column.name for column in preprocessor.columns_ if column.levels]
    return TableSource(
        data,
        options.time,
        options.event,
        entry=options.entry,
        upper=options.upper,
        subject=options.id,
        paths=not options.separate_rows,
        columns=columns,
        drop=options.drop or (),
        categorical=categorical,
        codes=None if codes is None else codes.of_label,
        skip_incomplete=options.skip_incomplete,
        missing=options.missing or (),
    )
