"""``lifemix compare``: LifeMix, Deep Survival Machines and other models, by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, SettingError
from .model_choice import ModelChoice, check_jobs
from .options import Data, Fast, Jobs, Seed, Times, split_names
from .output import Screen, at_times, shown_number
from .paths import check_table_path
from .reference_models import MODEL_NAMES
from .table_options import AllOptions
from .time_units import TimeList

if TYPE_CHECKING:
    from .quality import ModelQuality, ShownMeasure
    from .training_table import TrainingTable

    _Found = tuple[float, ModelQuality]

__all__ = ["compare"]

_DEFAULT = ("lifemix", "dsm", "cox", "forest", "curve")
_MODELS_PER_TABLE = 5


@dataclass
class _Line:
    """One model: its quality fold by fold, and the seconds of its fits."""

    name: str
    quality: list[ModelQuality] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    def add(self, found: _Found | str) -> None:
        """Take in what a fit gave: its seconds and its quality, or why there is none."""
        if isinstance(found, str):
            self.failure = self.failure or found
        else:
            self.seconds.append(found[0])
            self.quality.append(found[1])

    def to_state(self) -> dict[str, Any]:
        if self.failure:
            return {"failure": self.failure}
        return {"seconds": self.seconds, "folds": [each.to_state() for each in self.quality]}


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
        int,
        typer.Option(min=100, help="Maximum number of rows, drawn at random where there are more."),
    ] = 20_000,
    fast: Fast = False,
    search: Annotated[
        bool | None,
        typer.Option(
            "--search/--no-search",
            help="Choose the settings of dsm in each training part, or use defaults.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option(min=1, help="Size of the ensemble of dsm. Default: by the number of rows."),
    ] = None,
    times: Times = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
) -> None:
    """Compare models by cross-validation: LifeMix, Deep Survival Machines and others.

    All models see the same folds; settings are chosen within each training part.

    [bold]lifemix compare patients.csv --time days --event died[/]
    """
    at = TimeList.parse(times)
    check_table_path(data)
    chosen = _chosen(models, fast)
    network = ModelChoice.of("dsm", {}, fast=fast, search=search, members=members, seed=seed)
    check_jobs(jobs)
    from ..splits import EventStratifiedKFold, default_horizons
    from .training_table import open_training_table

    training = _sample(screen, open_training_table(screen, data, table), rows, seed)
    horizons = at.within(training.options.time_unit) or default_horizons(training.y).tolist()
    lines = {name: _Line(MODEL_NAMES[name]) for name in chosen}
    splits = list(EventStratifiedKFold(folds, seed).split(training.X, training.y))
    screen.say(f"\nComparing {len(chosen)} models in {len(splits)} folds ...")
    choices = {
        name: network if name == "dsm" else ModelChoice(name, {}, seed=seed) for name in chosen
    }
    tasks = [
        (choice, training.X, training.y, *split, horizons)
        for split in splits
        for choice in choices.values()
    ]
    with screen.bar("comparing", len(tasks)) as advance:
        for (choice, *_), found in zip(tasks, _run_all(tasks, jobs), strict=True):
            lines[choice.name].add(found)
            if lines[choice.name].failure and models:
                raise InputError(
                    f"{choice.name} cannot be compared on this table: {lines[choice.name].failure}"
                )
            advance(1)
    for line in lines.values():
        if line.failure:
            screen.warn(f"{line.name} is left out: {line.failure}")
    _show(screen, [line for line in lines.values() if not line.failure], training, horizons)
    screen.result(
        {"horizons": horizons, "models": {name: line.to_state() for name, line in lines.items()}}
    )


def _chosen(models: list[str] | None, fast: bool) -> list[str]:
    names = [name.lower() for name in split_names(models)]
    unknown = [name for name in names if name not in MODEL_NAMES]
    if unknown:
        raise SettingError(f"--models must be among {', '.join(MODEL_NAMES)}; got {unknown[0]!r}.")
    return names or [name for name in _DEFAULT if name != "lifemix" or not fast]


def _sample(screen: Screen, training: TrainingTable, rows: int, seed: int) -> TrainingTable:
    """Return the table, or a random sample of its rows."""
    if len(training.y) <= rows:
        return training
    from ..splits import train_validation_split

    screen.warn(
        f"a random sample of {rows:,} of {len(training.y):,} rows is compared; --rows takes more."
    )
    _, drawn = train_validation_split(
        training.y, fraction=rows / len(training.y), random_state=seed
    )
    return replace(
        training, X=training.X.iloc[drawn], y=training.y[drawn], rows=training.rows.iloc[drawn]
    )


def _run_all(tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[_Found | str]:
    """Yield what each fit gave, in the order of the tasks."""
    if jobs == 1:
        failed: dict[str, str] = {}
        for task in tasks:
            found = failed.get(task[0].name) or _run_fold(*task)
            if isinstance(found, str):
                failed[task[0].name] = found
            yield found
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_run_fold)(*task) for task in tasks
    )


def _run_fold(
    choice: ModelChoice, X: Any, y: Any, train: Any, test: Any, horizons: list[float]
) -> _Found | str:
    """Return the seconds and the quality of a fit, or why there is none."""
    import warnings

    from ..errors import LifemixError, LifemixWarning
    from .quality import measure_models
    from .settings_search import choose_settings

    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)
            own = X.iloc[train], y[train]
            settings = choose_settings(*own, {}, choice.seed)[0] if choice.search else {}
            model = choice.make(y if choice.name != "dsm" else own[1], settings).fit(*own)
        seconds = time.perf_counter() - start
        (quality,) = measure_models({choice.label: model}, own[1], X.iloc[test], y[test], horizons)
    except LifemixError as error:
        return str(error)
    return seconds, quality


def _show(
    screen: Screen, lines: list[_Line], training: TrainingTable, horizons: list[float]
) -> None:
    """Show every measure of every model: one table per event type, and per few models where there are many."""
    from rich.markup import escape

    from .quality import show_directions, shown_measures

    values = {
        name: lists
        for line in lines
        for each in line.quality
        for name, lists in each.values.items()
    }
    where = at_times(horizons, training.options.time_unit)
    for event, name in enumerate(training.codes.names, 1):
        screen.show(
            f"\n[bold]{escape(name)}[/]: mean over {escape(where)}; mean and standard deviation over the folds"
        )
        for first in range(0, len(lines), _MODELS_PER_TABLE):
            _show_table(
                screen,
                lines[first : first + _MODELS_PER_TABLE],
                shown_measures(values, event),
                event,
            )
    show_directions(screen, shown_measures(values, 1))
    reason = next((each.without for line in lines for each in line.quality if each.without), "")
    if reason:
        screen.show(f"  {reason}.", markup=False)


def _show_table(
    screen: Screen, lines: list[_Line], measures: list[ShownMeasure], event: int
) -> None:
    table = screen.table("measure", *(line.name for line in lines), right=range(1, 1 + len(lines)))
    for measure in measures:
        table.add_row(
            measure.label,
            *(
                _spread([each.mean(measure.name, event) for each in line.quality], measure.text)
                for line in lines
            ),
        )
    likelihoods = ([each.log_likelihood for each in line.quality] for line in lines)
    table.add_row("log-likelihood per row", *map(_spread, likelihoods))
    table.add_row(
        "seconds per fit", *(f"{sum(line.seconds) / len(line.seconds):.2f}" for line in lines)
    )
    screen.show(table)


def _spread(
    values: Sequence[float | None], text: Callable[[float | None], str] = shown_number
) -> str:
    """Return mean and standard deviation over the folds."""
    import numpy as np

    known = [value for value in values if value is not None and np.isfinite(value)]
    if len(known) < 2:
        return text(known[0] if known else None)
    return f"{text(float(np.mean(known)))} ± {text(float(np.std(known, ddof=1)))}"
