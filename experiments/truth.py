"""The distribution that the paper's simulated data are drawn from, as a model: an upper bound for every other one."""

from __future__ import annotations

import numpy as np

from lifemix._types import FloatArray
from lifemix.baselines.base import Baseline
from lifemix.datasets.synthetic import SyntheticTruth, synthetic_means
from lifemix.errors import CovariateError, TargetError
from lifemix.target import Target

__all__ = ["TrueSynthetic"]


class TrueSynthetic(Baseline):
    """The true survival and cumulative incidence of ``datasets.make_synthetic``; ``fit`` learns nothing.

    Parameters
    ----------
    rounded : bool, default False
        Whether times are rounded to integers, as ``make_synthetic`` rounds them by default; survival at 0 is then
        below 1.
    least_mean : float, default 0.0
        Mean times below it are raised to it. Four rows of the original file have means just below 0 with our estimates
        of its coefficients; 0 refuses such rows.

    Examples
    --------
    >>> from lifemix.datasets import make_synthetic
    >>> from experiments.truth import TrueSynthetic
    >>> data = make_synthetic(100)
    >>> TrueSynthetic().fit(data.X, data.y).predict_survival_function(data.X, [5.0, 10.0]).shape
    (100, 2)
    """

    _several_events = True
    preprocessor = None

    def __init__(self, rounded: bool = False, least_mean: float = 0.0) -> None:
        self.rounded = rounded
        self.least_mean = least_mean

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        if self.n_events_ != 2 or x.shape[1] != 12:
            raise TargetError(
                f"TrueSynthetic knows the data of make_synthetic, 12 covariates and 2 event types; got {x.shape[1]} "
                f"and {self.n_events_}."
            )

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return self._truth(x).survival(times)

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self._truth(x).cumulative_incidence(times, event)

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self._truth(x).net_survival(times, event)

    def _truth(self, x: FloatArray) -> SyntheticTruth:
        means = (
            np.maximum(synthetic_means(x), self.least_mean)
            if self.least_mean > 0
            else synthetic_means(x)
        )
        if not (means > 0).all():
            row = int(np.flatnonzero((means <= 0).any(axis=1))[0])
            raise CovariateError(
                f"make_synthetic draws only rows with positive mean times; got {means[row].tolist()} at row {row}. "
                "Give rows of make_synthetic as they are, unscaled."
            )
        return SyntheticTruth(means, np.empty(0, dtype=[]), self.rounded)
