"""The work of ``lifemix fit``: read, choose settings, measure on held-out rows, fit on all, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lifemix

from ..errors import InputError, SettingError
from ..estimators import DeepSurvivalMachines
from ..estimators.settings import check_settings
from ..persistence import save
from ..splits import train_validation_split
from ..target import as_target
from .baselines import baselines_for
from .choosing import SEARCH_ROWS, batch_size, choose
from .doctor import examine_model, examine_table, refuse_stops, show_findings
from .quality import Quality, event_horizons, measure
from .roles import Roles
from .screen import Screen, plain
from .showing import settings_text, show_columns, show_outcome, show_quality
from .study import Study, learn_study
from .tables import read_table

__all__ = ["FitOptions", "run_fit"]

_LEAST_ROWS, _LEAST_EVENTS = 30, 10
_MOST_HELD_OUT = 20_000
_MANY_BYTES = 50_000_000


@dataclass(frozen=True)
class FitOptions:
    """What the user said about the fit; ``told`` are settings of the model."""

    told: dict[str, Any]
    search: bool
    members: int
    epochs: int
    holdout: float
    refit: bool
    force: bool
    seed: int


def run_fit(
    screen: Screen,
    data: Path,
    output: Path,
    roles: Roles,
    censored: Sequence[str],
    encoding: str | None,
    skip_incomplete: bool,
    options: FitOptions,
) -> None:
    """Fit a model to a table and write it."""
    told = read_settings(options.told)
    study = open_study(screen, data, roles, censored, encoding, skip_incomplete)
    check_size(study)
    findings = examine_table(study.X, study.y)
    show_findings(screen, findings, "What the doctor sees in the table")
    if not options.force:
        refuse_stops(findings)
    train, test = _split(study, options)
    settings, scores = _choose(screen, study, train, told, options)
    model, measured = _model(settings, len(train), options), []
    if len(test):
        fitted = _fit(screen, model, study, train, f"Fitting to {len(train):,} rows")
        measured = _measure(screen, fitted, study, train, test, options.seed)
        about = examine_model(fitted, study.X.iloc[test], study.y[test])
        show_findings(screen, about, "What the doctor sees in the model")
        findings += about
    if not len(test) or options.refit:
        model = _model(settings, len(study.y), options)
        _fit(screen, model, study, np.arange(len(study.y)), f"Fitting to all {len(study.y):,} rows")
    model.metadata_ = _metadata(study, data.name, measured, options)
    save(model, output)
    note = "" if options.refit or not len(test) else f" It was fitted without the {len(test):,} rows held out."
    screen.say(f"\n[green]Wrote {output}[/] ({output.stat().st_size / 1e6:.1f} MB).{note}")
    screen.say(f"Next: lifemix predict {output} {data} -o predictions.csv")
    screen.result(
        {"output": str(output), "settings": settings, "candidates": scores, "findings": findings, **model.metadata_}
    )


def read_settings(told: dict[str, Any]) -> dict[str, Any]:
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


def open_study(
    screen: Screen, data: Path, roles: Roles, censored: Sequence[str], encoding: str | None, skip_incomplete: bool
) -> Study:
    """Read a table to learn from, and show what was understood."""
    if data.is_file() and data.stat().st_size > _MANY_BYTES:
        screen.say(f"Reading {data.name}, {data.stat().st_size / 1e6:.0f} MB ...")
    table = read_table(data, as_text=[roles.id] if roles.id else [], missing=roles.missing, encoding=encoding)
    screen.say(f"[bold]{table}[/]")
    study = learn_study(table, roles, censored, skip_incomplete)
    show_outcome(screen, study)
    show_columns(screen, study.facts)
    return study


def check_size(study: Study) -> None:
    """Refuse tables from which nothing can be learnt that could be checked."""
    counts = np.bincount(study.y["event"], minlength=2)
    events = dict(zip(study.codes.names, counts[1:], strict=False))
    if len(study.y) < _LEAST_ROWS or counts[1:].sum() == 0:
        raise InputError(
            f"{len(study.y)} rows with {int(counts[1:].sum())} events are too few to fit a model and to check it; "
            f"expected at least {_LEAST_ROWS} rows, better hundreds, and {_LEAST_EVENTS} events of each kind."
        )
    rare = {name: int(count) for name, count in events.items() if count < _LEAST_EVENTS}
    if rare:
        what = ", ".join(f"{name}: {count}" for name, count in rare.items())
        raise InputError(
            f"too few events to learn from ({what}); expected at least {_LEAST_EVENTS} of each kind. Join kinds, count "
            "rare ones as censored (--censored), or collect more rows."
        )


def _split(study: Study, options: FitOptions) -> tuple[Any, Any]:
    rows = np.arange(len(study.y))
    if options.holdout == 0:
        return rows, rows[:0]
    share = min(options.holdout, _MOST_HELD_OUT / len(rows))
    return train_validation_split(study.y, fraction=share, random_state=options.seed)


def _choose(
    screen: Screen, study: Study, train: Any, told: dict[str, Any], options: FitOptions
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if not options.search:
        return told, []
    some = f" ({SEARCH_ROWS:,} of the rows)" if len(train) > SEARCH_ROWS else ""
    screen.say(f"\nChoosing settings by 3-fold cross-validation{some} ...")
    settings, scores = choose(study.X.iloc[train], study.y[train], told, options.seed, screen.progress)
    screen.say(f"  chosen: {settings_text(settings)}")
    return settings, scores


def _model(settings: dict[str, Any], n_rows: int, options: FitOptions) -> DeepSurvivalMachines:
    return DeepSurvivalMachines(
        **settings,
        n_members=options.members,
        max_epochs=options.epochs,
        batch_size=batch_size(n_rows),
        random_state=options.seed,
    )


def _fit(screen: Screen, model: DeepSurvivalMachines, study: Study, rows: Any, what: str) -> DeepSurvivalMachines:
    many = f", {model.n_members} members" if model.n_members > 1 else ""
    screen.say(f"{what}{many} ...")
    return model.set_params(verbose=screen.progress).fit(study.X.iloc[rows], study.y[rows])


def _measure(
    screen: Screen, model: DeepSurvivalMachines, study: Study, train: Any, test: Any, seed: int
) -> list[Quality]:
    y_train = study.y[train]
    models = {"Deep Survival Machines": model}
    models |= baselines_for(study.X.iloc[train], y_train)
    measured = measure(models, y_train, study.X.iloc[test], study.y[test], event_horizons(y_train), seed)
    show_quality(screen, measured, study.codes.names, study.roles.time_unit)
    return measured


def _metadata(study: Study, name: str, measured: list[Quality], options: FitOptions) -> dict[str, Any]:
    target = as_target(study.y)
    return plain(
        {
            "lifemix": lifemix.__version__,
            "table": name,
            "rows": len(target),
            **study.to_state(),
            "held_out": {
                "share": options.holdout,
                "refitted": options.refit,
                "quality": [q.to_state() for q in measured],
            },
        }
    )
