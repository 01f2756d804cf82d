"""Confidence intervals for any metric by the bootstrap: subjects are drawn with replacement.

The limits are bias-corrected and accelerated (BCa): quantiles of the resamples whose levels allow
for the bias of the metric, from the share of resamples below its value, and for its skewness, from
a jackknife over groups of subjects.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from .._types import FloatArray, IndexArray
from ..checks import Whole, warn_user
from ..errors import InputError, LifemixWarning
from ..target import Target, TargetLike, as_target
from .inputs import check_level

__all__ = ["BootstrapResult", "bootstrap", "bootstrap_difference", "limits_of_values"]

Metric = Callable[..., Any]
_JACKKNIFE_GROUPS = 50  # more hardly change the limits, and each costs as much as a resample


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
        Confidence limits, bias-corrected and accelerated.
    replicates : float array of shape (n_resamples, ...)
        The metric on each resample; NaN if it is not defined.
    """

    value: Any
    standard_error: Any
    lower: Any
    upper: Any
    replicates: FloatArray


def bootstrap(
    metric: Metric,
    y: TargetLike,
    *predictions: ArrayLike,
    n_resamples: int = 500,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapResult:
    """Bootstrap interval of ``metric(y, *predictions)``.

    Subjects are drawn with replacement, with all their rows.

    The interval is bias-corrected and accelerated (BCa). If the target has no subjects, rows are
    drawn. In a resample, a subject that was drawn twice counts as two subjects.

    Parameters
    ----------
    metric : callable
        A function of a target and of arrays with the same rows that returns a number or an array,
        for example ``lambda y, risk: concordance_td(y_train, y, risk, horizon)``.
    y : target
        n rows, possibly several per subject.
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
        ``value``, ``standard_error``, ``lower``, ``upper`` and ``replicates``. Resamples on which
        the metric is NaN are left out of the interval; one warning says how many. Besides the
        resamples, the metric is evaluated on at most 50 parts of the data.

    See Also
    --------
    bootstrap_difference : two models on the same subjects.

    References
    ----------
    Efron (1979). Bootstrap methods: another look at the jackknife. Annals of Statistics 7, 1-26.
    https://doi.org/10.1214/aos/1176344552

    Efron (1987). Better bootstrap confidence intervals. Journal of the American Statistical
    Association 82, 171-185. https://doi.org/10.1080/01621459.1987.10478410

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
    if target.path is not None and any(array.shape[:1] != (len(target),) for array in arrays):
        target = target.joined()  # one prediction per subject
    for array in arrays:
        if array.shape[:1] != (len(target),):
            raise InputError(
                f"every prediction must have {len(target)} rows, as y has; got shape {array.shape}."
            )
    Whole(2)("n_resamples", n_resamples)
    check_level(level)
    value = metric(target, *arrays)
    shape, size = np.shape(value), np.size(value)
    generator = np.random.default_rng(random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # counted and reported once, below
        replicates = [
            np.ravel(metric(sample, *(array[rows] for array in arrays)))
            for rows, sample in _resamples(target, n_resamples, generator)
        ]
        jackknife = [
            np.ravel(metric(target.take(rows), *(array[rows] for array in arrays)))
            for rows in _jackknife_rows(target)
        ]
    columns = np.asarray(replicates, dtype=np.float64)
    without_group = np.asarray(jackknife, dtype=np.float64).reshape(-1, size)
    n_undefined = int(np.isnan(columns).any(axis=1).sum())
    if n_undefined:
        warn_user(
            f"the metric had no value on {n_undefined} of {n_resamples} samples drawn; "
            "the interval is from the others."
        )
    values = np.ravel(value).astype(np.float64)
    limits = np.array(
        [
            _error_and_limits(values[i], columns[:, i], without_group[:, i], level)
            for i in range(size)
        ]
    )
    error, lower, upper = (column.reshape(shape)[()] for column in limits.reshape(-1, 3).T)
    return BootstrapResult(value, error, lower, upper, columns.reshape(-1, *shape))


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
    """Bootstrap interval of ``metric(y, first) - metric(y, second)``, of two models.

    Both models are evaluated on the same resamples, so that what is difficult about a resample
    cancels in the difference.

    Parameters
    ----------
    metric : callable
        A function of a target and of one array, as in ``bootstrap``.
    y : target
        n rows, possibly several per subject.
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
    >>> result = metrics.bootstrap_difference(
    ...     metrics.concordance, y, good, poor, n_resamples=50, random_state=0
    ... )
    >>> bool(result.lower > 0)
    True
    """
    return bootstrap(
        lambda y, first, second: np.subtract(metric(y, first), metric(y, second)),
        y,
        first,
        second,
        n_resamples=n_resamples,
        level=level,
        random_state=random_state,
    )


def limits_of_values(
    metric: Metric,
    y: Target,
    *predictions: ArrayLike,
    n_resamples: int,
    random_state: int | np.random.Generator | None,
) -> tuple[Any, Any]:
    """Return 95 % limits of a metric, without repeating the warnings of its value.

    They are NaN if the value is, and with fewer than 2 resamples.
    """
    if n_resamples < 2:
        return np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        result = bootstrap(
            metric, y, *predictions, n_resamples=n_resamples, random_state=random_state
        )
    return result.lower, result.upper


def _resamples(
    target: Target, n_resamples: int, generator: np.random.Generator
) -> Iterator[tuple[IndexArray, Target]]:
    """Yield rows and target of each resample: n subjects, drawn with replacement."""
    n, number = target.n_subjects, target.subject_numbers
    ends = np.cumsum(np.bincount(number))
    rows_of_subjects = np.split(np.argsort(number, kind="stable"), ends[:-1])
    for _ in range(n_resamples):
        drawn = generator.integers(0, n, n)
        if target.subject is None:
            yield drawn, target.take(drawn)
            continue
        drawn_rows = [rows_of_subjects[subject] for subject in drawn]
        rows = np.concatenate(drawn_rows)
        # A subject drawn twice counts as two.
        draw_number = np.repeat(np.arange(n), [len(rows) for rows in drawn_rows])
        sample = replace(target.take(rows), subject=draw_number)
        if sample.path is not None:
            path_offset = draw_number * (sample.path.max() + 1)
            sample = replace(sample, path=sample.path + path_offset)
        yield rows, sample


def _jackknife_rows(target: Target) -> Iterator[IndexArray]:
    """Yield the rows without each of at most 50 groups of subjects."""
    n_groups = min(_JACKKNIFE_GROUPS, target.n_subjects)
    group = target.subject_numbers % n_groups
    for number in range(n_groups if n_groups > 1 else 0):
        yield np.flatnonzero(group != number)


def _error_and_limits(
    value: float, replicates: FloatArray, without_group: FloatArray, level: float
) -> tuple[float, float, float]:
    """Return the standard error and the BCa limits of one number; NaN if it has no value."""
    replicates = replicates[~np.isnan(replicates)]
    count = len(replicates)
    if np.isnan(value) or count < 2:
        return np.nan, np.nan, np.nan
    below = ((replicates < value).sum() + 0.5 * (replicates == value).sum()) / count
    bias = ndtri(np.clip(below, 0.5 / count, 1 - 0.5 / count))
    acceleration = 0.0
    if len(without_group):
        deviation = without_group.mean() - without_group
        spread = np.sqrt((deviation**2).sum())
        if spread > 0:  # not if the metric is NaN without some group
            acceleration = ((deviation / spread) ** 3).sum() / 6
    z = ndtri([(1 - level) / 2, (1 + level) / 2])
    slope = 1 - acceleration * (bias + z)
    levels = np.where(slope > 0, ndtr(bias + (bias + z) / np.where(slope > 0, slope, 1.0)), z > 0)
    lower, upper = np.quantile(replicates, levels)
    return float(replicates.std(ddof=1)), float(lower), float(upper)
