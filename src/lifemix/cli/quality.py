"""The quality of models on the same rows: every registered measure, as a table, as sentences and in JSON's types."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rich.markup import escape

from ..errors import LifemixError, LifemixWarning
from ..estimators import DeepSurvivalMachines
from ..metrics import (
    aalen_johansen,
    concordance_antolini,
    evaluate,
    predicted_risks,
    registered_measures,
)
from ..preprocessing import TableData
from ..target import Target, as_target
from .landmarks import add_landmark_measures
from .output import Screen, at_times, shown_number

__all__ = [
    "ModelQuality",
    "first_lines",
    "measure_models",
    "show_directions",
    "show_quality",
    "shown_measures",
]

_RESAMPLES = 200
_MANY_ROWS = (
    5_000  # with more, intervals are narrow and slow to compute: a quarter of the resamples will do
)
_WIDE = 0.15  # an interval of the concordance that says little

ByEvent = dict[int, list[Any]]


@dataclass
class ModelQuality:
    """One model's measures; where the data do not allow them, ``without`` says why.

    values: metric -> event type -> one value per horizon, or a single one. intervals: the same with pairs of limits.
    calibration: event type -> mean predicted and observed risk per horizon. log_likelihood: per row;
    log_likelihood_without: that of one distribution for all rows, fitted to the training data without covariates.
    """

    model: str
    rows: int
    horizons: list[float]
    values: dict[str, ByEvent] = field(default_factory=dict)
    intervals: dict[str, ByEvent] = field(default_factory=dict)
    calibration: ByEvent = field(default_factory=dict)
    antolini: float | None = None
    log_likelihood: float | None = None
    log_likelihood_without: float | None = None
    without: str = ""

    def mean(self, metric: str, event: int = 1) -> float:
        """Return the mean of a measure over the horizons."""
        values = self.values.get(metric, {}).get(event, [])
        return float(np.mean(values)) if values else float("nan")

    def to_state(self) -> dict[str, Any]:
        """Return the measures as plain lists and dictionaries."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ModelQuality:
        """Return the measures that were saved as JSON, by version 0.1.0 too."""
        known = {name: state[name] for name in cls.__dataclass_fields__ if name in state}
        by_metric = {
            name: {metric: _by_event(lists) for metric, lists in state.get(name, {}).items()}
            for name in ("values", "intervals")
        }
        if state.get("d_calibration_p") is not None:  # apart in version 0.1.0
            by_metric["values"]["d_calibration_p"] = {1: [state["d_calibration_p"]]}
        return cls(**known | by_metric | {"calibration": _by_event(state["calibration"])})


def measure_models(
    models: Mapping[str, Any],
    y_train: Any,
    X: TableData,
    y: Any,
    horizons: Sequence[float],
    seed: int | None = None,
    landmarks: tuple[Sequence[float], float | None] = ((), None),
) -> list[ModelQuality]:
    """Measure models on the same rows; with a random seed the first gets bootstrap intervals.

    landmarks: at which start-stop rows are measured, and the length of the window; nothing is by default.
    """
    found: list[ModelQuality] = []
    for name, model in models.items():
        quality = ModelQuality(name, len(X), list(horizons))
        if hasattr(model, "log_likelihood"):
            quality.log_likelihood = model.log_likelihood(X, y) / len(X)
            quality.log_likelihood_without = _without_covariates(model.primitive, y_train, y)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", LifemixWarning
            )  # a measure without a value is shown as such
            _add_measures(
                quality,
                model,
                as_target(y_train),
                X,
                as_target(y),
                None if found else seed,
                landmarks,
            )
        found.append(quality)
    return found


def _without_covariates(primitive: Any, y_train: Any, y: Any) -> float:
    """Return the log-likelihood per row of one distribution for all rows, fitted to the training rows."""
    nothing = [np.zeros((len(as_target(part)), 1)) for part in (y_train, y)]
    model = DeepSurvivalMachines(
        primitive, k=1, hidden=(), n_members=1, preprocessor=None, max_epochs=0
    ).fit(nothing[0], y_train)
    return model.log_likelihood(nothing[1], y) / len(nothing[1])


def _add_measures(
    quality: ModelQuality,
    model: Any,
    train: Target,
    X: TableData,
    target: Target,
    seed: int | None,
    landmarks: tuple[Sequence[float], float | None],
) -> None:
    if target.interval.any():
        quality.without = "with interval-censored events only the log-likelihood is available"
        return
    resamples = 0 if seed is None else _RESAMPLES if len(target) <= _MANY_ROWS else _RESAMPLES // 4
    if target.path is not None:
        add_landmark_measures(quality, model, train, X, target, resamples, seed or 0, *landmarks)
        return
    if target.truncated.any() or train.truncated.any():
        quality.without = "with late entry the weights for censoring do not apply, so there is no Brier score or C^td"
        times = np.unique(np.quantile(target.time, np.linspace(0, 1, 101)))
        quality.antolini = concordance_antolini(
            target, model.predict_survival_function(X, times), times
        )
        return
    try:
        table = evaluate(
            model,
            train,
            X,
            target,
            quality.horizons,
            n_bootstrap=resamples,
            random_state=0 if seed is None else seed,
        )
    except LifemixError as error:
        quality.without = str(error).rstrip(".")
        return
    for row in table.to_dict("records"):
        metric, event = str(row["metric"]), int(row["event"])
        quality.values.setdefault(metric, {}).setdefault(event, []).append(float(row["value"]))
        if resamples:
            limits = [float(row["lower"]), float(row["upper"])]
            quality.intervals.setdefault(metric, {}).setdefault(event, []).append(limits)
    n_events = max(train.n_events, 1)
    risks = predicted_risks(model, X, quality.horizons, n_events).mean(axis=1)
    for event in range(1, n_events + 1):
        observed = aalen_johansen(target, event).at(quality.horizons)  # NaN beyond the follow-up
        quality.calibration[event] = np.stack([risks[event - 1], observed], axis=1).tolist()


