"""Any model of one event type as a model of competing risks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._types import FloatArray
from ..checks import Check, Choice, Rule, Whole, take_rows
from ..errors import SettingError
from ..registry import register_model
from ..target import Target
from .base import WrappingModel, chunks

__all__ = ["CauseSpecific"]

_LOG_ZERO = float(np.log(np.finfo(np.float64).tiny))


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, type):
        raise SettingError(
            f"estimator must be a model; got the class {estimator.__name__}. Write {estimator.__name__}()."
        )
    missing = [
        name for name in ("fit", "predict_survival_function") if not hasattr(estimator, name)
    ]
    if missing:
        raise SettingError(
            f"estimator needs {' and '.join(missing)}; got {type(estimator).__name__}."
        )


@register_model
class CauseSpecific(WrappingModel):
    """One model per event type, other events censored, and the cumulative incidences that they imply together.

    With ``H_m = -log`` of the survival curve of model m and ``H`` their sum, on the grid of all event times (and
    requested times), ``rule`` says how the curves follow. Either way the incidences and S add up to 1 at all times. A
    survival of 0 counts as the smallest normal number.

    Parameters
    ----------
    estimator : estimator
        Any estimator with ``fit(X, y)`` and ``predict_survival_function(X, times)``.
    rule : {"exponential", "product_limit"}, default "exponential"
        ``"exponential"``: S = exp(-H), and event m gets the share dH_m / dH of each step S(u-) - S(u). With one event
        type this is the model itself, and it is the exact integral where the hazards keep their ratio within a step.
        ``"product_limit"``: S is the product of 1 - dH (0 from the first dH >= 1 on), and dF_m = S(u-) dH_m, where dH
        >= 1 the share as above. That is the rule of ``riskRegression::CSC`` in R.
    max_steps : int or None, default 1000
        With more event times than this the exponential rule uses so many of them, evenly spread; None: all.

    Attributes
    ----------
    estimators_ : dict of int to estimator
        The fitted model of each event type; their survival curves are the net ones.

    References
    ----------
    Putter, Fiocco and Geskus (2007). Tutorial in biostatistics: competing risks and multi-state models. Statistics in
    Medicine 26, 2389-2430. https://doi.org/10.1002/sim.2712

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CauseSpecific, CoxPH
    >>> data = datasets.make_synthetic(300)
    >>> model = CauseSpecific(CoxPH()).fit(data.X, data.y)
    >>> first, second = model.predict_cumulative_incidences(data.X[:1], [5.0])
    >>> survival = model.predict_survival_function(data.X[:1], [5.0])
    >>> print((first + second + survival).round(6))
    [[1.]]
    """

    _saves_event_times = True  # the steps of its curves
    _rules: ClassVar[Mapping[str, Rule]] = {
        "estimator": Check(_check_estimator),
        "rule": Choice("exponential", "product_limit"),
        "max_steps": Whole(1, optional=True),
    }

    def __init__(
        self, estimator: Any, rule: str = "exponential", max_steps: int | None = 1000
    ) -> None:
        self.estimator = estimator
        self.rule = rule
        self.max_steps = max_steps

    def _validate(self) -> None:
        super()._validate()
        if list(self.estimators_) != list(range(1, self.n_events_ + 1)):
            raise ValueError("one model for each event type expected")
        if any(model.n_events_ != 1 for model in self.estimators_.values()):
            raise ValueError("models of one event type each expected")

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        weights = {} if (weight == 1).all() else {"sample_weight": weight}
        self.estimators_ = {}
        for event in range(1, self.n_events_ + 1):
            own = replace(target, event=(target.event == event).astype(np.int64))
            self.estimators_[event] = clone(self.estimator).fit(x, own.to_array(), **weights)

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return self._curves_of(x, times, None)

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._curves_of(x, times, event)

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return np.asarray(
            self.estimators_[event].predict_survival_function(x, times), dtype=np.float64
        )

    def _curves_of(self, x: Any, times: FloatArray, event: int | None) -> FloatArray:
        """Return the survival curves (event None) or incidences of shape (n, n_times)."""
        steps = self.event_times_
        if (
            self.rule == "exponential"
            and self.max_steps is not None
            and len(steps) > self.max_steps
        ):
            steps = np.quantile(steps, np.linspace(0, 1, self.max_steps), method="nearest")
        grid = np.union1d(steps[steps <= times.max()], times)
        place = np.searchsorted(grid, times)
        blocks = chunks(len(x), len(grid) * (self.n_events_ + 3))
        return np.concatenate(
            [self._on_grid(take_rows(x, rows), grid, event)[:, place] for rows in blocks]
        )

    def _on_grid(self, x: Any, grid: FloatArray, event: int | None) -> FloatArray:
        steps = {
            m: self._hazard_steps(estimator, x, grid) for m, estimator in self.estimators_.items()
        }
        total = np.sum(list(steps.values()), axis=0)  # dH
        lost = -np.expm1(-total) if self.rule == "exponential" else np.minimum(total, 1.0)
        survival = np.cumprod(1.0 - lost, axis=1)
        if event is None:
            return survival
        before = np.concatenate([np.ones((len(survival), 1)), survival[:, :-1]], axis=1)
        share = np.divide(steps[event], total, out=np.zeros_like(total), where=total > 0)
        return np.cumsum(before * lost * share, axis=1)

    @staticmethod
    def _hazard_steps(estimator: Any, x: Any, grid: FloatArray) -> FloatArray:
        """Return the increments of the cumulative hazard of one model over the steps of the grid, from 0 at time 0."""
        survival = np.asarray(estimator.predict_survival_function(x, grid), dtype=np.float64)
        log_survival = np.maximum(
            np.log(survival, out=np.full_like(survival, _LOG_ZERO), where=survival > 0), _LOG_ZERO
        )
        return np.maximum(
            -np.diff(log_survival, axis=1, prepend=0.0), 0.0
        )  # negative only by rounding
