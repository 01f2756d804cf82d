"""What the report is written from: the model, the rows, and its predictions, computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ... import events
from ...checks import check_same_rows
from ...errors import InputError, SettingError
from ...preprocessing.frames import as_frame
from ...target import Target, as_target
from ..inputs import fitted_model, has_mixture, horizons_within, measurable, n_event_types, training_target
from ..predictions import Floats, incidences, quick_incidences

__all__ = ["ReportContext", "gather"]

_GRID = 101  # as in metrics.evaluate
_ENOUGH_ROWS, _ENOUGH_EVENTS = 30, 10


@dataclass(frozen=True, eq=False)
class ReportContext:
    """All that the sections share.

    ``frame`` and ``target`` hold all rows given; ``X`` and ``y`` those that measures can use: exact or right-censored
    times from the origin. ``train`` is the target that the model was fitted to, None where it kept none; ``base``, its
    usable rows or else ``y``, gives the distribution of censoring and the curve of a model without covariates.

    ``risks``, (n_events, n, n_horizons): cumulative incidence at the horizons. ``curves``, (n_events, n, n_times): the
    same on ``grid``. ``judged`` tells whether there are enough rows and events to measure anything.
    """

    model: Any
    frame: pd.DataFrame
    target: Target
    X: pd.DataFrame
    y: Target
    train: Target | None
    base: Target
    n_events: int
    named: bool
    names: tuple[str, ...]
    horizons: Floats
    grid: Floats
    risks: Floats
    curves: Floats
    unit: str
    judged: bool
    n_bootstrap: int
    seed: int

    @property
    def is_mixture(self) -> bool:
        """Whether the model is a Deep Survival Machine."""
        return has_mixture(self.model)

    @property
    def middle(self) -> int:
        """The place of the middle horizon, by whose risk subjects are called low, medium and high."""
        return len(self.horizons) // 2

    @property
    def event_codes(self) -> range:
        """The event types, 1..M."""
        return range(1, self.n_events + 1)

    def time(self, value: float) -> str:
        """Return a time with its unit."""
        return f"{value:,.4g}{' ' + self.unit if self.unit else ''}"

    def table(self, X: pd.DataFrame) -> Any:
        """Return a table as the model takes it: an array where it was fitted to one, or one was given."""
        return X if self.named else X.to_numpy()


def gather(
    model: Any,
    X: Any,
    y: Any,
    *,
    time_unit: str | None,
    event_names: Mapping[int, str] | Sequence[str] | None,
    horizons: ArrayLike | None,
    n_bootstrap: int,
    max_rows: int,
    random_state: int,
) -> ReportContext:
    """Check the arguments, ask the model for its predictions, and put everything together."""
    model, target = fitted_model(model), as_target(y)
    frame, named = as_frame(X)
    named = named and hasattr(model, "feature_names_in_")
    check_same_rows(len(frame), len(target))
    n_events = n_event_types(model, target)
    if target.n_events > n_events:
        raise InputError(
            f"y has event code {target.n_events}; the model has event types 1..{n_events} only. Leave these rows out, "
            "or code them as censored (0)."
        )
    rows = np.flatnonzero(measurable(target))
    rows = np.sort(np.random.default_rng(random_state).permutation(rows)[:max_rows])
    used, table = target.take(rows), frame.iloc[rows]
    train = training_target(model)
    base = train.take(measurable(train)) if train is not None else used
    base = base if len(base) >= _ENOUGH_ROWS and (base.event > 0).any() else used
    judged = len(used) >= _ENOUGH_ROWS and int((used.event > 0).sum()) >= _ENOUGH_EVENTS
    at = horizons_within(horizons, used if train is None else train, used) if judged else np.empty(0)
    if judged and horizons is not None and not len(at):
        raise SettingError(f"horizons must lie within the follow-up; got {horizons}. Check the unit of time.")
    judged = judged and len(at) > 0
    grid = np.linspace(0, at[-1], _GRID)[1:] if judged else np.empty(0)
    given = table if named else table.to_numpy()
    empty = np.empty((n_events, len(used), 0))
    return ReportContext(
        model=model,
        frame=frame,
        target=target,
        X=table,
        y=used,
        train=train,
        base=base,
        n_events=n_events,
        named=named,
        names=events.event_names(event_names, n_events),
        horizons=at,
        grid=grid,
        risks=np.clip(incidences(model, given, at, n_events), 0, 1) if judged else empty,
        curves=np.clip(quick_incidences(model, given, grid, n_events), 0, 1) if judged else empty,
        unit=time_unit or "",
        judged=judged,
        n_bootstrap=n_bootstrap,
        seed=random_state,
    )
