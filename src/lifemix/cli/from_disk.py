"""The option ``--from-disk`` of ``fit``, ``predict`` and ``evaluate``: the table is read in blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import SettingError
from ..estimators import DeepSurvivalMachines
from ..persistence import save
from ..preprocessing import TabularPreprocessor
from ..streaming import TableSource, evaluate, write_predictions
from .model_choice import ModelChoice
from .model_file import SavedModel, open_model
from .outcome import EventCodes
from .output import Screen
from .table_options import TableOptions
from .time_units import TimeList

__all__ = ["evaluate_from_disk", "fit_from_disk", "predict_from_disk"]

_MOST_HELD_OUT = 20_000  # rows


def fit_from_disk(
    screen: Screen,
    data: Path,
    options: TableOptions,
    output: Path,
    choice: ModelChoice,
    holdout: float,
) -> None:
    """Fit a model to a table on disk, write it, and evaluate it on held-out rows."""
    if choice.name != "dsm" or choice.search:
        raise SettingError(
            "--from-disk fits one model without a search: use --model dsm --no-search."
        )
    if options.time is None or options.event is None:
        raise SettingError("name the columns of the time and the event: --time and --event.")
    event, options = options.event, options.resolve(TableSource(data).columns)
    labels: set[Any] = set()
    for frame, _ in TableSource(data, columns=[event], categorical=[event]).blocks():
        labels |= set(frame[event].dropna().unique())
    codes = EventCodes.learn(
        pd.Series(sorted(labels, key=str), dtype=object), event, options.censored
    )
    source = _source(data, options, codes, None, options.categorical)
    train, test = source.split(min(holdout, _MOST_HELD_OUT / max(source.n_rows, 1)), choice.seed)
    checkpoint = output.with_name(f"{output.stem}.checkpoint")
    screen.say(f"Fitting to about {train.n_rows:,} rows of {data.name}.", markup=False)
    model = DeepSurvivalMachines(
        **choice.settings,
        n_members=choice.members,
        max_epochs=200 if choice.epochs is None else choice.epochs,
        random_state=choice.seed,
        checkpoint=checkpoint,
        verbose=screen.progress,
    ).fit(train)
    if checkpoint.is_dir() and not any(checkpoint.iterdir()):
        checkpoint.rmdir()
    model.set_params(verbose=False, checkpoint=None)
    model.metadata_ = {
        "table": data.name,
        "rows": source.n_rows,
        "roles": options.to_state(),
        "censored": list(codes.censored),
        "events": list(codes.types),
    }
    save(model, output)
    quality = evaluate(model, test, random_state=choice.seed) if holdout else pd.DataFrame()
    if holdout:
        screen.show(quality.to_string(index=False), markup=False)
    screen.wrote(output, f": fitted to about {train.n_rows:,} rows.")
    screen.result({"output": str(output), "quality": _records(quality), **model.metadata_})


def predict_from_disk(
    screen: Screen,
    model: Path,
    data: Path,
    given: TableOptions,
    at: TimeList,
    quantiles: list[float],
    output: Path,
) -> None:
    """Predict a table on disk and write the predictions."""
    saved = open_model(model)
    options = saved.options.override(given)
    source = _source(data, TableOptions(missing=options.missing), None, *_columns(saved))
    times = at.within(options.time_unit) or saved.horizons
    n_rows = write_predictions(saved.model, source, output, times, quantiles)
    screen.wrote(output, f": {n_rows:,} rows.")
    screen.result({"output": str(output), "rows": n_rows})


def evaluate_from_disk(
    screen: Screen, model: Path, data: Path, given: TableOptions, at: TimeList, seed: int
) -> None:
    """Evaluate a model on a table on disk."""
    saved = open_model(model)
    options = saved.options.override(given)
    if options.time is None or options.event is None:
        raise SettingError(
            "the model file does not name the columns of the outcome. Add --time and --event."
        )
    source = _source(data, options, saved.codes, *_columns(saved))
    quality = evaluate(
        saved.model, source, at.within(options.time_unit) or saved.horizons, random_state=seed
    )
    screen.show(quality.to_string(index=False), markup=False)
    screen.result({"quality": _records(quality), "rows": source.n_rows})


def _source(
    data: Path,
    options: TableOptions,
    codes: EventCodes | None,
    columns: list[str] | None,
    categorical: Any,
) -> TableSource:
    event_codes = None
    if codes is not None:
        event_codes = dict.fromkeys(codes.censored, 0) | {
            label: code for code, label in enumerate(codes.types, 1)
        }
    return TableSource(
        data,
        options.time,
        options.event,
        entry=options.entry,
        upper=options.upper,
        subject=options.id,
        paths=not options.separate_rows,
        columns=columns,
        drop=options.drop,
        categorical=categorical,
        codes=event_codes,
        skip_incomplete=options.skip_incomplete,
        missing=options.missing,
    )


def _columns(saved: SavedModel) -> tuple[list[str], list[str]]:
    """Return the covariates of a model, and those that are labels."""
    preprocessor = getattr(saved.model, "preprocessor_", None)
    columns = preprocessor.columns_ if isinstance(preprocessor, TabularPreprocessor) else ()
    return [str(name) for name in saved.model.feature_names_in_], [
        column.name for column in columns if column.levels
    ]


def _records(quality: pd.DataFrame) -> list[dict[str, Any]]:
    records = quality.astype(object).where(quality.notna(), None).to_dict("records")
    return [{str(name): value for name, value in record.items()} for record in records]
