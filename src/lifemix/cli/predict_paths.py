"""Predictions for start-stop rows: along the rows of each subject, or at a landmark from the row that holds there."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import LifemixWarning, SettingError
from ..subjects import first_appearance, subject_codes
from .outcome import read_times
from .output import Screen
from .table_options import TableOptions

if TYPE_CHECKING:
    from .model_file import SavedModel

__all__ = ["has_paths", "predict_landmark", "predict_paths"]


def has_paths(saved: SavedModel, frame: pd.DataFrame, options: TableOptions) -> bool:
    """Tell whether a model was fitted to start-stop rows, and a table has their columns."""
    columns = [options.entry, options.time, options.id]
    return bool(saved.metadata.get("paths")) and all(name in frame.columns for name in columns)


def predict_paths(
    screen: Screen,
    saved: SavedModel,
    frame: pd.DataFrame,
    X: pd.DataFrame,
    options: TableOptions,
    times: list[float],
    extend: bool,
) -> pd.DataFrame:
    """Return one row per subject: survival and incidences along its rows."""
    start, stop = _interval(frame, options)
    subject = frame[options.id]
    place = X, start, stop, subject, times
    number, count = first_appearance(subject_codes(subject))
    beyond = "the last row is kept" if extend else "empty, unless --extend keeps the last row"
    screen.say(f"Along the rows of {count:,} subjects, from the first start of each; beyond the last stop {beyond}.")
    curves: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # that curves end with their rows has been said
        curves["survival"] = saved.model.predict_path(*place, extend=extend)
        for event, name in enumerate(saved.event_names if saved.model.n_events_ > 1 else (), 1):
            word = "_".join(name.removeprefix("event ").split())
            curves[f"incidence_{word}"] = saved.model.predict_path(*place, event=event, extend=extend)
    names = subject.to_numpy()[np.unique(number, return_index=True)[1]]
    columns = {f"{name}_{t:.10g}": values[:, i] for name, values in curves.items() for i, t in enumerate(times)}
    return pd.DataFrame({options.id: names} | columns)


def predict_landmark(
    screen: Screen,
    saved: SavedModel,
    frame: pd.DataFrame,
    X: pd.DataFrame,
    options: TableOptions,
    landmark: float,
    times: list[float],
) -> tuple[pd.DataFrame, Any]:
    """Return the distributions, given survival to a landmark, of the rows that hold there, and their identifiers."""
    late = [t for t in times if t > landmark]
    if len(late) < len(times):
        raise SettingError(f"--times must lie after --landmark {landmark:g}; got {times}. Times count from the origin.")
    rows = np.arange(len(frame))
    if has_paths(saved, frame, options):
        start, stop = _interval(frame, options)
        rows = np.flatnonzero((start <= landmark) & (landmark < stop))
        screen.say(f"Given survival to {landmark:g}: {len(rows):,} rows hold there.")
        if not len(rows):
            raise SettingError(f"--landmark {landmark:g} lies in no row of the table. Use an earlier one.")
    else:
        screen.say(f"Given survival to {landmark:g}, each row.")
    named = options.id if options.id in frame.columns else None
    who = frame[named].iloc[rows] if named else pd.Series(rows + 1)
    identifiers = pd.DataFrame({named or "row": who.to_numpy()})
    return identifiers, saved.model.predict_distribution(X.iloc[rows]).given(landmark)


def _interval(frame: pd.DataFrame, options: TableOptions) -> tuple[Any, Any]:
    start = read_times(frame, str(options.entry), "--start", options)
    return np.where(np.isnan(start), 0.0, start), read_times(frame, str(options.time), "--time", options)
