"""Small made-up tables and targets for the golden cases."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lifemix import make_target
from lifemix.histories import Histories
from lifemix.preprocessing import start_stop

N_ROWS = 200
TIMES = np.array([0.0, 0.2, 0.6, 1.5, 4.0])


class Sample(NamedTuple):
    """What ``fit`` takes."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None = None


@cache
def table(n_rows: int = N_ROWS) -> pd.DataFrame:
    """Return numbers, a number with missing values, a category and a truth value."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame({"age": rng.normal(60, 10, n_rows), "dose": rng.gamma(2.0, 1.5, n_rows)})
    X["group"] = pd.Categorical(rng.choice(["low", "middle", "high"], n_rows))
    X["smoker"] = rng.random(n_rows) < 0.4
    X.loc[rng.random(n_rows) < 0.1, "dose"] = np.nan
    return X


@cache
def outcomes(n_events: int, cured: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return times and event codes that depend on the table; a share of rows has no event at all."""
    X, rng = table(), np.random.default_rng(12 + n_events)
    log_rate = (X["age"].to_numpy() - 60) / 20 + (X["group"] == "high").to_numpy()
    latent = rng.weibull(1.4, (n_events, len(X))) * np.exp(-log_rate)
    latent[:, rng.random(len(X)) < cured] = np.inf
    censoring = rng.uniform(0.3, 5.0, len(X))
    time = np.minimum(latent.min(axis=0), censoring)
    return time, np.where(time < censoring, latent.argmin(axis=0) + 1, 0)


def plain() -> Sample:
    """Return exact and right-censored times."""
    return Sample(table(), make_target(*outcomes(1)))


def weighted() -> Sample:
    """Return case weights, some of them 0."""
    return Sample(table(), make_target(*outcomes(1)), np.arange(N_ROWS) % 4 * 0.5)


def competing() -> Sample:
    """Return two event types."""
    return Sample(table(), make_target(*outcomes(2)))


def cured() -> Sample:
    """Return a target in which some subjects never have the event."""
    return Sample(table(), make_target(*outcomes(1, cured=0.4)))


def late_entry() -> Sample:
    """Return left-truncated rows beside others."""
    time, event = outcomes(1)
    return Sample(
        table(), make_target(time, event, entry=np.where(np.arange(N_ROWS) % 3 == 0, time / 3, 0.0))
    )


def intervals(n_events: int = 1) -> Sample:
    """Return interval-censored and left-censored rows beside others."""
    time, event = outcomes(n_events)
    rows = np.arange(N_ROWS)
    upper = np.where((event > 0) & (rows % 3 == 0), 1.5 * time + 0.1, np.nan)
    lower = np.where((event > 0) & (rows % 6 == 0), 0.0, time)
    return Sample(table(), make_target(lower, event, upper=upper))


def rounded() -> Sample:
    """Return times on a coarse grid."""
    time, event = outcomes(1)
    return Sample(table(), make_target(np.ceil(time * 2) / 2, event))


@cache
def visits() -> pd.DataFrame:
    """Return a long table: up to three visits of each subject before the end of observation."""
    time, _ = outcomes(1)
    rng = np.random.default_rng(14)
    subject = np.repeat(np.arange(N_ROWS), 3)
    visit = (time[:, None] * np.array([0.0, 0.3, 0.7])).ravel()
    frame = pd.DataFrame(
        {"id": subject, "visit": visit, "marker": rng.normal(size=len(subject)).cumsum() / 10}
    )
    frame["ward"] = rng.choice(["a", "b"], len(frame))
    frame.loc[rng.random(len(frame)) < 0.1, "marker"] = np.nan
    dropped = (rng.random(len(frame)) < 0.2) & (np.arange(len(frame)) % 3 > 0)
    return frame[~dropped].reset_index(drop=True)


@cache
def interval_rows() -> pd.DataFrame:
    """Return one row per subject and interval between visits, with the constant columns of the subject."""
    time, event = outcomes(1)
    ends = table().assign(id=np.arange(N_ROWS), time=time, event=event)
    return start_stop(visits(), ends)


def start_stop_rows() -> Sample:
    """Return several consecutive rows per subject."""
    rows = interval_rows()
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    return Sample(rows[["age", "dose", "group", "smoker", "marker", "ward"]], y)


@cache
def histories() -> Histories:
    """Return the visits of each subject as one history."""
    return Histories.from_long(visits(), subject="id", time="visit", subjects=np.arange(N_ROWS))


def landmark_rows() -> Sample:
    """Return a table beside the visits until two landmarks per subject."""
    time, event = outcomes(1)
    cut_visits, y, rows = histories().landmarks(make_target(time, event), n_per_subject=2)
    return Sample({"clinic": table().iloc[rows], "visits": cut_visits}, y)


SAMPLES = {
    "plain": plain,
    "late entry": late_entry,
    "intervals": intervals,
    "competing risks": competing,
    "cure": cured,
    "start-stop rows": start_stop_rows,
    "histories": landmark_rows,
    "case weights": weighted,
}
