"""``lifemix fit``: from a table to a model file, evaluated on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SettingError
from .memory_limit import Memory
from .options import Data, Seed
from .output import Screen, plain, settings_text
from .paths import MODELS, TABLES, check_output, check_table_path
from .table_options import AllOptions, TableOptions

if TYPE_CHECKING:
    from ..estimators import DeepSurvivalMachines
    from .quality import ModelQuality
    from .training_table import TrainingTable

__all__ = ["fit"]

_SETTINGS = "Settings (those not given are chosen by cross-validation)"
_MOST_HELD_OUT = 20_000
_WORTH_REFIT = 0.05  # a smaller share of rows hardly changes a model


@dataclass(frozen=True)
class _FitChoices:
    """What the user said about the fit; None leaves a choice to us."""

    settings: dict[str, Any]
    search: bool
    members: int | None
    epochs: int
    holdout: float
    refit: bool | None
    holdout_to: Path | None
    force: bool
    seed: int


def fit(
    screen: Screen,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model: .safetensors.")],
    table: AllOptions,
    primitive: Annotated[
        str | None,
        typer.Option(help="Distribution of the components, such as weibull or lognormal.", rich_help_panel=_SETTINGS),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Number of mixture components.", rich_help_panel=_SETTINGS)
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(help="Widths of the hidden layers, such as 100,50; none: linear.", rich_help_panel=_SETTINGS),
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(min=0, max=0.95, help="Dropout rate.", rich_help_panel=_SETTINGS)
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate.", rich_help_panel=_SETTINGS)] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search/--no-search", help="Choose by cross-validation, or use defaults.", rich_help_panel=_SETTINGS
        ),
    ] = True,
    members: Annotated[
        int | None, typer.Option(min=1, help="Size of the ensemble. Default: 4, or 1 beyond 200,000 rows.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=0, help="Maximum number of epochs.")] = 200,
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
        typer.Option(help="Write the held-out rows to this table, and leave them out of the saved model."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fit even where the doctor's findings say stop.")] = False,
    memory: Memory = None,
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
            raise SettingError("--holdout-to needs held-out rows: leave out --refit and --holdout 0.")
    settings = _read_settings(
        {"primitive": primitive, "k": k, "hidden": hidden, "dropout": dropout, "learning_rate": learning_rate}
    )
    choices = _FitChoices(settings, search, members, epochs, holdout, refit, holdout_to, force, seed)
    from .large_fit import fit_from_disk, fits_from_disk

    if fits_from_disk(screen, data, memory):
        fit_from_disk(screen, data, table, output, choices)
    else:
        _run(screen, data, table, output, choices)


def _run(screen: Screen, data: Path, table: TableOptions, output: Path, choices: _FitChoices) -> None:
    import numpy as np

    from ..persistence import save
    from ..report import check_model
    from ..splits import default_horizons
    from .findings import finding_states, refuse_stops, show_findings, training_findings
    from .table_files import write_table
    from .training_table import open_training_table

    training = open_training_table(screen, data, table)
    names = training.codes.names
    findings = training_findings(training)
    if not choices.force:
        refuse_stops(findings)
    show_findings(screen, findings, "Findings about the table")
    train, test = _split(training, choices)
    everything = np.arange(len(training.y))
    saved_rows = everything if _uses_all_rows(choices, len(test), len(everything)) else train
    settings, candidates = _choose(screen, training, train, choices)
    model = evaluated = _fit(screen, settings, training, train, choices)
    if len(saved_rows) > len(train):
        model = _fit(screen, settings, training, saved_rows, choices)
    held_out: dict[str, Any] = {"rows": len(test), "refitted": model is not evaluated, "quality": []}
    model.metadata_ = _metadata(training, data.name, held_out)
    save(model, output)  # whatever happens when it is measured
    if choices.holdout_to is not None:
        write_table(training.rows.iloc[test], choices.holdout_to)
    if len(test):
        horizons = default_horizons(training.y[saved_rows])
        with _shown_as_warning(screen, f"{output} is written, but its quality is not known"):
            held_out["quality"] = _measure(screen, evaluated, training, train, test, horizons.tolist(), choices.seed)
            model.metadata_ = _metadata(training, data.name, held_out)
            save(model, output)
        with _shown_as_warning(screen, "the doctor has not seen the model"):
            part = training.X.iloc[test], training.y[test]
            about = check_model(evaluated, *part, event_names=names, horizons=horizons)
            show_findings(screen, about, "Findings about the model")
            findings = [*findings, *about]
    _say_done(screen, data, output, held_out, choices.holdout_to)
    result = {"output": str(output), "settings": settings, "candidates": candidates}
    screen.result({**result, "findings": finding_states(findings), **model.metadata_})


@contextmanager
def _shown_as_warning(screen: Screen, consequence: str) -> Iterator[None]:
    """Show an error as one line: the model is fitted and written."""
    try:
        yield
    except Exception as error:
        screen.warn(f"{consequence}: {type(error).__name__}: {error}")


def _read_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as the estimator takes them, checked before any work is done."""
    settings = {name: value for name, value in given.items() if value is not None}
    if "hidden" in settings:
        text = settings["hidden"].strip().lower()
        try:
            settings["hidden"] = () if text in ("none", "") else tuple(int(width) for width in text.split(","))
        except ValueError:
            raise SettingError(f"--hidden must be widths such as 100 or 100,50, or none; got {text!r}.") from None
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
    return train_validation_split(training.y, fraction=share, random_state=choices.seed)


