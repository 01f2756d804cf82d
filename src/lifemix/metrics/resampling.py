"""Confidence intervals for any metric by the bootstrap: subjects are drawn with replacement."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Whole
from ..errors import InputError, LifemixWarning
from ..target import Target, TargetLike, as_target
from .inputs import Floats, check_level

__all__ = ["BootstrapResult", "bootstrap", "bootstrap_difference"]

Metric = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """A metric with its uncertainty; all fields but ``replicates`` have the metric's shape.

    Attributes
    ----------
    value : float or array
        The metric on the data.
    standard_error : float or array
        Standard deviation over the resamples.
    lower, upper : float or array
        Percentile confidence limits.
    replicates : float array of shape (n_resamples, ...)
        The metric on each resample; NaN where it is not defined.
    """

    value: Any
    standard_error: Any
    lower: Any
    upper: Any
    replicates: Floats


def bootstrap(
    metric: Metric,
    y: TargetLike,
    *predictions: ArrayLike,
    n_resamples: int = 500,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapResult:
    """Percentile bootstrap interval of ``metric(y, *predictions)``; subjects are drawn with replacement.

    Parameters
    ----------
    metric : callable
        A function of a target and of arrays with one row per subject that returns a number or an array, for example
        ``lambda y, risk: concordance_td(y_train, y, risk, horizon)``.
    y : target
        n subjects.
    *predictions : array-like of shape (n, ...)
        Arrays that are resampled along with the rows of ``y``.
    n_resamples : int, default 500
        Number of resamples.
    level : float, default 0.95
        Confidence level.
    random_state : int, Generator or None, default None
        Random seed.

    Returns
    -------
    BootstrapResult
        ``value``, ``standard_error``, ``lower``, ``upper`` and ``replicates``. Resamples on which the metric is NaN
        are left out of the interval; one warning says how many.

    See Also
    --------
    bootstrap_difference : two models on the same subjects.

    References
    ----------
    Efron (1979). Bootstrap methods: another look at the jackknife. Annals of Statistics 7, 1-26.
    https://doi.org/10.1214/aos/1176344552

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 1, 1, 0, 1, 1])
    >>> risk = [5.0, 6.0, 3.0, 4.0, 1.0, 2.0]
    >>> result = metrics.bootstrap(metrics.concordance, y, risk, n_resamples=50, random_state=1)
    >>> bool(result.lower <= result.value <= result.upper)
    True
    """
    target, arrays = as_target(y), [np.asarray(array) for array in predictions]
    for array in arrays:
        if array.shape[:1] != (len(target),):
            raise InputError(f"every prediction must have {len(target)} rows, as y has; got shape {array.shape}.")
    Whole(2)("n_resamples", n_resamples)
    check_level(level)
    value = metric(target, *arrays)
    replicates = _replicate(metric, target, arrays, n_resamples, np.random.default_rng(random_state))
    kept = replicates[~np.isnan(replicates.reshape(n_resamples, -1)).any(axis=1)]
    if len(kept) < n_resamples:
        warnings.warn(
            f"the metric had no value on {n_resamples - len(kept)} of {n_resamples} samples drawn; "
            "the interval is from the others.",
            LifemixWarning,
            stacklevel=2,
        )
    if len(kept) < 2:
        kept = np.full((2, *replicates.shape[1:]), np.nan)
    lower, upper = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return BootstrapResult(value, kept.std(axis=0, ddof=1), lower, upper, replicates)


def bootstrap_difference(
    metric: Metric,
    y: TargetLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_resamples: int = 500,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapResult:
    """Percentile bootstrap interval of ``metric(y, first) - metric(y, second)``: two models on the same subjects.

    Both models are evaluated on the same resamples, so that what is difficult about a resample cancels in the
    difference.

    Parameters
    ----------
    metric : callable
        A function of a target and of one array, as in ``bootstrap``.
    y : target
        n subjects.
    first, second : array-like of shape (n, ...)
        The predictions of the two models.
    n_resamples : int, default 500
        Number of resamples.
    level : float, default 0.95
        Confidence level.
    random_state : int, Generator or None, default None
        Random seed.

    Returns
    -------
    BootstrapResult
        The difference, with its standard error and confidence limits.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 1, 1, 0, 1, 1])
    >>> good, poor = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 3.0, 2.0, 6.0, 5.0, 4.0]
    >>> result = metrics.bootstrap_difference(metrics.concordance, y, good, poor, n_resamples=50, random_state=0)
    >>> bool(result.lower > 0)
    True
    """
    return bootstrap(
        lambda drawn, one, other: np.subtract(metric(drawn, one), metric(drawn, other)),
        y,
        first,
        second,
        n_resamples=n_resamples,
        level=level,
        random_state=random_state,
    )


def _replicate(
    metric: Metric, target: Target, arrays: list[Any], n_resamples: int, generator: np.random.Generator
) -> Floats:
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # counted and reported once, by the caller
        for _ in range(n_resamples):
            rows = generator.integers(0, len(target), len(target))
            values.append(metric(target.take(rows), *(array[rows] for array in arrays)))
    return np.asarray(values, dtype=np.float64)
