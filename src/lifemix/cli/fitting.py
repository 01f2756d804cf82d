"""The work of ``lifemix fit``: read, choose settings, measure on held-out rows, fit on all, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

import lifemix

from ..checks import check_settings
from ..errors import SettingError
from ..estimators import DeepSurvivalMachines
from ..persistence import save
from ..splits import train_validation_split
from .baselines import baselines_for
from .choosing import SEARCH_ROWS, batch_size, choose, ensemble_size
from .doctor import examine_model, examine_table, refuse_stops, show_findings
from .quality import Quality, event_horizons, measure
from .screen import Screen, plain
from .showing import settings_text, show_quality
from .study import Study
from .tables import write_table
from .understanding import Source, open_study

__all__ = ["FitOptions", "run_fit"]

_MOST_HELD_OUT = 20_000
_WORTH_REFIT = 0.05  # a smaller share of rows hardly changes a model


@dataclass(frozen=True)
class FitOptions:
    """What the user said about the fit; ``told`` are settings of the model, None leaves a choice to us."""

    told: dict[str, Any]
    search: bool
    members: int | None
    epochs: int
    holdout: float
    refit: bool | None
    holdout_to: Path | None
    force: bool
    seed: int


def run_fit(screen: Screen, source: Source, output: Path, options: FitOptions) -> None:
    """Fit a model to a table and write it."""
    told = _read_settings(options.told)
    study = open_study(screen, source)
    findings = examine_table(study.X, study.y)
    if not options.force:
        refuse_stops(findings)
    show_findings(screen, findings, "What the doctor sees in the table")
    train, test = _split(study, options)
    settings, scores = _choose(screen, study, train, told, options)
    measured: list[Quality] = []
    if len(test):
        model = _fit(screen, settings, study, train, options)
        measured = _measure(screen, model, study, train, test, options.seed)
        about = examine_model(model, study.X.iloc[test], study.y[test])
        show_findings(screen, about, "What the doctor sees in the model")
        findings += about
    refit = _wants_refit(options, len(test), len(study.y))
    if refit or not len(test):
        model = _fit(screen, settings, study, np.arange(len(study.y)), options)
    model.metadata_ = _metadata(study, source.path.name, measured, len(test), refit)
    if options.holdout_to is not None:
        write_table(study.table.iloc[test], options.holdout_to)
    save(model, output)
    _say_done(screen, source.path, output, len(test), refit)
    screen.result(
        {"output": str(output), "settings": settings, "candidates": scores, "findings": findings, **model.metadata_}
    )


def _read_settings(told: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as the estimator takes them, checked before any work is done."""
    settings = dict(told)
    if "hidden" in settings:
        text = settings["hidden"].strip().lower()
        try:
            settings["hidden"] = () if text in ("none", "") else tuple(int(width) for width in text.split(","))
        except ValueError:
            raise SettingError(f"--hidden must be widths such as 100 or 100,50, or none; got {text!r}.") from None
    check_settings(DeepSurvivalMachines(**settings))
    return settings


def _split(study: Study, options: FitOptions) -> tuple[Any, Any]:
    """Return the rows to fit and the rows to measure."""
    rows = np.arange(len(study.y))
    if options.holdout == 0:
        return rows, rows[:0]
    share = min(options.holdout, _MOST_HELD_OUT / len(rows))
    return train_validation_split(study.y, fraction=share, random_state=options.seed)


def _wants_refit(options: FitOptions, held_out: int, rows: int) -> bool:
    if options.holdout_to is not None:
        return False
    return held_out > _WORTH_REFIT * rows if options.refit is None else options.refit


def _choose(
    screen: Screen, study: Study, train: Any, told: dict[str, Any], options: FitOptions
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if not options.search:
        return told, []
    some = f" on {SEARCH_ROWS:,} of the rows" if len(train) > SEARCH_ROWS else ""
    screen.say(f"\nChoosing settings by 3-fold cross-validation{some} ...")
    settings, scores = choose(study.X.iloc[train], study.y[train], told, options.seed, screen.progress)
    screen.say(f"  chosen: {settings_text(settings)}")
    return settings, scores


def _fit(
    screen: Screen, settings: dict[str, Any], study: Study, rows: Any, options: FitOptions
) -> DeepSurvivalMachines:
    members = options.members or ensemble_size(len(study.y))
    model = DeepSurvivalMachines(
        **settings,
        n_members=members,
        max_epochs=options.epochs,
        batch_size=batch_size(len(rows)),
        random_state=options.seed,
        verbose=screen.progress,
    )
    which = "all " if len(rows) == len(study.y) else ""
    screen.say(f"Fitting to {which}{len(rows):,} rows{f', {members} members' if members > 1 else ''} ...")
    model.fit(study.X.iloc[rows], study.y[rows])
    return model.set_params(verbose=False)


def _measure(
    screen: Screen, model: DeepSurvivalMachines, study: Study, train: Any, test: Any, seed: int
) -> list[Quality]:
    y_train = study.y[train]
    models = {"Deep Survival Machines": model} | baselines_for(study.X.iloc[train], y_train)
    measured = measure(models, y_train, study.X.iloc[test], study.y[test], event_horizons(y_train), seed)
    show_quality(screen, measured, study.codes.names, study.roles.time_unit)
    return measured


def _metadata(study: Study, name: str, measured: list[Quality], held_out: int, refit: bool) -> dict[str, Any]:
    quality = [one.to_state() for one in measured]
    found: dict[str, Any] = plain(
        {
            "lifemix": lifemix.__version__,
            "table": name,
            "rows": len(study.y),
            **study.to_state(),
            "held_out": {"rows": held_out, "refitted": refit, "quality": quality},
        }
    )
    return found


def _say_done(screen: Screen, data: Path, output: Path, held_out: int, refit: bool) -> None:
    if held_out and refit:
        how = "fitted to all rows, the settings as measured above"
    else:
        how = f"fitted without the {held_out:,} rows held out" if held_out else "fitted to all rows, not measured"
    screen.say(f"\n[green]Wrote {escape(str(output))}[/] ({output.stat().st_size / 1e6:.1f} MB): {how}.")
    screen.say(escape(f"Next: lifemix predict {output} {data} -o predictions.csv"))