def _by_event(values: Mapping[Any, Any]) -> ByEvent:
    return {int(event): _numbers(value) for event, value in values.items()}


def _numbers(value: Any) -> Any:
    """Return lists of numbers from JSON, with NaN in place of null."""
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float("nan") if value is None else value


class ShownMeasure(NamedTuple):
    """A measure as a table shows it; ``better`` is higher, lower or None."""

    name: str
    label: str
    better: str | None = None
    percent: bool = False

    def text(self, value: float | None) -> str:
        """Return a value as a table shows it."""
        if self.percent and value is not None and np.isfinite(value):
            return f"{value:.1%}"
        return shown_number(value)


def shown_measures(values: Mapping[str, ByEvent], event: int) -> list[ShownMeasure]:
    """Return the measures that were taken of an event type, in the order of their registration."""
    known = {
        each.name: ShownMeasure(each.name, each.label, each.better, each.percent)
        for each in registered_measures()
    }
    every = known | {name: ShownMeasure(name, name) for name in values if name not in known}
    return [measure for measure in every.values() if event in values.get(measure.name, {})]


def show_directions(screen: Screen, measures: Sequence[ShownMeasure]) -> None:
    """Say which of the measures are better where they are higher, and which where they are lower."""
    for better in ("higher", "lower"):
        labels = [measure.label for measure in measures if measure.better == better]
        if labels:
            screen.show(f"  [dim]{better.capitalize()} is better: {escape(', '.join(labels))}.[/]")


def show_quality(
    screen: Screen,
    measured: Sequence[ModelQuality],
    names: Sequence[str],
    unit: str,
    which: str = "",
) -> None:
    """Show the measures of some models on the same rows; ``names`` are those of the event types."""
    first = measured[0]
    screen.show(f"\n[bold]Quality on {first.rows:,} rows{which}[/]")
    if first.without:
        screen.show(f"  {escape(first.without)}.")
    measures: list[ShownMeasure] = []
    for event in sorted({event for lists in first.values.values() for event in lists}):
        measures = _show_table(
            screen, measured, event, names[event - 1] if len(names) > 1 else "", unit
        )
    show_directions(screen, measures)
    for line in _sentences(first, names, unit):
        screen.show(f"  {escape(line[0].upper() + line[1:])}")
    limits = [pair for pairs in first.intervals.get("concordance", {}).values() for pair in pairs]
    if any(high - low > _WIDE for low, high in limits):
        screen.say(
            "  The intervals are wide: these rows have few events. lifemix compare evaluates on all rows."
        )


def first_lines(quality: ModelQuality, names: Sequence[str]) -> Iterator[str]:
    """Yield the quality of a model in one line per event type."""
    for event in sorted(quality.values.get("concordance", {})):
        name = f"{names[event - 1]}: " if len(names) > 1 else ""
        yield (
            f"{name}C^td {shown_number(quality.mean('concordance', event))}, integrated Brier score "
            f"{shown_number(quality.mean('integrated_brier', event))} on {quality.rows:,} held-out rows"
        )


def _show_table(
    screen: Screen, measured: Sequence[ModelQuality], event: int, name: str, unit: str
) -> list[ShownMeasure]:
    first = measured[0]
    heads = [
        first.model,
        *(["95 % interval"] if first.intervals else []),
        *(each.model for each in measured[1:]),
    ]
    at = f"at ({unit})" if unit else "at"
    if name:
        screen.show(f"\n[bold]{escape(name)}[/]")
    table = screen.table("measure", at, *heads, right=range(1, 2 + len(heads)))
    measures = shown_measures(first.values, event)
    for measure in measures:
        values = first.values[measure.name][event]
        for place in range(len(values)):
            time = f"{first.horizons[place]:g}" if len(values) == len(first.horizons) > 1 else ""
            cells = [measure.text(values[place])]
            if first.intervals:
                cells.append(_interval(measure, first.intervals[measure.name][event][place]))
            for other in measured[1:]:
                theirs = other.values.get(measure.name, {}).get(event, [])
                cells.append(measure.text(theirs[place] if place < len(theirs) else None))
            table.add_row("" if place else escape(measure.label), time, *cells)
    screen.show(table)
    return measures


def _interval(measure: ShownMeasure, limits: Sequence[float]) -> str:
    """Return an interval; nothing for a test statistic, which estimates no property of the model."""
    if measure.better is None:
        return ""
    return " to ".join(measure.text(limit) for limit in limits) if np.isfinite(limits[0]) else "–"


def _sentences(quality: ModelQuality, names: Sequence[str], unit: str) -> Iterator[str]:
    if quality.antolini is not None:
        yield f"Antolini's concordance {shown_number(quality.antolini)}."
    for event, pairs in quality.calibration.items():
        name = f"{names[event - 1]}: " if len(names) > 1 else ""
        parts = [
            f"{predicted:.1%} by {at_times([time], unit)} ({observed:.1%} observed)"
            for time, (predicted, observed) in zip(quality.horizons, pairs, strict=True)
            if np.isfinite(observed)
        ]
        if parts:
            yield f"{name}mean predicted risk {', '.join(parts)}."
    p = quality.mean("d_calibration_p")
    if np.isfinite(p):
        verdict = "evidence of miscalibration" if p < 0.05 else "no evidence of miscalibration"
        yield f"D-calibration: p = {p:.2g}, {verdict}."
    if quality.log_likelihood is not None:
        without = shown_number(quality.log_likelihood_without)
        yield f"log-likelihood per row {shown_number(quality.log_likelihood)}, without covariates {without}."
