"""``lifemix compare``: Deep Survival Machines and other models, by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, SettingError
from .options import Data, Seed, Times, split_names
from .output import Screen, at_times, shown_number
from .paths import check_table_path
from .reference_models import MODEL_NAMES, make_reference
from .table_options import AllOptions
from .time_units import TimeList

if TYPE_CHECKING:
    from .quality import ModelQuality, ShownMeasure
    from .training_table import TrainingTable

__all__ = ["compare"]

_DEFAULT = ("dsm", "cox", "forest", "curve")
_MODELS_PER_TABLE = 4


@dataclass
class _Line:
    """One model: its quality fold by fold, and the seconds of its fits."""

    name: str
    quality: list[ModelQuality] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    def to_state(self) -> dict[str, Any]:
        if self.failure:
            return {"failure": self.failure}
        return {"seconds": self.seconds, "folds": [each.to_state() for each in self.quality]}


@dataclass(frozen=True)
class _DsmChoices:
    """What the user said about the fits of Deep Survival Machines, and the random seed of all fits."""

    search: bool
    members: int
    seed: int


def compare(
    screen: Screen,
    data: Data,
    table: AllOptions,
    models: Annotated[
        list[str] | None,
        typer.Option(help=f"Among {', '.join(MODEL_NAMES)}: repeat, or separate by commas."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, max=20, help="Number of folds.")] = 5,
    rows: Annotated[
        int, typer.Option(min=100, help="Maximum number of rows, drawn at random where there are more.")
    ] = 20_000,
    search: Annotated[
        bool,
        typer.Option("--search/--no-search", help="Choose the settings of dsm in each training part, or use defaults."),
    ] = True,
    members: Annotated[int, typer.Option(min=1, help="Size of the ensemble of dsm.")] = 4,
    times: Times = None,
    seed: Seed = 0,
) -> None:
    """Compare Deep Survival Machines with other models by cross-validation.

    All models see the same folds; settings are chosen within each training part.

    [bold]lifemix compare patients.csv --time days --event died[/]
    """
    at = TimeList.parse(times)
    check_table_path(data)
    from ..splits import EventStratifiedKFold, default_horizons
    from .training_table import open_training_table

    chosen = _chosen(models)
    training = _sample(screen, open_training_table(screen, data, table), rows, seed)
    horizons = at.within(training.options.time_unit) or default_horizons(training.y).tolist()
    choices = _DsmChoices(search, members, seed)
    lines = {name: _Line(MODEL_NAMES[name]) for name in chosen}
    splits = list(EventStratifiedKFold(folds, seed).split(training.X, training.y))
    screen.say(f"\nComparing {len(chosen)} models in {len(splits)} folds ...")
    with screen.bar("comparing", len(splits) * len(chosen)) as advance:
        for train, test in splits:
            for name, line in lines.items():
                if not line.failure:
                    _run_fold(line, name, training, train, test, horizons, choices)
                if line.failure and models:
                    raise InputError(f"{name} cannot be compared on this table: {line.failure}")
                advance(1)
    for line in lines.values():
        if line.failure:
            screen.warn(f"{line.name} is left out: {line.failure}")
    _show(screen, [line for line in lines.values() if not line.failure], training, horizons)
    screen.result({"horizons": horizons, "models": {name: line.to_state() for name, line in lines.items()}})


def _chosen(models: list[str] | None) -> list[str]:
    names = [name.lower() for name in split_names(models)]
    unknown = [name for name in names if name not in MODEL_NAMES]
    if unknown:
        raise SettingError(f"--models must be among {', '.join(MODEL_NAMES)}; got {unknown[0]!r}.")
    return names or list(_DEFAULT)


def _sample(screen: Screen, training: TrainingTable, rows: int, seed: int) -> TrainingTable:
    """Return the table, or a random sample of its rows."""
    if len(training.y) <= rows:
        return training
    from ..splits import train_validation_split

    screen.warn(f"a random sample of {rows:,} of {len(training.y):,} rows is compared; --rows takes more.")
    _, drawn = train_validation_split(training.y, fraction=rows / len(training.y), random_state=seed)
    return replace(training, X=training.X.iloc[drawn], y=training.y[drawn], rows=training.rows.iloc[drawn])


def _run_fold(
    line: _Line, name: str, training: TrainingTable, train: Any, test: Any, horizons: list[float], choices: _DsmChoices
) -> None:
    import warnings

    from ..errors import LifemixError, LifemixWarning
    from .quality import measure_models

    X, y = training.X.iloc[train], training.y[train]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)
            model = _make_dsm(X, y, choices) if name == "dsm" else make_reference(name, training.y, choices.seed)
            model.fit(X, y)
        line.seconds.append(time.perf_counter() - start)
        line.quality += measure_models({line.name: model}, y, training.X.iloc[test], training.y[test], horizons)
    except LifemixError as error:
        line.failure = str(error)


def _make_dsm(X: Any, y: Any, choices: _DsmChoices) -> Any:
    from ..estimators import DeepSurvivalMachines
    from .settings_search import batch_size, choose_settings

    settings = choose_settings(X, y, {}, choices.seed, False)[0] if choices.search else {}
    size = batch_size(len(y))
    return DeepSurvivalMachines(**settings, n_members=choices.members, batch_size=size, random_state=choices.seed)


def _show(screen: Screen, lines: list[_Line], training: TrainingTable, horizons: list[float]) -> None:
    """Show every measure of every model: one table per event type, and per few models where there are many."""
    from rich.markup import escape

    from .quality import show_directions, shown_measures

    values = {name: lists for line in lines for each in line.quality for name, lists in each.values.items()}
    where = at_times(horizons, training.options.time_unit)
    for event, name in enumerate(training.codes.names, 1):
        screen.show(f"\n[bold]{escape(name)}[/]: mean over {escape(where)}; mean and standard deviation over the folds")
        for first in range(0, len(lines), _MODELS_PER_TABLE):
            _show_table(screen, lines[first : first + _MODELS_PER_TABLE], shown_measures(values, event), event)
    show_directions(screen, shown_measures(values, 1))
    reason = next((each.without for line in lines for each in line.quality if each.without), "")
    if reason:
        screen.show(f"  {reason}.", markup=False)


def _show_table(screen: Screen, lines: list[_Line], measures: list[ShownMeasure], event: int) -> None:
    table = screen.table("measure", *(line.name for line in lines), right=range(1, 1 + len(lines)))
    for measure in measures:
        table.add_row(
            measure.label,
            *(_spread([each.mean(measure.name, event) for each in line.quality], measure.text) for line in lines),
        )
    likelihoods = ([each.log_likelihood for each in line.quality] for line in lines)
    table.add_row("log-likelihood per row", *map(_spread, likelihoods))
    table.add_row("seconds per fit", *(f"{sum(line.seconds) / len(line.seconds):.2f}" for line in lines))
    screen.show(table)


def _spread(values: Sequence[float | None], text: Callable[[float | None], str] = shown_number) -> str:
    """Return mean and standard deviation over the folds."""
    import numpy as np

    known = [value for value in values if value is not None and np.isfinite(value)]
    if len(known) < 2:
        return text(known[0] if known else None)
    return f"{text(float(np.mean(known)))} ± {text(float(np.std(known, ddof=1)))}"
