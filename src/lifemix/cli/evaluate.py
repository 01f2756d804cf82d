"""``lifemix evaluate``: the quality of a model on a table with outcomes."""

from __future__ import annotations

from .landmark_options import Landmarks, Window
from .options import Data, FromDisk, Model, Seed, Times
from .output import Screen
from .paths import check_model_path, check_table_path
from .table_options import OutcomeOptions
from .time_units import TimeList

__all__ = ["evaluate"]


def evaluate(
    screen: Screen,
    model: Model,
    data: Data,
    table: OutcomeOptions,
    times: Times = None,
    landmarks: Landmarks = None,
    window: Window = None,
    from_disk: FromDisk = False,
    seed: Seed = 0,
) -> None:
    """Evaluate a model on rows with outcomes, preferably rows that it was not fitted to.

    The model file remembers which columns hold time and event. Start-stop rows are evaluated at landmarks: of those at
    risk at each, the risk of the time that follows.

    [bold]lifemix evaluate model.safetensors test.csv[/]
    """
    at, from_times = TimeList.parse(times), TimeList.parse(landmarks, "--landmarks")
    lengths = TimeList.parse(window, "--window")
    check_model_path(model)
    if not (from_disk and data.is_dir()):
        check_table_path(data)
    if from_disk:
        from .from_disk import evaluate_from_disk

        evaluate_from_disk(screen, model, data, table, at, seed)
        return
    import numpy as np

    from ..report import check_model, check_table
    from .findings import finding_states, show_findings
    from .model_file import open_outcomes
    from .quality import measure_models, show_quality
    from .reference_models import marginal_curve

    saved, X, y = open_outcomes(screen, model, data, table)
    horizons = at.within(saved.options.time_unit) or saved.horizons
    spans = lengths.within(saved.options.time_unit)
    chosen = from_times.within(saved.options.time_unit), spans[0] if spans else None
    findings = check_table(X, y, event_names=saved.event_names)
    findings += check_model(saved.model, X, y, event_names=saved.event_names, horizons=horizons)
    training = saved.model.training_target_.to_array()
    references = marginal_curve(np.zeros((len(training), X.shape[1])), training)
    quality = measure_models(
        {"this model": saved.model} | references, training, X, y, horizons, seed, chosen
    )
    show_quality(screen, quality, saved.event_names, saved.options.time_unit)
    show_findings(screen, findings, "Findings")
    screen.result(
        {"quality": [each.to_state() for each in quality], "findings": finding_states(findings)}
    )
