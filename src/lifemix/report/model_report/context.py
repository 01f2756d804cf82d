"""What the sections share: the model, the rows, and the predictions, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..._types import FittedSurvivalModel, FloatArray
from ...checks import check_same_rows
from ...errors import InputError, SettingError
from ...histories import ArrayRows, Histories, Sources, as_input
from ...metrics import predicted_risks
from ...metrics.inputs import refuse_paths
from ...preprocessing import TableLike
from ...preprocessing.tabular import as_table
from ...target import Target, TargetLike, as_target
from ...target import event_names as all_event_names
from ..doctor.model import horizons_within, mixture_of
from ..inputs import best_model, measurable, n_event_types, training_target

if TYPE_CHECKING:
    from ...estimators import DeepSurvivalMachines

__all__ = ["ReportContext", "gather"]


_GRID = 101  # as in metrics.evaluate, whose predictions are then at hand
_ENOUGH_ROWS, _ENOUGH_EVENTS = 30, 10


@dataclass(eq=False)
class _Predictor:
    """A model that is asked once for the evaluated rows at the same times; probabilities lie in [0, 1]."""

    model: FittedSurvivalModel
    X: TableLike
    n_events_: int
    _known: dict[bytes, FloatArray] = field(default_factory=dict)

    def predict_survival_function(self, X: TableLike, times: ArrayLike) -> FloatArray:
        """Return the survival, (n, n_times)."""
        return self._once(
            X, times, lambda: np.asarray(self.model.predict_survival_function(X, times))
        )

    def predict_cumulative_incidence(
        self, X: TableLike, times: ArrayLike, event: int = 1
    ) -> FloatArray:
        """Return the risk of one event type, (n, n_times)."""
        return self.predict_cumulative_incidences(X, times)[event - 1]

    def predict_cumulative_incidences(self, X: TableLike, times: ArrayLike) -> FloatArray:
        """Return the risk of every event type, (n_events, n, n_times)."""
        return self._once(X, times, lambda: predicted_risks(self.model, X, times, self.n_events_))

    def _once(
        self, X: TableLike, times: ArrayLike, predict: Callable[[], FloatArray]
    ) -> FloatArray:
        key = np.asarray(times, dtype=np.float64).tobytes()
        if X is not self.X:
            return np.clip(predict(), 0, 1)
        if key not in self._known:
            self._known[key] = np.clip(predict(), 0, 1)
        return self._known[key]


@dataclass(frozen=True, eq=False)
class ReportContext:
    """What the sections share.

    ``frame`` and ``target`` hold all rows given; ``X`` and ``y`` those that measures can use: exact or right-censored
    times from the origin; ``rows`` is ``X`` as the model takes it, and ``predictor`` the model with its predictions for
    these rows kept. ``mixture`` is the model where it is a Deep Survival Machine. ``train`` is the target that the
    model was fitted to, None where it kept none; ``base``, its usable rows or else ``y``, gives the censoring
    distribution and the marginal curve.

    ``risks``, (n_events, n, n_horizons): cumulative incidence at the horizons. ``curves``, (n_events, n, n_times): the
    same on ``grid``.
    """

    model: FittedSurvivalModel
    mixture: DeepSurvivalMachines | None
    predictor: FittedSurvivalModel
    frame: pd.DataFrame
    target: Target
    X: pd.DataFrame
    rows: Any
    y: Target
    train: Target | None
    base: Target
    named: bool
    names: tuple[str, ...]
    horizons: FloatArray
    grid: FloatArray
    risks: FloatArray
    curves: FloatArray
    unit: str
    n_bootstrap: int
    seed: int
    source: Any = None  # histories or several sources, of which ``frame`` is a description

    @property
    def measured(self) -> bool:
        """Whether there are enough rows and events to measure anything."""
        return len(self.horizons) > 0

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return len(self.names)

    @property
    def middle(self) -> int:
        """The place of the middle horizon, by whose risk subjects are called low, medium and high."""
        return len(self.horizons) // 2

    @property
    def marginal(self) -> str:
        """The name of the estimator of a risk without covariates."""
        return "Kaplan-Meier" if self.n_events == 1 else "Aalen-Johansen"

    def of(self, event: int) -> str:
        """Return `` of NAME``, or nothing where there is one event type only."""
        return "" if self.n_events == 1 else f" of {self.names[event - 1]}"

    def time(self, value: float) -> str:
        """Return a time with its unit."""
        return f"{value:,.4g}{' ' + self.unit if self.unit else ''}"

    def table(self, X: pd.DataFrame) -> Any:
        """Return a table as the model takes it: an array where it was fitted to one, or one was given.

        Of histories and other sources the rows of the same numbers.
        """
        if self.source is not None:
            return self.source.iloc[X.index.to_numpy()]
        return X if self.named else X.to_numpy()


def gather(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    *,
    time_unit: str | None,
    event_names: Mapping[int, str] | Sequence[str] | None,
    horizons: ArrayLike | None,
    n_bootstrap: int,
    max_rows: int,
    random_state: int,
) -> ReportContext:
    """Check the arguments, ask the model for its predictions, and put everything together."""
    refuse_paths(y, "y")
    model, target = best_model(model), as_target(y)
    source = as_input(X)
    source = source if isinstance(source, (Histories, Sources, ArrayRows)) else None
    X_table = as_table(X if source is None else inputs_as_table(source))
    frame, named = X_table.frame, X_table.named and hasattr(model, "feature_names_in_")
    check_same_rows(len(frame), len(target))
    names = all_event_names(event_names, n_event_types(model, target))
    if target.n_events > len(names):
        raise InputError(
            f"y has event code {target.n_events}; the model has event types 1..{len(names)} only. Leave these rows "
            "out, or code them as censored (0)."
        )
    rows = np.flatnonzero(measurable(target))
    rows = np.sort(np.random.default_rng(random_state).permutation(rows)[:max_rows])
    used, table = target.take(rows), frame.iloc[rows]
    train = training_target(model)
    base = train.take(measurable(train)) if train is not None else used
    base = base if len(base) >= _ENOUGH_ROWS and (base.event > 0).any() else used
    at = _horizons(horizons, used if train is None else train, used)
    grid = np.linspace(0, at[-1], _GRID) if len(at) else np.empty(0)
    given = source.iloc[rows] if source is not None else table if named else table.to_numpy()
    predictor = _Predictor(model, given, len(names))
    wanted, place = np.unique(np.concatenate([at, grid[1:]]), return_inverse=True)
    risks = np.empty((len(names), len(used), 0))
    if len(at):
        risks = predicted_risks(predictor, given, wanted, len(names))[:, :, place]
    return ReportContext(
        model=model,
        mixture=mixture_of(model),
        predictor=predictor,
        frame=frame,
        target=target,
        X=table,
        rows=given,
        y=used,
        train=train,
        base=base,
        named=named,
        names=names,
        horizons=at,
        grid=grid[1:],
        risks=risks[:, :, : len(at)],
        curves=risks[:, :, len(at) :],
        unit=time_unit or "",
        n_bootstrap=n_bootstrap,
        seed=random_state,
        source=source,
    )


def _horizons(given: ArrayLike | None, train: Target, used: Target) -> FloatArray:
    """Return the horizons within the follow-up; none where there are too few rows or events to measure."""
    if len(used) < _ENOUGH_ROWS or int((used.event > 0).sum()) < _ENOUGH_EVENTS:
        return np.empty(0)
    at = horizons_within(given, train, used)
    if given is not None and not len(at):
        last = min(float(train.time.max()), float(used.time.max()))
        raise SettingError(
            f"horizons must lie within the follow-up, (0, {last:g}]; got {np.ravel(given).tolist()}. Check the unit of "
            "time."
        )
    return at


def inputs_as_table(X: Histories | Sources | ArrayRows) -> pd.DataFrame:
    """Return a table of inputs that are none: of histories the number of visits and the last one."""
    if isinstance(X, Histories):
        return pd.concat([pd.DataFrame({"number of visits": X.n_visits}), X.last()], axis=1)
    if isinstance(X, ArrayRows):
        return pd.DataFrame(index=range(len(X)))
    tables = []
    for name, source in X.parts.items():
        if isinstance(source, (Histories, ArrayRows)):
            table = inputs_as_table(source)
        else:
            table = getattr(source, "frame", source).reset_index(drop=True)
        tables.append(table.add_prefix(f"{name}."))
    return pd.concat(tables, axis=1)
