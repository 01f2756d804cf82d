"""``lifemix fit``: from a table to a model file, evaluated on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SettingError
from .fit_steps import check, choose, measure, metadata, shown_as_warning
from .model_choice import ModelChoice, composition
from .options import Data, Fast, FromDisk, Jobs, Seed
from .output import Screen
from .paths import MODELS, TABLES, check_output, check_table_path
from .reference_models import MODEL_NAMES
from .table_options import AllOptions, TableOptions

if TYPE_CHECKING:
    from .training_table import TrainingTable

__all__ = ["fit"]

_SETTINGS = "Settings of networks, --model dsm (those not given are chosen by cross-validation)"
_MOST_HELD_OUT = 20_000
_WORTH_REFIT = 0.05  # a smaller share of rows hardly changes a model


@dataclass(frozen=True)
class _FitChoices:
    """What the user said about the fit; None leaves a choice to us."""

    model: ModelChoice
    holdout: float
    refit: bool | None
    holdout_to: Path | None
    force: bool
    any_model: bool = False  # whether the user left the model to us


def fit(
    screen: Screen,
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the model: .safetensors.")
    ],
    table: AllOptions,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(MODEL_NAMES)}. Default: lifemix, an average of networks, Cox regression, "
            "boosted trees and a forest; with settings of networks dsm."
        ),
    ] = None,
    fast: Fast = False,
    primitive: Annotated[
        str | None,
        typer.Option(
            help="Distribution of the components, such as weibull or lognormal.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", min=1, help="Number of mixture components.", rich_help_panel=_SETTINGS),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            help="Widths of the hidden layers, such as 100,50; none: linear.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(min=0, max=0.95, help="Dropout rate.", rich_help_panel=_SETTINGS)
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate.", rich_help_panel=_SETTINGS)
    ] = None,
    search: Annotated[
        bool | None,
        typer.Option(
            "--search/--no-search",
            help="Choose by cross-validation (the default of dsm), or use defaults.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Size of the ensemble. Default: by the number of rows.",
            rich_help_panel=_SETTINGS,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=0, help="Maximum number of epochs. Default: 200.", rich_help_panel=_SETTINGS
        ),
    ] = None,
    holdout: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of rows held out for evaluation; 0: none.")
    ] = 0.2,
    refit: Annotated[
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Fit the saved model to all rows, or leave out the held-out ones. Default: all, where these are many.",
        ),
    ] = None,
    holdout_to: Annotated[
        Path | None,
        typer.Option(
            help="Write the held-out rows to this table, and leave them out of the saved model."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Fit even where the doctor's findings say stop.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Learn from the whole history of visits (--id, --visit): recurrent or attention."
        ),
    ] = None,
    jobs: Jobs = 1,
    from_disk: FromDisk = False,
    seed: Seed = 0,
) -> None:
    """Fit a model to a table and write it to a file.

    [bold]lifemix fit patients.csv --time days --event died -o model.safetensors[/]
    """
    if not data.is_dir():
        check_table_path(data)
    check_output(output, MODELS, (data,))
    if holdout_to is not None:
        check_output(holdout_to, TABLES, (data, output))
        if refit or holdout == 0:
            raise SettingError(
                "--holdout-to needs held-out rows: leave out --refit and --holdout 0."
            )
    settings = _read_settings(
        {
            "primitive": primitive,
            "k": k,
            "hidden": hidden,
            "dropout": dropout,
            "learning_rate": learning_rate,
        }
    )
    if encoder is not None:
        from .fit_histories import fit_histories

        if holdout_to is not None or table.visit is None:
            raise SettingError("--encoder needs --visit, and there is no --holdout-to with it.")
        own: dict[str, Any] = {
            "members": members,
            "epochs": epochs,
            "holdout": holdout,
            "seed": seed,
        }
        fit_histories(screen, data, table, output, encoder=encoder, settings=settings, **own)
        return
    _check_from_disk(from_disk, data, refit, holdout_to)
    choice = ModelChoice.of(
        model or ("dsm" if from_disk else None),
        settings,
        fast=fast,
        search=False if from_disk and search is None else search,
        members=members,
        epochs=epochs,
        intervals=table.upper is not None,
        jobs=jobs,
        seed=seed,
    )
    choices = _FitChoices(choice, holdout, refit, holdout_to, force, any_model=model is None)
    if from_disk:
        from .from_disk import fit_from_disk

        fit_from_disk(screen, data, table, output, choice, holdout)
        return
    _run(screen, data, table, output, choices)


def _check_from_disk(
    from_disk: bool, data: Path, refit: bool | None, holdout_to: Path | None
) -> None:
    if data.is_dir() and not from_disk:
        raise SettingError(f"{data} is a folder: add --from-disk to read its files in blocks.")
    if from_disk and (refit or holdout_to is not None):
        raise SettingError(
            "--from-disk cannot go with --refit and --holdout-to, which need the table in memory."
        )


def _run(
    screen: Screen, data: Path, table: TableOptions, output: Path, choices: _FitChoices
) -> None:
    import numpy as np

    from ..persistence import save
    from ..splits import default_horizons
    from .findings import finding_states, refuse_stops, show_findings, training_findings
    from .read_table import write_table
    from .start_stop import say_paths_done
    from .training_table import open_training_table

    training = open_training_table(screen, data, table)
    paths = "path" in (training.y.dtype.names or ())
    if paths and choices.any_model:  # LifeMix takes one row per subject
        choices = replace(choices, model=replace(choices.model, name="dsm"))
    findings = training_findings(training)
    if not choices.force:
        refuse_stops(findings)
    show_findings(screen, findings, "Findings about the table")
    train, test = _split(training, choices)
    everything = np.arange(len(training.y))
    saved_rows = everything if _uses_all_rows(choices, len(test), len(everything)) else train
    if choices.model.name == "lifemix":
        _answer_first(screen, training, train, test, data.name, output, choices)
    settings, candidates = choose(screen, training, train, choices.model)
    model = evaluated = _fit(screen, settings, training, train, choices.model)
    if len(saved_rows) > len(train):
        model = _fit(screen, settings, training, saved_rows, choices.model)
    _say_parts(screen, model)
    held_out: dict[str, Any] = {
        "rows": len(test),
        "refitted": model is not evaluated,
        "quality": [],
    }
    model.metadata_ = metadata(training, data.name, held_out)
    save(model, output)  # whatever happens when it is measured
    if choices.holdout_to is not None:
        write_table(training.rows.iloc[test], choices.holdout_to)
    if len(test):
        horizons = default_horizons(training.y[saved_rows])
        with shown_as_warning(screen, f"{output} is written, but its quality is not known"):
            held_out["quality"] = measure(
                screen, evaluated, training, train, test, horizons.tolist(), choices.model
            )
            model.metadata_ = metadata(training, data.name, held_out)
            save(model, output)
        findings = [*findings, *check(screen, evaluated, training, test, horizons)]
    say_done = say_paths_done if paths else _say_done
    say_done(screen, data, output, held_out, choices.holdout_to)
    result: dict[str, Any] = {
        "output": str(output),
        "model": choices.model.name,
        "settings": settings,
    }
    result |= {"candidates": candidates, "parts": getattr(model, "weights_", None)}
    screen.result({**result, "findings": finding_states(findings), **model.metadata_})


def _answer_first(
    screen: Screen,
    training: TrainingTable,
    train: Any,
    test: Any,
    table: str,
    output: Path,
    choices: _FitChoices,
) -> None:
    """Fit one network, which takes a moment, say how good it is, and write it where no model would be lost."""
    from ..persistence import save
    from ..splits import default_horizons
    from .quality import first_lines, measure_models

    screen.say("\nFirst answer, by one network ...")
    with shown_as_warning(screen, "there is no first answer"):
        model = choices.model.first.fit(screen, training, train, {})
        if not output.exists():
            model.metadata_ = metadata(
                training, table, {"rows": len(test), "refitted": False, "quality": []}
            )
            save(model, output)
            screen.say(f"  {output} holds it until the better model is ready.", markup=False)
        if len(test):
            known = model.training_summary_.to_target().to_array()
            horizons = default_horizons(training.y[train]).tolist()
            (quality,) = measure_models(
                {"one network": model}, known, training.X.iloc[test], training.y[test], horizons
            )
            for line in first_lines(quality, training.codes.names):
                screen.say(f"  {line}", markup=False)


def _read_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as the estimator takes them, checked before any work is done."""
    settings = {name: value for name, value in given.items() if value is not None}
    if "hidden" in settings:
        text = settings["hidden"].strip().lower()
        try:
            settings["hidden"] = (
                () if text in ("none", "") else tuple(int(width) for width in text.split(","))
            )
        except ValueError:
            raise SettingError(
                f"--hidden must be widths such as 100 or 100,50, or none; got {text!r}."
            ) from None
    if settings:
        from ..checks import check_settings
        from ..estimators import DeepSurvivalMachines

        check_settings(DeepSurvivalMachines(**settings))
    return settings


