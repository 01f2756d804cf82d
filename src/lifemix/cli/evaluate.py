"""``lifemix evaluate``: the quality of a model on a table with outcomes."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import Console
from .options import (
    Data,
    FromDisk,
    ModelFilePath,
    OutcomeOptions,
    Seed,
    Text,
    Texts,
    Times,
    parse_times,
)

__all__ = ["evaluate"]

Landmarks = Annotated[
    Texts,
    typer.Option(
        help="Landmarks at which start-stop rows are evaluated, such as 1y,3y. Default: 0 and the first two quartiles "
        "of the event times."
    ),
]
Window = Annotated[
    Text,
    typer.Option(
        help="How far ahead of a landmark the risk is predicted, such as 2y. Default: the first quartile of the event "
        "times."
    ),
]


def evaluate(
    console: Console,
    model: ModelFilePath,
    data: Data,
    table: OutcomeOptions,
    times: Times = None,
    landmarks: Landmarks = None,
    window: Window = None,
    from_disk: FromDisk = False,
    seed: Seed = 0,
) -> None:
    """Evaluate a model on rows with outcomes, preferably rows that it was not fitted to.

    The model file records which columns hold time and event. Start-stop rows are evaluated at landmarks: of those at
    risk at each, the risk of the time that follows.

    [bold]lifemix evaluate model.safetensors test.csv[/]
    """
    import numpy as np
    import pandas as pd

    from .. import streaming
    from ..report import check_model, check_table
    from .doctor import show_findings
    from .model_file import open_model, open_outcomes, table_source
    from .models import ModelChoice
    from .quality import measure, show_quality

    if from_disk:
        saved = open_model(model, table)
        source = table_source(data, saved.options, saved.codes, saved)
        quality = streaming.evaluate(
            saved.model, source, saved.times(times), random_state=seed
        ).assign(model="this model")
        title = f"Quality on about {source.n_rows:,} rows"
        show_quality(console, quality, saved.event_names, saved.options.unit, title)
        console.result({"rows": source.n_rows, "quality": quality})
        return
    saved, X, y = open_outcomes(console, model, data, table)
    horizons, unit = saved.times(times), saved.options.unit
    findings = check_table(X, y, event_names=saved.event_names, held_out=True)
    findings += check_model(saved.model, X, y, event_names=saved.event_names, horizons=horizons)
    at = parse_times(landmarks, unit, "--landmarks")
    ahead = parse_times([window], unit, "--window")[0] if window else None
    training = saved.model.training_target_
    rows = training, X, y, horizons
    quality = measure("this model", saved.model, *rows, seed, at, ahead)
    if saved.options.upper is None:
        choice = ModelChoice("curve")
        curve = choice.make(training).fit(np.zeros((len(training), X.shape[1])), training)
        quality = pd.concat([quality, measure(choice.label, curve, *rows, None, at, ahead)])
    show_quality(console, quality, saved.event_names, unit, f"Quality on {len(X):,} rows")
    show_findings(console, findings, "Findings")
    console.result({"rows": len(X), "quality": quality, "findings": findings})
