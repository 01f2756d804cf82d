"""The work of ``lifemix compare``: the same folds for every model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import baselines
from ..errors import InputError, LifemixError, LifemixWarning, SettingError
from ..estimators import DeepSurvivalMachines
from ..splits import EventStratifiedKFold, train_validation_split
from ..target import as_target
from .choosing import batch_size, choose
from .quality import Quality, event_horizons, measure
from .screen import Screen
from .showing import number
from .study import Study
from .understanding import Source, open_study

__all__ = ["CompareOptions", "run_compare"]

_NAMES = {
    "dsm": "Deep Survival Machines",
    "cox": "Cox regression",
    "fine-gray": "Fine-Gray",
    "forest": "random survival forest",
    "boosting": "gradient boosting",
    "deepsurv": "DeepSurv",
    "deephit": "DeepHit",
    "curve": "no covariates",
}
_DEFAULT = ("dsm", "cox", "forest", "curve")


@dataclass(frozen=True)
class CompareOptions:
    """What the user said about the comparison."""

    models: list[str]
    folds: int
    rows: int
    search: bool
    members: int
    times: list[float]
    seed: int


@dataclass
class _Line:
    """One model: its measures fold by fold, and the seconds of its fits."""

    name: str
    measured: list[Quality]
    seconds: list[float]
    failure: str = ""

    def values(self, metric: str, event: int) -> list[float]:
        return [quality.mean(metric, event) for quality in self.measured]


def run_compare(screen: Screen, source: Source, options: CompareOptions) -> None:
    """Measure every model on every fold, and show the means."""
    chosen = _chosen(options.models)
    study = _sample(screen, open_study(screen, source), options)
    at = options.times or event_horizons(study.y)
    makers = {name: _maker(name, study, options) for name in chosen}
    lines = {name: _Line(_NAMES[name], [], []) for name in chosen}
    folds = list(EventStratifiedKFold(options.folds, options.seed).split(study.X, study.y))
    screen.say(f"\nComparing {len(chosen)} models in {len(folds)} folds ...")
    with screen.bar("comparing", len(folds) * len(chosen)) as advance:
        for train, test in folds:
            for name, line in lines.items():
                if not line.failure:
                    _run_fold(line, makers[name], study, train, test, at)
                if line.failure and options.models:
                    raise InputError(f"{name} cannot be compared on this table: {line.failure}")
                advance(1)
    for line in lines.values():
        if line.failure:
            screen.warn(f"{line.name} is left out: {line.failure}")
    _show(screen, list(lines.values()), study, at)
    screen.result({"horizons": at, "models": {name: _state(line) for name, line in lines.items()}})


def _sample(screen: Screen, study: Study, options: CompareOptions) -> Study:
    """Return the study, or as many of its rows as the user wants to wait for."""
    if len(study.y) <= options.rows:
        return study
    screen.warn(f"{options.rows:,} of {len(study.y):,} rows, drawn at random, are compared; --rows takes more.")
    _, rows = train_validation_split(study.y, fraction=options.rows / len(study.y), random_state=options.seed)
    return replace(study, X=study.X.iloc[rows].reset_index(drop=True), y=study.y[rows], table=study.table.iloc[rows])


def _chosen(models: Sequence[str]) -> list[str]:
    names = [part.strip().lower() for text in models for part in text.split(",") if part.strip()]
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise SettingError(f"--models must be among {', '.join(_NAMES)}; got {unknown[0]!r}.")
    return list(dict.fromkeys(names)) or list(_DEFAULT)


def _maker(name: str, study: Study, options: CompareOptions) -> Callable[[Any, Any], Any]:
    """Return a function that fits a model to rows."""
    if name == "dsm":
        return lambda X, y: _fit_dsm(X, y, options)
    several = as_target(study.y).n_events > 1
    own: dict[str, Callable[[], Any]] = {
        "cox": baselines.CoxPH,
        "forest": lambda: baselines.RandomSurvivalForest(min_samples_leaf=15, random_state=options.seed),
        "boosting": lambda: baselines.GradientBoosting(random_state=options.seed),
        "deepsurv": lambda: baselines.DeepSurv(random_state=options.seed),
    }
    if name in own:
        return lambda X, y: (baselines.CauseSpecific(own[name]()) if several else own[name]()).fit(X, y)
    whole: dict[str, Callable[[], Any]] = {
        "fine-gray": baselines.FineGray,
        "deephit": lambda: baselines.DeepHit(random_state=options.seed),
        "curve": baselines.AalenJohansen if several else baselines.KaplanMeier,
    }
    return lambda X, y: whole[name]().fit(X, y)


def _fit_dsm(X: Any, y: Any, options: CompareOptions) -> DeepSurvivalMachines:
    settings = choose(X, y, {}, options.seed, False)[0] if options.search else {}
    model = DeepSurvivalMachines(
        **settings, n_members=options.members, batch_size=batch_size(len(y)), random_state=options.seed
    )
    return model.fit(X, y)


def _run_fold(
    line: _Line, make: Callable[[Any, Any], Any], study: Study, train: Any, test: Any, at: list[float]
) -> None:
    y_train, X_test = study.y[train], study.X.iloc[test]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)
            model = make(study.X.iloc[train], y_train)
        line.seconds.append(time.perf_counter() - start)
        line.measured += measure({line.name: model}, y_train, X_test, study.y[test], at, intervals=False)
    except LifemixError as error:
        line.failure = str(error)


def _show(screen: Screen, lines: list[_Line], study: Study, at: list[float]) -> None:
    unit = f" {study.roles.time_unit}" if study.roles.time_unit else ""
    where = ", ".join(f"{t:.4g}" for t in at) + unit
    head = ("model", "mean C^td", "mean Brier", "integrated Brier", "log-likelihood a row", "seconds")
    for event, name in enumerate(study.codes.names, 1):
        title = f"\n{name}, at {where}; mean and standard deviation over folds"
        table = screen.table(title, *head, right=(1, 2, 3, 4, 5))
        for line in (line for line in lines if not line.failure):
            cells = [_spread(line.values(metric, event)) for metric in ("concordance", "brier", "integrated_brier")]
            table.add_row(line.name, *cells, _spread(_likelihoods(line)), f"{np.mean(line.seconds):.2f}")
        screen.show(table)
    first = next((quality.without for line in lines for quality in line.measured if quality.without), "")
    if first:
        screen.show(f"  {first}.")
    screen.show(
        "  [dim]C^td: 0.5 is chance, 1 a perfect order. Brier: lower is better. Log-likelihood: higher is better.[/]"
    )


def _likelihoods(line: _Line) -> list[float]:
    return [float("nan") if q.log_likelihood is None else q.log_likelihood for q in line.measured]


def _spread(values: list[float]) -> str:
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return "–"
    return f"{np.mean(known):.3f} ± {np.std(known, ddof=1):.3f}" if len(known) > 1 else number(known[0])


def _state(line: _Line) -> dict[str, Any]:
    if line.failure:
        return {"failure": line.failure}
    return {"seconds": line.seconds, "folds": [quality.to_state() for quality in line.measured]}
