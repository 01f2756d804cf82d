"""A table as a survival study: covariates, target and identifiers, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import CovariateError, SettingError, TargetError
from ..target import make_target
from .columns import ColumnFacts, refuse_problems, understand
from .events import EventCodes
from .roles import Roles
from .tables import TableFile

__all__ = ["Study", "learn_study", "read_target"]


@dataclass(frozen=True, eq=False)
class Study:
    """What a model is fitted to; ``table`` holds its rows as they were read, ``skipped`` rows had no outcome."""

    X: pd.DataFrame
    y: NDArray[np.void]
    codes: EventCodes
    roles: Roles
    facts: list[ColumnFacts]
    table: pd.DataFrame
    skipped: int

    def to_state(self) -> dict[str, Any]:
        """Return what a model's file should remember, in JSON's types."""
        return {
            "roles": self.roles.to_state(),
            "censored": list(self.codes.censored),
            "events": list(self.codes.kinds),
            "columns": [fact.to_state() for fact in self.facts],
        }


def learn_study(table: TableFile, roles: Roles, censored: Sequence[str], skip_incomplete: bool) -> Study:
    """Read a table that a model is to learn from."""
    names = list(table.frame.columns)
    if len(names) < 3:
        raise CovariateError(
            f"{table.name} has {len(names)} column{'s' * (len(names) != 1)} ({', '.join(names)}); expected a time, an "
            "event and at least one covariate. Is another character between the columns?"
        )
    if roles.time is None or roles.event is None:
        raise SettingError(f"say which columns hold the time and the event: --time and --event. {_offer(names)}")
    roles = roles.resolve(names)
    rows, y, codes = read_target(table, roles, None, censored, skip_incomplete)
    frame = table.frame.drop(columns=roles.apart)
    if frame.shape[1] == 0:
        raise CovariateError(f"no covariates are left besides {', '.join(roles.apart)}. Add at least one column.")
    frame, whole = (frame, table.frame) if rows.all() else (frame[rows], table.frame[rows])
    facts = understand(frame, roles)
    refuse_problems(facts)
    X = frame[[fact.name for fact in facts if fact.used]].reset_index(drop=True)
    labels = {name: X[name].astype("category") for name in roles.categorical if name in X}
    return Study(X.assign(**labels), y, codes, roles, facts, whole, int((~rows).sum()))


def read_target(
    table: TableFile, roles: Roles, codes: EventCodes | None, censored: Sequence[str], skip_incomplete: bool
) -> tuple[NDArray[np.bool_], NDArray[np.void], EventCodes]:
    """Return which rows have an outcome, their target, and the codes of events (learnt where none are given)."""
    if roles.time is None or roles.event is None:
        raise SettingError("say which columns hold the time and the event: --time and --event.")
    frame = table.frame
    time, event = _numbers(frame, roles.time, "--time"), frame[roles.event]
    rows = np.asarray(~np.isnan(time) & event.notna().to_numpy())
    if not rows.all() and not skip_incomplete:
        first = int(np.flatnonzero(~rows)[0]) + 1
        raise TargetError(
            f"{int((~rows).sum())} of {len(rows)} rows have no time or no event, the first is data row {first}. "
            "Complete them, or leave them out with --skip-incomplete."
        )
    if not rows.any():
        raise TargetError(f"no row has both a time ({roles.time!r}) and an event ({roles.event!r}).")
    if pd.api.types.is_float_dtype(event.dtype) and not (event[rows] == np.floor(event[rows])).all():
        raise TargetError(f"the event column {roles.event!r} has fractions; expected 0 and whole numbers, or words.")
    codes = codes or EventCodes.learn(event[rows], roles.event, censored)
    _refuse_negative(time[rows], roles.time)
    y = make_target(
        time[rows],
        codes.encode(event[rows], roles.event),
        None if roles.entry is None else _numbers(frame, roles.entry, "--entry")[rows],
        None if roles.upper is None else _numbers(frame, roles.upper, "--upper")[rows],
    )
    return rows, y, codes


def _numbers(frame: pd.DataFrame, column: str, option: str) -> NDArray[np.float64]:
    """Return a column of the outcome as numbers, NaN where missing."""
    values = frame[column]
    if pd.api.types.is_datetime64_any_dtype(values.dtype) or pd.api.types.is_timedelta64_dtype(values.dtype):
        raise TargetError(
            f"column {column!r} ({option}) holds dates; expected numbers: the days since each one's start."
        )
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(np.isnan(numbers) & values.notna().to_numpy())
    if len(bad):
        raise TargetError(
            f"column {column!r} ({option}) must hold numbers; got {str(values.iloc[bad[0]])!r} in data row "
            f"{bad[0] + 1} ({len(bad)} such rows). Correct them, or name another column."
        )
    return numbers


def _refuse_negative(time: NDArray[np.float64], column: str) -> None:
    bad = np.flatnonzero(time < 0)
    if len(bad):
        raise TargetError(
            f"times must be 0 or more; column {column!r} has {time[bad[0]]:g} ({len(bad)} such rows). Correct them, or "
            "count from an earlier start."
        )


def _offer(names: Sequence[str]) -> str:
    """Return the columns of a table, and which of them sound like an outcome."""
    times = [n for n in names if n.lower() in _TIME_NAMES]
    events = [n for n in names if n.lower() in _EVENT_NAMES]
    guess = f" Perhaps --time {times[0]} --event {events[0]}?" if times and events else ""
    return f"The table has: {', '.join(names[:40])}.{guess}"


_TIME_NAMES = set(
    "time t futime duration days months years week weeks os_months survival_time surv_time survival_in_days followup "
    "follow_up lenfol tte stop".split()
)
_EVENT_NAMES = set("event status death dead died cens censor os_status fstat arrest relapse e".split())