def _split(training: TrainingTable, choices: _FitChoices) -> tuple[Any, Any]:
    """Return the training rows and the held-out rows."""
    import numpy as np

    from ..splits import train_validation_split

    rows = np.arange(len(training.y))
    if choices.holdout == 0:
        return rows, rows[:0]
    share = min(choices.holdout, _MOST_HELD_OUT / len(rows))
    return train_validation_split(training.y, fraction=share, random_state=choices.model.seed)


def _uses_all_rows(choices: _FitChoices, held_out: int, rows: int) -> bool:
    """Tell whether the saved model is fitted to the held-out rows too."""
    if choices.holdout_to is not None:
        return False
    return held_out > _WORTH_REFIT * rows if choices.refit is None else choices.refit


def _fit(
    screen: Screen,
    settings: dict[str, Any],
    training: TrainingTable,
    rows: Any,
    choice: ModelChoice,
) -> Any:
    which = "all " if len(rows) == len(training.y) else ""
    screen.say(f"Fitting {choice.label} to {which}{len(rows):,} rows ...")
    return choice.fit(screen, training, rows, settings)


def _say_parts(screen: Screen, model: Any) -> None:
    lines = composition(model)
    if lines:
        screen.say(f"LifeMix is {lines[0]}:\n  {lines[1]}.", markup=False)


def _say_done(
    screen: Screen, data: Path, output: Path, held_out: dict[str, Any], rest: Path | None
) -> None:
    rows = held_out["rows"]
    if held_out["refitted"]:
        how = "fitted to all rows, with the settings evaluated above"
    else:
        how = (
            f"fitted without the {rows:,} held-out rows"
            if rows
            else "fitted to all rows, not evaluated"
        )
    screen.say()
    screen.wrote(output, f" ({output.stat().st_size / 1e6:.1f} MB): {how}.")
    if rest is not None:
        screen.say(
            f"Next: lifemix report {output} {rest} -o report.html, on the rows held out.",
            markup=False,
        )
        return
    screen.say(
        f"Next: lifemix predict {output} NEW_ROWS{data.suffix} -o predictions.csv", markup=False
    )
    screen.say(
        f"For a report on rows that the model has not seen, fit with --holdout-to held_out.csv, then: lifemix report "
        f"{output} held_out.csv -o report.html",
        markup=False,
    )
