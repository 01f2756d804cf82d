"""Models without covariates: Kaplan-Meier and Aalen-Johansen curves, a reference for the others."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..errors import CovariateError
from ..partial_likelihood import RiskSets
from ..preprocessing import TableLike, shape_of
from ..registry import register_model
from ..target import Target
from .base import Baseline, check_steps, just_before, step_values

__all__ = ["AalenJohansen", "KaplanMeier"]


@register_model
class AalenJohansen(Baseline):
    """The same incidences for all subjects: ``F_m(t) = sum over u <= t of S(u-) d_m(u) / n(u)``.

    S is the Kaplan-Meier curve of all events together, d_m(u) the weight of the events of type m at u and n(u) that of
    the rows at risk. Entry times and case weights are used; of ``X`` only the number of rows matters. The net survival
    of m is the Kaplan-Meier curve with the other events censored.

    Attributes
    ----------
    survival_ : float array of shape (n_event_times,)
        Survival at ``event_times_``.
    incidence_ : dict of int to float array
        Cumulative incidence of each event type at ``event_times_``.
    net_survival_ : dict of int to float array
        Net survival of each event type at ``event_times_``.

    References
    ----------
    Aalen and Johansen (1978). An empirical transition matrix for non-homogeneous Markov chains based on censored
    observations. Scandinavian Journal of Statistics 5, 141-150.

    Examples
    --------
    >>> from lifemix import make_target
    >>> from lifemix.baselines import AalenJohansen
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = AalenJohansen().fit(X, make_target([1.0, 2.0, 3.0, 4.0], [1, 2, 0, 1]))
    >>> print(model.predict_cumulative_incidence(X[:1], [1.0, 2.5, 4.0], event=1))
    [[0.25 0.25 0.75]]
    """

    _several_events = True
    _takes_entry = True
    _takes_paths = True
    _takes_weights = True

    def __init__(self) -> None:
        pass

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        times = self.event_times_
        at_risk = RiskSets(times, target.time, target.entry).over_rows(weight)
        hazards = {}
        for event in range(1, self.n_events_ + 1):
            rows = target.event == event
            index = np.searchsorted(times, target.time[rows])
            n_events = np.bincount(index, weight[rows], len(times))
            hazards[event] = np.minimum(n_events / at_risk, 1.0)  # above 1 only by rounding
        self.survival_ = np.cumprod(np.maximum(1.0 - np.sum(list(hazards.values()), axis=0), 0.0))
        before = just_before(self.survival_)
        self.incidence_ = {event: np.cumsum(before * hazard) for event, hazard in hazards.items()}
        self.net_survival_ = {
            event: np.cumprod(1.0 - hazard, dtype=float) for event, hazard in hazards.items()
        }

    def _validate(self) -> None:
        super()._validate()
        shape = self.event_times_.shape
        check_steps("1 - survival_", 1.0 - self.survival_, shape, highest=1.0)
        for event in range(1, self.n_events_ + 1):
            check_steps("incidence_", self.incidence_[event], shape)
            net_incidence = 1.0 - self.net_survival_[event]
            check_steps("1 - net_survival_", net_incidence, shape, highest=1.0)

    def _curve(
        self, x: FloatArray, times: FloatArray, values: FloatArray, start: float
    ) -> FloatArray:
        return np.tile(step_values(self.event_times_, values, times, start), (len(x), 1))

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return self._curve(x, times, self.survival_, 1.0)

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self._curve(x, times, self.incidence_[event], 0.0)

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self._curve(x, times, self.net_survival_[event], 1.0)

    def _matrix(self, X: TableLike) -> FloatArray:
        n_columns = shape_of(X)[1]
        if n_columns != self.n_features_in_:
            raise CovariateError(
                f"X has {n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return self._learn_matrix(X)

    def _learn_matrix(self, X: TableLike) -> FloatArray:
        return np.empty((shape_of(X)[0], 0))  # only the number of rows matters


@register_model
class KaplanMeier(AalenJohansen):
    """The same survival curve for all subjects: ``S(t) = product over u <= t of (1 - d(u) / n(u))``.

    As ``AalenJohansen``, for one event type.

    References
    ----------
    Kaplan and Meier (1958). Nonparametric estimation from incomplete observations. Journal of the American Statistical
    Association 53, 457-481. https://doi.org/10.1080/01621459.1958.10501452

    Examples
    --------
    >>> from lifemix import make_target
    >>> from lifemix.baselines import KaplanMeier
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = KaplanMeier().fit(X, make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0]))
    >>> print(model.predict_survival_function(X[:1], [0.5, 1.0, 3.0]))
    [[1.    0.75  0.375]]
    """

    _several_events = False
