"""Predictions for start-stop rows: along the rows of each subject, or at a landmark from the row that holds there."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import LifemixWarning, SettingError
from ..target import subject_codes
from .outcome import read_times
from .output import Screen
from .table_options import TableOptions
from .time_units import TimeList

if TYPE_CHECKING:
    from .model_file import SavedModel

__all__ = ["has_paths", "predict_subjects"]


def has_paths(saved: SavedModel, frame: pd.DataFrame, options: TableOptions) -> bool:
    """Tell whether a model was fitted to start-stop rows, and a table has their columns."""
    columns = [options.entry, options.time, options.id]
    return bool(saved.metadata.get("paths")) and all(name in frame.columns for name in columns)


def predict_subjects(
    screen: Screen,
    saved: SavedModel,
    frame: pd.DataFrame,
    X: pd.DataFrame,
    options: TableOptions,
    times: list[float],
    quantiles: list[float],
) -> pd.DataFrame | None:
    """Return what a landmark or start-stop rows ask for; None where each row is a subject as usual."""
    if options.landmark is not None:
        (landmark,) = TimeList.parse([options.landmark], "--landmark").within(options.time_unit)
        return _at_landmark(screen, saved, frame, X, options, landmark, times, quantiles)
    if has_paths(saved, frame, options):
        return _along(screen, saved, frame, X, options, times)
    return None


def _along(
    screen: Screen,
    saved: SavedModel,
    frame: pd.DataFrame,
    X: pd.DataFrame,
    options: TableOptions,
    times: list[float],
) -> pd.DataFrame:
    """Return one row per subject: survival and incidences along its rows."""
    start, stop = _interval(frame, options)
    subject = frame[options.id]
    place = X, start, stop, subject, times
    number, subjects = pd.factorize(subject_codes(subject))
    beyond = (
        "the last row is kept" if options.extend else "empty, unless --extend keeps the last row"
    )
    screen.say(
        f"Along the rows of {len(subjects):,} subjects, from the first start of each; beyond the last stop {beyond}."
    )
    columns: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", LifemixWarning
        )  # that curves end with their rows has been said
        columns |= _named(
            "survival", times, saved.model.predict_path(*place, extend=options.extend)
        )
        for event, name in _several(saved):
            curve = saved.model.predict_path(*place, event=event, extend=options.extend)
            columns |= _named(name, times, curve)
    names = subject.to_numpy()[np.unique(number, return_index=True)[1]]
    return pd.DataFrame({options.id: names} | columns)


def _at_landmark(
    screen: Screen,
    saved: SavedModel,
    frame: pd.DataFrame,
    X: pd.DataFrame,
    options: TableOptions,
    landmark: float,
    times: list[float],
    quantiles: list[float],
) -> pd.DataFrame:
    """Return predictions given survival to a landmark, from the rows that hold there."""
    if min(times) <= landmark:
        raise SettingError(
            f"--times must lie after --landmark {landmark:g}; got {', '.join(f'{t:g}' for t in times)}. Times count "
            "from the origin; the quartiles of the event times are taken where none are given."
        )
    rows = np.arange(len(frame))
    if has_paths(saved, frame, options):
        start, stop = _interval(frame, options)
        rows = np.flatnonzero((start <= landmark) & (landmark < stop))
        if not len(rows):
            raise SettingError(
                f"--landmark {landmark:g} lies in no row of the table. Use an earlier one."
            )
    screen.say(f"Given survival to {landmark:g}, from the {len(rows):,} rows that hold there.")
    distribution = saved.model.predict_distribution(X.iloc[rows]).given(landmark)
    who = (
        frame[options.id].iloc[rows]
        if options.id in frame.columns
        else pd.Series(rows + 1, name="row")
    )
    columns = {str(who.name): who.to_numpy()} | _named(
        "survival", times, distribution.survival(times)
    )
    for event, name in _several(saved):
        columns |= _named(name, times, distribution.cumulative_incidence(times, event))
    columns["median"] = distribution.median()
    if quantiles:
        values = distribution.quantile(quantiles)
        columns |= {f"quantile_{q:g}": values[:, i] for i, q in enumerate(quantiles)}
    return pd.DataFrame(columns)


def _several(saved: SavedModel) -> list[tuple[int, str]]:
    """Return the event types, where there are several, with the names of their columns."""
    words = ["_".join(name.removeprefix("event ").split()) for name in saved.event_names]
    return [(event, f"incidence_{word}") for event, word in enumerate(words, 1) if len(words) > 1]


def _named(name: str, times: list[float], values: Any) -> dict[str, Any]:
    return {f"{name}_{t:.10g}": values[:, i] for i, t in enumerate(times)}


def _interval(frame: pd.DataFrame, options: TableOptions) -> tuple[Any, Any]:
    start = read_times(frame, str(options.entry), "--start", options)
    return np.where(np.isnan(start), 0.0, start), read_times(
        frame, str(options.time), "--time", options
    )
