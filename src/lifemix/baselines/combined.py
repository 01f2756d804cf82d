"""Models made of other estimators: a weighted average, and one model per event type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..checks import Check, Choice, Number, Whole, as_pandas, take_rows
from ..errors import SettingError
from ..preprocessing import TableLike, shape_of
from ..registry import check_finite, register_model
from ..target import Target
from .base import Baseline, chunks, just_before
from .coefficients import of_all_events

__all__ = ["CauseSpecific", "ModelAverage", "WrappingModel"]

_SMALLEST = np.finfo(np.float64).tiny


class WrappingModel(Baseline):
    """Base class of models made of other estimators, which get the table unchanged."""

    _several_events = True
    _takes_entry = True
    _takes_paths = True
    _takes_weights = True
    _is_wrapper = True
    _saves_event_times = False  # the estimators keep what they need

    def _matrix(self, X: TableLike) -> Any:
        return self._learn_matrix(X)

    def _learn_matrix(self, X: TableLike) -> Any:
        """Return the table unchanged: the estimators have preprocessors of their own."""
        table: Any = as_pandas(X)
        shape_of(table)
        if sparse.issparse(table):
            return table.toarray()
        return table if hasattr(table, "shape") else np.asarray(table, dtype=object)


def _check_estimator(estimator: Any, *methods: str) -> None:
    if isinstance(estimator, type):
        name = estimator.__name__
        raise SettingError(f"expected a model; got the class {name}. Write {name}().")
    if not all(hasattr(estimator, method) for method in methods):
        raise SettingError(
            f"expected a model with {' and '.join(methods)}; got {type(estimator).__name__}."
        )


def _weights_for_fit(weight: FloatArray) -> dict[str, FloatArray]:
    """Return the argument ``sample_weight``, which some estimators do not have, if it matters."""
    return {} if (weight == 1).all() else {"sample_weight": weight}


def _check_estimators(estimators: Any) -> None:
    if not isinstance(estimators, Sequence) or isinstance(estimators, str) or len(estimators) == 0:
        raise SettingError(f"estimators must be a list of at least one model; got {estimators!r}.")
    for estimator in estimators:
        curves = ("predict_survival_function", "predict_cumulative_incidence")
        _check_estimator(estimator, "fit", *curves)


@register_model
@dataclass(eq=False, repr=False)
class ModelAverage(WrappingModel):
    """Several models whose survival curves and incidences are averaged, ``F(t) = sum_j w_j F_j(t)``.

    Different models err in different places: the squared error of the mean is below the mean of theirs by
    their disagreement. Deep Survival Machines averaged with boosted trees is better than either in our experiments.

    Parameters
    ----------
    estimators : sequence of estimators
        Models with ``fit(X, y, sample_weight)``, ``predict_survival_function`` and ``predict_cumulative_incidence``,
        such as ``DeepSurvivalMachines`` and the models of ``lifemix.baselines``.
    discount : float, default 1.0
        Weight of right-censored rows in the fit, the paper's alpha, for models of any type; in (0, 1].
    weights : sequence of float, optional
        Positive weights of the models, normalised to sum 1; None: equal. With ``AalenJohansen`` among the models all
        curves are shrunk towards the marginal curve, by its weight.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted models, in the same order.
    shares_ : float array of shape (n_models,)
        The normalised weights.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import AalenJohansen, CoxPH, ModelAverage
    >>> data = datasets.load_metabric()
    >>> model = ModelAverage([CoxPH(), AalenJohansen()], weights=[4, 1]).fit(data.X[:500], data.y[:500])
    >>> print(model.shares_)  # shrunk 20 % towards the marginal curve
    [0.8 0.2]
    >>> print(model.predict_survival_function(data.X[500:502], [60, 120]).round(2))
    [[0.72 0.47]
     [0.89 0.76]]
    """

    _saves_event_times = True  # the risk score is an integral over them
    _rules = {
        "estimators": Check(_check_estimators),
        "discount": Number(above=0.0, most=1.0),
    }

    estimators: Sequence[Any]
    discount: float = 1.0
    weights: Sequence[float] | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        weights = np.ones(len(self.estimators)) if self.weights is None else self.weights
        is_one_each = np.shape(weights) == (len(self.estimators),)
        if not is_one_each or not all(Number(above=0.0).accepts(weight) for weight in weights):
            raise SettingError(
                f"weights must be one number above 0 for each of the {len(self.estimators)} "
                f"models; got {self.weights!r}."
            )

    def _validate(self) -> None:
        super()._validate()
        check_finite("shares_", self.shares_, (len(self.estimators_),))
        if (self.shares_ < 0).any() or abs(self.shares_.sum() - 1.0) > 1e-9:
            raise ValueError("shares_ must be weights that add up to 1")
        if any(model.n_events_ != self.n_events_ for model in self.estimators_):
            raise ValueError("models of the same event types expected")

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        y = target.to_array()
        weight = np.where(target.event > 0, weight, self.discount * weight)
        self.estimators_ = [
            clone(estimator).fit(x, y, **_weights_for_fit(weight)) for estimator in self.estimators
        ]
        n_models = len(self.estimators)
        shares = np.asarray(np.ones(n_models) if self.weights is None else self.weights, float)
        self.shares_ = shares / shares.sum()

    def _average(self, method: str, *arguments: Any) -> FloatArray:
        curves = [getattr(model, method)(*arguments) for model in self.estimators_]
        return np.average(np.asarray(curves, dtype=np.float64), axis=0, weights=self.shares_)

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return self._average("predict_survival_function", x, times)

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._average("predict_cumulative_incidence", x, times, event)

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._average("predict_net_survival", x, times, event)

    def _has_net_survival(self) -> bool:
        models = getattr(self, "estimators_", self.estimators)
        return all(hasattr(model, "predict_net_survival") for model in models)


@register_model
@dataclass(eq=False, repr=False)
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
    _rules = {
        "estimator": Check(
            lambda model: _check_estimator(model, "fit", "predict_survival_function")
        ),
        "rule": Choice("exponential", "product_limit"),
        "max_steps": Whole(1, optional=True),
    }

    estimator: Any
    rule: str = "exponential"
    max_steps: int | None = 1000

    def _validate(self) -> None:
        super()._validate()
        if list(self.estimators_) != list(range(1, self.n_events_ + 1)):
            raise ValueError("one model for each event type expected")
        if any(model.n_events_ != 1 for model in self.estimators_.values()):
            raise ValueError("models of one event type each expected")

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        self.estimators_ = {}
        for event in range(1, self.n_events_ + 1):
            y = replace(target, event=(target.event == event).astype(np.int64)).to_array()
            self.estimators_[event] = clone(self.estimator).fit(x, y, **_weights_for_fit(weight))

    @property
    def summary(self) -> pd.DataFrame:
        """The coefficients of the model of each event type, if it has a ``summary``.

        Returns
        -------
        DataFrame
            ``event``, then the columns of ``CoxPH.summary``.

        See Also
        --------
        lifemix.plots.coefficients : draws it.
        """
        check_is_fitted(self)
        return of_all_events({event: model.summary for event, model in self.estimators_.items()})

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return self._curves(x, times)[0]

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._curves(x, times)[event]

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        survival = self.estimators_[event].predict_survival_function(x, times)
        return np.asarray(survival, dtype=np.float64)

    def _curves(self, x: Any, times: FloatArray) -> FloatArray:
        """Return survival and the incidence of each event type, ``[1 + n_events, n_rows, n_times]``."""
        steps = self.event_times_
        limit = self.max_steps
        if self.rule == "exponential" and limit is not None and len(steps) > limit:
            steps = np.quantile(steps, np.linspace(0, 1, limit), method="nearest")
        grid = np.union1d(steps[steps <= times.max()], times)
        index = np.searchsorted(grid, times)
        blocks = chunks(len(x), len(grid) * (self.n_events_ + 3))
        return np.concatenate(
            [self._curves_on_grid(take_rows(x, rows), grid)[..., index] for rows in blocks],
            axis=1,
        )

    def _curves_on_grid(self, x: Any, grid: FloatArray) -> FloatArray:
        net_survival = np.stack([self._net_survival(x, grid, event) for event in self.estimators_])
        log_survival = np.log(np.maximum(net_survival, _SMALLEST))
        hazards = np.maximum(-np.diff(log_survival, prepend=0.0), 0.0)  # below 0 only by rounding
        total = hazards.sum(axis=0)
        if self.rule == "exponential":
            event_probability = -np.expm1(-total)
        else:
            event_probability = np.minimum(total, 1.0)
        survival = np.cumprod(1.0 - event_probability, axis=1)
        share = np.divide(hazards, total, out=np.zeros_like(hazards), where=total > 0)
        incidences = np.cumsum(just_before(survival) * event_probability * share, axis=2)
        return np.concatenate([survival[None], incidences])
