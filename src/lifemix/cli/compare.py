"""``lifemix compare``: LifeMix, Deep Survival Machines and other models, by cross-validation."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, LifemixError, LifemixWarning
from ..progress import report_progress
from .console import Console
from .models import LABELS, ModelChoice, search_settings
from .options import (
    Data,
    Jobs,
    SearchOptions,
    Seed,
    TableOptions,
    Texts,
    Times,
    parse_times,
    split_names,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]

_DEFAULT = ("lifemix", "dsm", "cox", "forest", "curve")


Models = Annotated[
    Texts, typer.Option(help=f"Among {', '.join(LABELS)}: repeat, or separate by commas.")
]
Folds = Annotated[int, typer.Option(help="Number of folds.")]
Rows = Annotated[
    int, typer.Option(min=100, help="Maximum number of rows; of more, a random sample.")
]


def compare(
    console: Console,
    data: Data,
    table: TableOptions,
    network: SearchOptions,
    models: Models = None,
    folds: Folds = 5,
    rows: Rows = 20_000,
    times: Times = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
) -> None:
    """Compare models by cross-validation: LifeMix, Deep Survival Machines and others.

    All models see the same folds; settings are chosen within each training part.

    [bold]lifemix compare patients.csv --time days --event died[/]
    """
    import pandas as pd
    from joblib import Parallel, delayed

    from ..splits import EventStratifiedKFold, default_horizons, train_validation_split
    from .quality import show_quality
    from .training_table import open_training_table

    names = split_names(models) or [
        name for name in _DEFAULT if not (network.fast and name == "lifemix")
    ]
    choices = [ModelChoice(name, network.settings(), seed) for name in names]
    training = open_training_table(console, data, table)
    X, y, unit = training.X, training.y, training.options.unit
    if len(y) > rows:
        console.warn(
            f"a random sample of {rows:,} of {len(y):,} rows is compared; --rows takes more."
        )
        _, sample = train_validation_split(y, fraction=rows / len(y), random_state=seed)
        X, y = X.iloc[sample], y[sample]
    horizons = parse_times(times, unit, "--times") or default_horizons(y).tolist()
    splits = list(EventStratifiedKFold(folds, seed).split(X, y))
    tasks = [(choice, fold) for fold in range(len(splits)) for choice in choices]
    tables, failures = [], {}
    with console.progress():
        outcomes = Parallel(n_jobs=jobs, return_as="generator")(
            delayed(_evaluate_fold)(choice, X, y, *splits[fold], horizons, network.search)
            for choice, fold in tasks
        )
        for i, ((choice, fold), outcome) in enumerate(zip(tasks, outcomes, strict=True)):
            report_progress("comparing", i + 1, len(tasks))
            if not isinstance(outcome, str):
                tables.append(outcome.assign(fold=fold))
                continue
            failures[choice.label] = outcome
            if models:
                raise InputError(f"{choice.name} cannot be compared on this table: {outcome}")
    for label, reason in failures.items():
        console.warn(f"{label} is left out: {reason}")
    by_fold = pd.concat(tables)
    by_fold = by_fold[~by_fold["model"].isin(failures)]
    keys = ["model", "metric", "event", "landmark", "horizon"]
    groups = by_fold.groupby(keys, dropna=False, sort=False)["value"]
    quality = groups.agg(value="mean", sd="std").reset_index()
    title = f"Mean and standard deviation over {len(splits)} folds"
    show_quality(console, quality, training.codes.names, unit, title)
    console.result({"horizons": horizons, "quality": quality, "folds": by_fold})


def _evaluate_fold(
    choice: ModelChoice, X: Any, y: Any, train: Any, test: Any, horizons: list[float], search: bool
) -> pd.DataFrame | str:
    """Return the quality of a model and the seconds of its fit, or why it cannot be fitted."""
    import pandas as pd

    from .quality import measure

    X_train, y_train, start = X.iloc[train], y[train], time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore", category=LifemixWarning):
            if search and choice.name == "dsm":
                choice, _ = search_settings(choice, X_train, y_train)
            model = choice.make(y).fit(X_train, y_train)
        seconds = time.perf_counter() - start
        quality = measure(choice.label, model, y_train, X.iloc[test], y[test], horizons)
    except LifemixError as error:
        return str(error)
    row = {"model": choice.label, "metric": "seconds", "value": seconds}
    return pd.concat([quality, pd.DataFrame([row])], ignore_index=True)
