"""What the baselines share: ``fit``, the risk score, step functions, and models of intervals of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid

from .._types import FloatArray
from ..checks import check_same_rows, check_weight, take_rows
from ..errors import InputError, SettingError, TargetError
from ..preprocessing import TableLike, apply_preprocessor, learn_preprocessor, shape_of
from ..preprocessing.tabular import refuse_outcome_columns
from ..registry import check_finite
from ..survival_model import SurvivalModel
from ..target import Target, TargetLike, as_target, refuse_missing_types, warn_no_censored_row

__all__ = [
    "Baseline",
    "DiscreteTimeModel",
    "check_curves",
    "check_steps",
    "chunks",
    "draw_seed",
    "incidences_of_hazards",
    "interpolate",
    "interval_ends",
    "just_before",
    "step_values",
]

_CELLS = 4_000_000  # numbers in one block of a chunked computation: 32 MB
_RISK_TIMES = 200
_TINY = 1e-12  # of a probability of no event
_ROUNDING = 1e-5  # of sums of incidences in single precision


class Baseline(SurvivalModel):
    """Base class of the baselines: a model implements ``_fit(x, target, weight)`` and its curves."""

    _several_events: ClassVar[bool] = False
    _takes_entry: ClassVar[bool] = False
    _takes_intervals: ClassVar[bool] = False
    _takes_paths: ClassVar[bool] = False  # several rows per subject
    _takes_weights: ClassVar[bool] = False
    _is_wrapper: ClassVar[bool] = False  # passes all rows to other estimators

    # Scikit-learn passes groups to fit if they are given.
    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"groups": True}

    preprocessor: Any

    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Events at time 0 count as events at the smallest positive event time, so that survival is 1
        at time 0. Rows censored at 0 and rows of weight 0 are ignored.

        Parameters
        ----------
        X : DataFrame or array of n rows
            Numbers, categories, missing values (see ``preprocessor``).
        y : target
            n rows, see ``lifemix.make_target``.
        sample_weight : array-like of shape (n,), optional
            Case weights, if the model takes them.
        groups : array-like of shape (n,), optional
            The subject of each row, if the target has no subjects. The rows of a subject are not
            split between training and early stopping.

        Returns
        -------
        self
            The fitted model.
        """
        self._check_settings()
        named_target = as_target(y)  # score compares its subjects, not the groups
        target = named_target.grouped(groups)
        self._check_target(target)
        n_rows = shape_of(X)[0]
        check_same_rows(n_rows, len(target))
        refuse_outcome_columns(X, target)
        if sample_weight is not None and not self._takes_weights:
            raise SettingError(
                f"{type(self).__name__} does not take sample_weight. Leave it out, or use a model "
                "that takes it, such as CoxPH."
            )
        weight = check_weight(sample_weight, n_rows)
        target = _move_events_from_zero(target)
        self._learn_columns(X)
        x = self._learn_matrix(X)
        rows = np.flatnonzero((weight > 0) & (target.time > 0))
        informative = target.take(rows)
        if not (informative.event > 0).any():
            raise InputError(
                f"sample_weight must be above zero in some row with an event; got {len(rows)} rows of "
                "positive weight, all of them censored. Give weight to rows with events."
            )
        self._learn_target(informative)
        self._learn_subjects(named_target, weight)
        if self._is_wrapper:
            self._fit(x, target, weight)
        else:
            self._fit(x[rows], informative, weight[rows])
        return self

    def _check_target(self, target: Target) -> None:
        """Refuse observations that the model cannot use."""
        name = type(self).__name__
        if target.interval.any() and not self._takes_intervals:
            raise TargetError(
                f"{name} needs exact or right-censored times; got {int(target.interval.sum())} rows "
                "with an upper bound. Use DeepSurvivalMachines for them, or set time to one point "
                "of each interval and leave upper out."
            )
        if target.truncated.any() and not self._takes_entry:
            raise TargetError(
                f"{name} cannot use late entry (left truncation); got "
                f"{int(target.truncated.sum())} rows with entry > 0. Use CoxPH or "
                "DeepSurvivalMachines, or leave entry out if every subject was observed from the "
                "origin."
            )
        refuse_missing_types(target.event)
        warn_no_censored_row(target.event)
        if target.n_events > 1 and not self._several_events:
            raise TargetError(
                f"{name} models one event type; got the types 1..{target.n_events}. Wrap it as "
                f"CauseSpecific({name}()), or set the event to 0 where another one happened."
            )
        if target.path is not None and not self._takes_paths:
            raise TargetError(
                f"{name} takes one row per subject; got {len(target)} intervals of "
                f"{len(target.joined())} subjects. Use DeepSurvivalMachines, CoxPH or "
                "CauseSpecific(CoxPH()) for covariates that change over time."
            )

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        raise NotImplementedError

    def _learn_matrix(self, X: TableLike) -> Any:
        self.preprocessor_ = learn_preprocessor(self.preprocessor, X)
        return apply_preprocessor(self.preprocessor_, X)

    def _input_names(self) -> list[str] | None:
        """Return the names of the preprocessed columns; None if the transformer has none."""
        try:
            return [str(name) for name in self.preprocessor_.get_feature_names_out()]
        except (AttributeError, TypeError, ValueError):
            return None

    def _risk(self, x: Any) -> FloatArray:
        """Return minus the mean survival time up to the last event time (trapezoidal rule)."""
        times = self._risk_times()
        if len(times) > _RISK_TIMES:
            times = np.quantile(times, np.linspace(0, 1, _RISK_TIMES))
        times = np.concatenate([[0.0], times])
        areas = [
            trapezoid(self._survival(take_rows(x, rows), times), times)
            for rows in chunks(len(x), len(times))
        ]
        return -np.concatenate(areas)

    def _risk_times(self) -> FloatArray:
        return self.event_times_


