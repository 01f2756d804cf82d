"""Models without covariates: the Kaplan-Meier and Aalen-Johansen curves, the reference for every other model."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..errors import CovariateError
from ..partial_likelihood import RiskSets
from ..preprocessing import TableLike, shape_of
from ..registry import register_model
from ..target import Target
from ._steps import check_curve, step_values
from .base import Baseline

__all__ = ["AalenJohansen", "KaplanMeier"]

_ROUNDING = 1e-9


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
        hazard = {}
        for event in range(1, self.n_events_ + 1):
            rows = target.event == event
            happened = np.bincount(
                np.searchsorted(times, target.time[rows]), weight[rows], len(times)
            )
            hazard[event] = np.minimum(happened / at_risk, 1.0)  # at most 1 but for rounding
        self.survival_ = np.cumprod(np.maximum(1.0 - np.sum(list(hazard.values()), axis=0), 0.0))
        before = np.concatenate([[1.0], self.survival_[:-1]])
        self.incidence_ = {event: np.cumsum(before * values) for event, values in hazard.items()}
        self.net_survival_ = {
            event: np.cumprod(1.0 - values, dtype=np.float64) for event, values in hazard.items()
        }

    def _validate(self) -> None:
        super()._validate()
        n_times, events = len(self.event_times_), list(range(1, self.n_events_ + 1))
        if list(self.incidence_) != events or list(self.net_survival_) != events:
            raise ValueError("curves of each event type expected")
        for falling in (self.survival_, *self.net_survival_.values()):
            check_curve("1 - survival", 1.0 - falling, n_times, high=1.0)
        for incidence in self.incidence_.values():
            check_curve("incidence_", incidence, n_times, high=1.0 + _ROUNDING)

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return np.tile(step_values(self.event_times_, self.survival_, times, 1.0), (len(x), 1))

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return np.tile(
            step_values(self.event_times_, self.incidence_[event], times, 0.0), (len(x), 1)
        )

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return np.tile(
            step_values(self.event_times_, self.net_survival_[event], times, 1.0), (len(x), 1)
        )

    def preprocess(self, X: TableLike) -> FloatArray:
        """Return a matrix without columns: only the number of rows matters.

        Parameters
        ----------
        X : DataFrame or array of n rows
            As many columns as the training data.

        Returns
        -------
        array of shape (n, 0)
            An empty matrix.
        """
        check_is_fitted(self, "n_events_")
        rows, columns = shape_of(X)
        if columns != self.n_features_in_:
            raise CovariateError(
                f"X has {columns} features, but {type(self).__name__} is expecting {self.n_features_in_} features."
            )
        return np.empty((rows, 0))

    def _learn_matrix(self, X: TableLike) -> FloatArray:
        return np.empty((shape_of(X)[0], 0))


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
