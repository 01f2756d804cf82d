"""``lifemix fit``: from a table to a model file, evaluated on held-out rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, LifemixWarning, SettingError
from .console import Console
from .models import LABELS, ModelChoice, composition, search_settings
from .options import (
    TABLE_SUFFIXES,
    Data,
    FromDisk,
    Jobs,
    NetworkOptions,
    Seed,
    TableOptions,
    Text,
    output_path,
)

if TYPE_CHECKING:
    import pandas as pd

    from .training_table import TrainingTable

__all__ = ["FitOptions", "fit"]

_MAX_HELD_OUT = 20_000  # rows


@dataclass(frozen=True)
class FitOptions:
    """The model to fit and the rows to hold out."""

    model: Annotated[
        Text,
        typer.Option(
            help=f"One of {', '.join(LABELS)}, with the defaults of Python. Default: lifemix, an average of networks, "
            "Cox regression, boosted trees and a forest; dsm with settings of networks, --upper or start-stop rows."
        ),
    ] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Fit even if findings say stop; columns that cannot be used are left out.",
        ),
    ] = False
    holdout: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of rows held out for evaluation; 0: none.")
    ] = 0.2
    refit: Annotated[
        bool, typer.Option(help="Fit the saved model to all rows, or leave out the held-out ones.")
    ] = True
    holdout_to: Annotated[
        Path | None,
        typer.Option(
            help="Write the held-out rows to this table, and leave them out of the saved model.",
            callback=output_path(*TABLE_SUFFIXES),
        ),
    ] = None

    def split(self, y: Any, seed: int) -> tuple[Any, Any]:
        """Return the training rows and the held-out rows."""
        import numpy as np

        from ..splits import train_validation_split

        rows = np.arange(len(y))
        if self.holdout == 0:
            return rows, rows[:0]
        share = min(self.holdout, _MAX_HELD_OUT / len(y))
        return train_validation_split(y, fraction=share, random_state=seed)


ModelOutput = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="Where to write the model: .safetensors.",
        callback=output_path(".safetensors"),
    ),
]


def fit(
    console: Console,
    data: Data,
    output: ModelOutput,
    table: TableOptions,
    network: NetworkOptions,
    options: FitOptions,
    jobs: Jobs = 1,
    from_disk: FromDisk = False,
    seed: Seed = 0,
) -> None:
    """Fit a model to a table and write it to a file.

    [bold]lifemix fit patients.csv --time days --event died -o model.safetensors[/]
    """
    if options.holdout_to is not None and options.holdout == 0:
        raise SettingError("--holdout-to cannot go with --holdout 0.")
    if from_disk and (options.holdout_to is not None or network.search):
        raise SettingError("--from-disk cannot go with --holdout-to and --search.")
    name = _model_name(options.model, table, network, from_disk)
    choice = ModelChoice(name, network.settings(), seed, jobs)
    if from_disk:
        _fit_from_disk(console, data, output, table, choice, options.holdout)
        return

    from ..persistence import save
    from ..splits import default_horizons
    from .model_file import model_metadata
    from .read_table import write_table
    from .training_table import open_training_table

    training = open_training_table(console, data, table)
    _refuse_unfit(console, training, options.force)
    train, test = options.split(training.y, seed)
    candidates: list[dict[str, Any]] = []
    if network.search:
        console.say("\nChoosing settings by 3-fold cross-validation ...")
        with console.progress():
            choice, candidates = search_settings(choice, training.X.iloc[train], training.y[train])
    evaluated = saved = _fit_rows(console, choice, training, train)
    refit = options.refit and options.holdout_to is None and len(test) > 0
    if refit:
        saved = _fit_rows(console, choice, training, slice(None))
    horizons = default_horizons(saved.training_target_).tolist()
    quality = _evaluate(console, choice, evaluated, training, train, test, horizons)
    held_out = {"rows": len(test), "refitted": refit, "quality": quality}
    facts = {"table": data.name, "rows": len(training.y), "columns": training.columns}
    saved.metadata_ = model_metadata(training.options, training.codes, held_out=held_out, **facts)
    save(saved, output)
    if options.holdout_to is not None:
        write_table(training.source_rows(test), options.holdout_to)
    how = "fitted to all rows" if refit or not len(test) else "fitted without the held-out rows"
    console.wrote(
        output,
        f": {how}.",
        model=choice.name,
        settings=choice.settings,
        candidates=candidates,
        findings=training.findings,
        **saved.metadata_,
    )
    console.say(f"Next: lifemix predict {output} NEW_ROWS{data.suffix} -o predictions.csv")


def _model_name(
    name: str | None, table: TableOptions, network: NetworkOptions, from_disk: bool
) -> str:
    """Return the model to fit: options of networks mean Deep Survival Machines."""
    needs_network = bool(network.settings() or network.search or from_disk)
    if name is None:
        name = "dsm" if needs_network or table.upper or table.has_intervals else "lifemix"
    if needs_network and name != "dsm":
        raise SettingError(
            f"--search, --fast, --from-disk and settings of networks need --model dsm; got {name!r}."
        )
    return name


def _refuse_unfit(console: Console, training: TrainingTable, force: bool) -> None:
    """Show the findings about a table; refuse one to which no model should be fitted."""
    from .doctor import show_findings

    stops = [finding for finding in training.findings if finding.severity == "stop"]
    if stops and not force:
        reasons = " ".join(f"{finding.text} {finding.remedy}" for finding in stops)
        raise InputError(
            f"a model of this table would mean nothing: {reasons} To fit it nevertheless, add --force."
        )
    if not training.X.columns:
        raise InputError(
            "no column is left to predict from: each is constant, empty or left out. Add covariates. A text file must "
            "have , ; | a tab or blanks between its columns."
        )
    if not console.quiet:
        show_findings(console, training.findings, "Findings about the table")


def _fit_rows(console: Console, choice: ModelChoice, training: TrainingTable, rows: Any) -> Any:
    """Return the model fitted to rows of a table, with its progress on the console."""
    X, y = training.X.iloc[rows], training.y[rows]
    console.say(f"Fitting {choice.label} to {len(y):,} rows ...")
    model = choice.make(training.y)
    options = model.get_params(deep=False)
    if "verbose" in options:
        model.set_params(verbose=console.is_watched)
    with console.progress():
        model.fit(X, y)
    # The file does not depend on how the fit was watched and distributed.
    neutral = {"verbose": False, "n_jobs": None}
    model.set_params(**{name: value for name, value in neutral.items() if name in options})
    if composition(model):
        console.say(f"{choice.label} is {composition(model)}.")
    return model


def _evaluate(
    console: Console,
    choice: ModelChoice,
    model: Any,
    training: TrainingTable,
    train: Any,
    test: Any,
    horizons: list[float],
) -> pd.DataFrame | list[Any]:
    """Show the quality of a model on held-out rows, beside Cox regression and the curve without covariates."""
    import pandas as pd

    from ..report import check_model
    from .doctor import show_findings
    from .quality import measure, show_quality

    if not len(test):
        return []
    X, y, names = training.X.iloc[test], training.y[test], training.codes.names
    X_train, y_train = training.X.iloc[train], training.y[train]
    summary = model.training_summary_.to_target()  # as `evaluate` reads it from the model file
    choices = [choice]
    if training.options.upper is None:
        choices += [ModelChoice(name) for name in ("cox", "curve") if name != choice.name]
    tables = []
    for reference in choices:
        try:
            fitted, seed = model, choice.seed if reference is choice else None
            if reference is not choice:
                with warnings.catch_warnings(action="ignore", category=LifemixWarning):
                    fitted = reference.make(y_train).fit(X_train, y_train)
            tables.append(measure(reference.label, fitted, summary, X, y, horizons, seed))
        except Exception as error:  # the fitted model must not be lost
            console.warn(f"{reference.label} is not evaluated: {type(error).__name__}: {error}")
    if not tables:
        return []
    quality = pd.concat(tables)
    title = f"Quality on {len(test):,} rows held out from the fit"
    show_quality(console, quality, names, training.options.unit, title)
    findings = check_model(model, X, y, event_names=names, horizons=horizons)
    if not console.quiet:
        show_findings(console, findings, "Findings about the model")
    training.findings.extend(findings)
    return quality


def _fit_from_disk(
    console: Console,
    data: Path,
    output: Path,
    options: TableOptions,
    choice: ModelChoice,
    holdout: float,
) -> None:
    """Fit a model to a table on disk, write it, and evaluate it on held-out rows."""
    import pandas as pd

    from ..estimators import DeepSurvivalMachines
    from ..persistence import save
    from ..streaming import TableSource, evaluate
    from .model_file import model_metadata, table_source
    from .outcome import EventCodes
    from .quality import show_quality

    if options.time is None or options.event is None:
        raise SettingError("name the columns of the time and the event: --time and --event.")
    event, options = options.event, options.resolve(TableSource(data).columns)
    events = TableSource(data, columns=[event], categorical=[event]).blocks()
    labels = pd.concat([frame[event].drop_duplicates() for frame, _ in events]).astype(object)
    codes = EventCodes.learn(labels, event, options.censored)
    source = table_source(data, options, codes)
    share = min(holdout, _MAX_HELD_OUT / max(source.n_rows, 1))
    train, test = source.split(share, choice.seed)
    console.say(f"Fitting to about {train.n_rows:,} rows of {data.name}.")
    checkpoint = output.with_name(f"{output.stem}.checkpoint")
    watch: Any = {"checkpoint": checkpoint, "verbose": console.is_watched}
    model = DeepSurvivalMachines(random_state=choice.seed, **choice.settings, **watch).fit(train)
    if checkpoint.is_dir() and not any(checkpoint.iterdir()):
        checkpoint.rmdir()
    model.set_params(verbose=False, checkpoint=None)
    quality: Any = []
    if holdout:
        quality = evaluate(model, test, random_state=choice.seed).assign(model=choice.label)
        title = f"Quality on about {test.n_rows:,} rows held out from the fit"
        show_quality(console, quality, codes.names, options.unit, title)
    held_out = {"rows": test.n_rows, "refitted": False, "quality": quality}
    facts = {"table": data.name, "rows": source.n_rows, "held_out": held_out}
    model.metadata_ = model_metadata(options, codes, **facts)
    save(model, output)
    console.wrote(output, f": fitted to about {train.n_rows:,} rows.", **model.metadata_)