def _move_events_from_zero(target: Target) -> Target:
    """Return the target with events at time 0 moved to the smallest positive event time."""
    at_zero = (target.time == 0) & (target.event > 0)
    if not at_zero.any():
        return target
    positive_times = target.time[(target.event > 0) & (target.time > 0)]
    if len(positive_times) == 0:
        raise TargetError(
            f"some event must happen after time 0; got {int(at_zero.sum())} events, all at 0. "
            "Measure time more finely."
        )
    return replace(target, time=np.where(at_zero, positive_times.min(), target.time))


def draw_seed(random_state: int | np.random.Generator | None) -> int:
    """Return a seed for scikit-learn or PyTorch."""
    return int(np.random.default_rng(random_state).integers(2**31))


def chunks(n_rows: int, width: int, cells: int = 0) -> list[slice]:
    """Return blocks of rows that hold at most ``cells`` numbers (0: 32 MB), ``width`` per row."""
    size = max(1, (cells or _CELLS) // max(1, width))
    return [slice(start, start + size) for start in range(0, n_rows, size)]


# Step functions.


def step_values(
    step_times: FloatArray, values: FloatArray, times: FloatArray, start: float
) -> FloatArray:
    """Return step functions at the times, ``[..., n_times]``: ``start`` before the first step.

    values: ``[..., n_steps]``, from each step on.
    """
    index = np.searchsorted(step_times, times, side="right")
    before = np.full((*values.shape[:-1], 1), start)
    return np.asarray(np.concatenate([before, values], axis=-1)[..., index])


def just_before(survival: FloatArray) -> FloatArray:
    """Return survival ``[..., n_steps]`` just before each step."""
    return np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)


def check_steps(
    name: str, values: Any, shape: tuple[int | None, ...], highest: float = np.inf
) -> None:
    """Raise ``ValueError`` unless the step functions of a file ascend from at least 0."""
    check_finite(name, values, shape)
    if (np.diff(values, axis=-1, prepend=0.0) < 0).any() or (values > highest).any():
        raise ValueError(f"{name} must ascend, from 0 to at most {highest:g}")


def check_curves(model: Baseline, n_inputs: int) -> None:
    """Raise ``ValueError`` unless a model from a file predicts probabilities for a row of zeros."""
    x = np.zeros((1, n_inputs))
    times = model._risk_times()
    curves = [1.0 - model._survival(x, times), *model._incidences(x, times)]
    if not (np.diff(curves, axis=2, prepend=0.0, append=1.0) >= -_ROUNDING).all():
        raise ValueError("incidences must ascend, from 0 to at most 1")


# Intervals of time.


class DiscreteTimeModel(Baseline):
    """Base class of models of intervals that end at ``grid_``, with uniform events in each."""

    _several_events = True
    _saves_event_times = False

    grid_: FloatArray

    def _incidences_at_ends(self, x: FloatArray) -> FloatArray:
        """Return cumulative incidences ``[n_events, n_rows, n_intervals]``."""
        raise NotImplementedError

    def _incidences(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return interpolate(self.grid_, self._incidences_at_ends(x), times)

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self._incidences(x, times)[event - 1]

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        """Return the net survival with rates that are constant within each interval."""
        gains = np.diff(self._incidences_at_ends(x), axis=2, prepend=0.0)
        total = gains.sum(axis=0)
        log_survival = np.log(np.maximum(1.0 - np.cumsum(total, axis=1), _TINY))
        rates = -np.diff(log_survival, prepend=0.0)
        share = np.divide(gains[event - 1], total, out=np.zeros_like(total), where=total > 0)
        net_incidence = -np.expm1(-np.cumsum(rates * share, axis=1))
        return 1.0 - interpolate(self.grid_, net_incidence, times)

    def _risk_times(self) -> FloatArray:
        return self.grid_  # the curves are linear in between

    def _validate(self) -> None:
        super()._validate()
        check_steps("grid_", self.grid_, (None,))


def interval_ends(target: Target, n_intervals: int) -> FloatArray:
    """Return the ends of at most ``n_intervals`` intervals, at quantiles of the event times."""
    levels = np.linspace(0.0, 1.0, n_intervals + 1)[1:]
    return np.unique(np.quantile(target.time[target.event > 0], levels, method="higher"))


def incidences_of_hazards(no_event: FloatArray, hazards: FloatArray) -> FloatArray:
    """Return the cumulative incidences at the ends of the intervals, like ``hazards``.

    no_event ``[..., n_intervals]``, hazards ``[..., n_events, n_intervals]``: the probabilities of
    no event and of each event in an interval, given none before.
    """
    survival_before = just_before(np.cumprod(no_event, axis=-1, dtype=np.float64))
    return np.cumsum(hazards * survival_before[..., None, :], axis=-1)


def interpolate(ends: FloatArray, values: FloatArray, times: FloatArray) -> FloatArray:
    """Return linear interpolation ``[..., n_times]`` of values ``[..., n_intervals]``, 0 at time 0.

    After the last end the functions are constant.
    """
    knots = np.append(0.0, ends)
    values = np.concatenate([np.zeros_like(values[..., :1]), values], axis=-1)
    right = np.clip(np.searchsorted(knots, times, side="right"), 1, len(ends))
    share = np.clip((times - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    return np.asarray(values[..., right - 1] * (1.0 - share) + values[..., right] * share)
