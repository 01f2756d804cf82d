"""``lifemix evaluate`` for a table of any length: the likelihood of all rows, other measures of a sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import SettingError
from ..preprocessing import TabularPreprocessor
from ..preprocessing.reading import TableData
from ..streaming import TableSource
from ..streaming.scoring import likelihood_and_sample
from .model_file import SavedModel, open_model
from .output import Screen
from .quality import measure_models, show_quality
from .reference_models import marginal_curve
from .table_options import TableOptions
from .time_units import TimeList

__all__ = ["evaluate_from_disk"]

_SAMPLE = 20_000  # rows, as many as a fit holds out at most


def evaluate_from_disk(screen: Screen, model: Path, data: Path, given: TableOptions, at: TimeList, seed: int) -> None:
    """Measure a model on a table that is read in blocks."""
    saved = open_model(model)
    options = saved.options.override(given)
    screen.say(f"Reading {data.name} from disk in blocks.", markup=False)
    source = _source(saved, data, options)
    horizons = at.within(options.time_unit) or saved.horizons
    some, likelihood, rows = likelihood_and_sample(saved.model, source, _SAMPLE, seed)
    X, y = TableData(some.frame()), some.outcome.to_array()
    training = saved.model.training_target_.to_array()
    references = marginal_curve(np.zeros((len(training), X.shape[1])), training)
    quality = measure_models({"this model": saved.model} | references, training, X, y, horizons, seed)
    show_quality(screen, quality, saved.event_names, options.time_unit, f" drawn at random from {rows:,}")
    if likelihood is not None:
        screen.show(f"  Log-likelihood per row of all {rows:,} rows: {likelihood:.4f}.")
    all_rows = {"rows": rows, "log_likelihood": likelihood}
    screen.result({"quality": [each.to_state() for each in quality], "all_rows": all_rows, "findings": []})


def _source(saved: SavedModel, data: Path, options: TableOptions) -> TableSource:
    if options.time is None or options.event is None:
        raise SettingError("the model file does not name the columns of the outcome. Add --time and --event.")
    fitted = getattr(saved.model, "preprocessor_", None)
    known = fitted.columns_ if isinstance(fitted, TabularPreprocessor) else ()
    labels = [column.name for column in known if column.levels]
    codes = None
    if saved.codes is not None:
        codes = dict.fromkeys(saved.codes.censored, 0) | {name: i for i, name in enumerate(saved.codes.types, 1)}
    return TableSource(
        data,
        options.time,
        options.event,
        entry=options.entry,
        upper=options.upper,
        columns=[str(name) for name in saved.model.feature_names_in_],
        categorical=labels,
        codes=codes,
        skip_incomplete=options.skip_incomplete,
        missing=options.missing,
    )
