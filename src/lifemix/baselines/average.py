"""The weighted mean of the curves of several models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._types import FloatArray
from ..checks import Check, Number, Rule
from ..errors import SettingError
from ..registry import check_finite, register_model
from ..target import Target
from .base import WrappingModel

__all__ = ["ModelAverage"]

_NEEDED = ("fit", "predict_survival_function", "predict_cumulative_incidence")


def _check_estimators(estimators: Any) -> None:
    if not isinstance(estimators, Sequence) or isinstance(estimators, str) or len(estimators) == 0:
        raise SettingError(f"estimators must be a list of at least one model; got {estimators!r}.")
    for estimator in estimators:
        if isinstance(estimator, type):
            name = estimator.__name__
            raise SettingError(f"estimators must be models; got the class {name}. Write {name}().")
        missing = [name for name in _NEEDED if not hasattr(estimator, name)]
        if missing:
            raise SettingError(
                f"estimators need {' and '.join(missing)}; got {type(estimator).__name__}."
            )


@register_model
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
    _rules: ClassVar[Mapping[str, Rule]] = {
        "estimators": Check(_check_estimators),
        "discount": Number(above=0.0, most=1.0),
    }

    def __init__(
        self,
        estimators: Sequence[Any],
        discount: float = 1.0,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.estimators = estimators
        self.discount = discount
        self.weights = weights

    def _check_settings(self) -> None:
        super()._check_settings()
        count = len(self.estimators)
        if self.weights is not None and not _are_weights(self.weights, count):
            raise SettingError(
                f"weights must be one number above 0 for each of the {count} models; got {self.weights!r}."
            )

    def _validate(self) -> None:
        super()._validate()
        check_finite("shares_", self.shares_, (len(self.estimators_),))
        if (self.shares_ < 0).any() or abs(self.shares_.sum() - 1.0) > 1e-9:
            raise ValueError("shares_ must be weights that add up to 1")
        if any(model.n_events_ != self.n_events_ for model in self.estimators_):
            raise ValueError("models of the same event types expected")

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        weight = np.where(target.event > 0, weight, self.discount * weight)
        told = {} if (weight == 1).all() else {"sample_weight": weight}
        self.estimators_ = [
            clone(estimator).fit(x, target.to_array(), **told) for estimator in self.estimators
        ]
        shares = np.asarray(
            [1] * len(self.estimators) if self.weights is None else self.weights, dtype=np.float64
        )
        self.shares_ = shares / shares.sum()

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return self._mean(one.predict_survival_function(x, times) for one in self.estimators_)

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._mean(
            one.predict_cumulative_incidence(x, times, event=event) for one in self.estimators_
        )

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._mean(one.predict_net_survival(x, times, event) for one in self.estimators_)

    def _has_net_survival(self) -> bool:
        parts = getattr(self, "estimators_", self.estimators)
        return all(hasattr(estimator, "predict_net_survival") for estimator in parts)

    def _mean(self, curves: Iterable[Any]) -> FloatArray:
        return np.average(np.asarray(list(curves), dtype=np.float64), axis=0, weights=self.shares_)


def _are_weights(values: Any, count: int) -> bool:
    try:
        numbers = np.asarray(values)
    except ValueError:
        return False
    fitting = numbers.shape == (count,) and numbers.dtype.kind in "iuf"
    return fitting and bool(np.all((numbers > 0) & (numbers < np.inf)))