def _uses_all_rows(choices: _FitChoices, held_out: int, rows: int) -> bool:
    """Tell whether the saved model is fitted to the held-out rows too."""
    if choices.holdout_to is not None:
        return False
    return held_out > _WORTH_REFIT * rows if choices.refit is None else choices.refit


def _choose(
    screen: Screen, training: TrainingTable, train: Any, choices: _FitChoices
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings, and the scores of those that they were chosen from."""
    if not choices.search:
        return choices.settings, []
    from .settings_search import SEARCH_ROWS, choose_settings

    sample = f" on a sample of {SEARCH_ROWS:,} rows" if len(train) > SEARCH_ROWS else ""
    screen.say(f"\nChoosing settings by 3-fold cross-validation{sample} ...")
    X, y = training.X.iloc[train], training.y[train]
    settings, candidates = choose_settings(X, y, choices.settings, choices.seed, screen.progress)
    screen.say(f"  chosen: {settings_text(settings)}")
    return settings, candidates


def _fit(
    screen: Screen, settings: dict[str, Any], training: TrainingTable, rows: Any, choices: _FitChoices
) -> DeepSurvivalMachines:
    from ..estimators import DeepSurvivalMachines
    from .epoch_lines import EpochLines
    from .settings_search import batch_size, ensemble_size

    members = choices.members or ensemble_size(len(training.y))
    model = DeepSurvivalMachines(
        **settings,
        n_members=members,
        max_epochs=choices.epochs,
        batch_size=batch_size(len(rows)),
        random_state=choices.seed,
        verbose=screen.progress,
        callbacks=[] if screen.progress or screen.quiet else [EpochLines(screen)],
    )
    which = "all " if len(rows) == len(training.y) else ""
    screen.say(f"Fitting to {which}{len(rows):,} rows{f', {members} members' if members > 1 else ''} ...")
    model.fit(training.X.iloc[rows], training.y[rows])
    return model.set_params(verbose=False, callbacks=None)


def _measure(
    screen: Screen,
    model: DeepSurvivalMachines,
    training: TrainingTable,
    train: Any,
    test: Any,
    horizons: list[float],
    seed: int,
) -> list[ModelQuality]:
    """Evaluate a model on held-out rows."""
    from ..target import as_target
    from .quality import measure_models, show_quality
    from .reference_models import fit_references

    X, y = training.X, training.y
    known = model.training_summary_.to_target().to_array()  # as ``evaluate`` has it from the file
    part = known, X.iloc[test], y[test], horizons
    quality = measure_models({"Deep Survival Machines": model}, *part, seed)
    references, left_out = fit_references(X.iloc[train], y[train])
    for name, reference in references.items():
        try:
            quality += measure_models({name: reference}, *part)
        except Exception as error:
            left_out[name] = f"{type(error).__name__}: {error}"
    for name, reason in left_out.items():
        screen.warn(f"{name} is left out of the comparison: {reason}")
    held_out = as_target(y[test])
    whose = "" if held_out.subject is None else f" of {held_out.n_subjects:,} subjects"
    show_quality(screen, quality, training.codes.names, training.options.time_unit, f"{whose} held out from the fit")
    return quality


def _metadata(training: TrainingTable, table: str, held_out: dict[str, Any]) -> dict[str, Any]:
    """Return what the model file remembers, in JSON's types."""
    import lifemix

    quality = [each.to_state() for each in held_out["quality"]]
    found: dict[str, Any] = plain(
        {
            "lifemix": lifemix.__version__,
            "table": table,
            "rows": len(training.y),
            **training.to_state(),
            "held_out": {**held_out, "quality": quality},
        }
    )
    return found


def _say_done(screen: Screen, data: Path, output: Path, held_out: dict[str, Any], rest: Path | None) -> None:
    rows = held_out["rows"]
    if held_out["refitted"]:
        how = "fitted to all rows, with the settings evaluated above"
    else:
        how = f"fitted without the {rows:,} held-out rows" if rows else "fitted to all rows, not evaluated"
    screen.say()
    screen.wrote(output, f" ({output.stat().st_size / 1e6:.1f} MB): {how}.")
    if rest is not None:
        screen.say(f"Next: lifemix report {output} {rest} -o report.html, on the rows held out.", markup=False)
        return
    screen.say(f"Next: lifemix predict {output} NEW_ROWS{data.suffix} -o predictions.csv", markup=False)
    screen.say(
        f"For a report on rows that the model has not seen, fit with --holdout-to held_out.csv, then: lifemix report "
        f"{output} held_out.csv -o report.html",
        markup=False,
    )
