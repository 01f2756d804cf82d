"""Confidence intervals for any metric by the bootstrap: subjects are drawn with replacement, with all their rows.

The limits are bias-corrected and accelerated (BCa): quantiles of the resamples whose levels allow for the bias of the
metric, from the share of resamples below its value, and for its skewness, from a jackknife over parts of the subjects.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
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

__all__ = ["BootstrapResult", "bootstrap", "bootstrap_difference"]

Metric = Callable[..., Any]
_JACKKNIFE_PARTS = 50  # more hardly change the limits, and each costs as much as a resample


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
        The metric on each resample; NaN where it is not defined.
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
    """Bootstrap interval of ``metric(y, *predictions)``: subjects are drawn with replacement, with all their rows.

    The interval is bias-corrected and accelerated (BCa). Where the target has no subjects, rows are drawn. In a
    resample, a subject that was drawn twice counts as two subjects.

    Parameters
    ----------
    metric : callable
        A function of a target and of arrays with the same rows that returns a number or an array, for example
        ``lambda y, risk: concordance_td(y_train, y, risk, horizon)``.
    y : target
        n rows; their subjects, where it has them.
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
        are left out of the interval; one warning says how many. Besides the resamples, the metric is evaluated on
        at most 50 parts of the data.

    See Also
    --------
    bootstrap_difference : two models on the same subjects.

    References
    ----------
    Efron (1979). Bootstrap methods: another look at the jackknife. Annals of Statistics 7, 1-26.
    https://doi.org/10.1214/aos/1176344552

    Efron (1987). Better bootstrap confidence intervals. Journal of the American Statistical Association 82, 171-185.
    https://doi.org/10.1080/01621459.1987.10478410

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
    replicates = _replicate(
        metric, target, arrays, n_resamples, np.random.default_rng(random_state)
    )
    kept = replicates[~np.isnan(replicates.reshape(n_resamples, -1)).any(axis=1)]
    if len(kept) < n_resamples:
        warn_user(
            f"the metric had no value on {n_resamples - len(kept)} of {n_resamples} samples drawn; "
            "the interval is from the others."
        )
    if len(kept) < 2:
        nothing = np.full(replicates.shape[1:], np.nan)[()]
        return BootstrapResult(value, nothing, nothing, nothing, replicates)
    lower, upper = _limits(
        np.asarray(value, dtype=np.float64), kept, _jackknife(metric, target, arrays), level
    )
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
    """Bootstrap interval of ``metric(y, first) - metric(y, second)``: two models on the same subjects.

    Both models are evaluated on the same resamples, so that what is difficult about a resample cancels in the
    difference.

    Parameters
    ----------
    metric : callable
        A function of a target and of one array, as in ``bootstrap``.
    y : target
        n rows; their subjects, where it has them.
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
    metric: Metric,
    target: Target,
    arrays: list[Any],
    n_resamples: int,
    generator: np.random.Generator,
) -> FloatArray:
    values = []
    draw = _sampler(target, generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # counted and reported once, by the caller
        for _ in range(n_resamples):
            rows, drawn = draw()
            values.append(metric(drawn, *(array[rows] for array in arrays)))
    return np.asarray(values, dtype=np.float64)


def _sampler(
    target: Target, generator: np.random.Generator
) -> Callable[[], tuple[IndexArray, Target]]:
    """Return a function that draws as many subjects as there are, and gives their rows and target."""
    n = target.n_subjects
    if target.subject is None:

        def draw_rows() -> tuple[IndexArray, Target]:
            rows = generator.integers(0, n, n)
            return rows, target.take(rows)

        return draw_rows
    number = target.subject_numbers
    by_subject = np.argsort(number, kind="stable")
    sizes = np.bincount(number)
    starts = np.cumsum(sizes) - sizes

    def draw_subjects() -> tuple[IndexArray, Target]:
        drawn = generator.integers(0, n, n)
        length = sizes[drawn]
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        rows = by_subject[np.repeat(starts[drawn], length) + within]
        copy = np.repeat(np.arange(n), length)
        taken = target.take(rows)
        return rows, replace(
            taken, subject=copy, path=None if taken.path is None else _paths(copy, taken.path)
        )

    return draw_subjects


def _paths(copy: IndexArray, path: IndexArray) -> IndexArray:
    """Number the paths of subjects that may have been drawn several times."""
    pairs = np.stack([copy, path], axis=1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)


def _jackknife(metric: Metric, target: Target, arrays: list[Any]) -> FloatArray:
    """Return the metric without each of some parts of the subjects, one part after the other."""
    number, n = target.subject_numbers, target.n_subjects
    parts = min(_JACKKNIFE_PARTS, n)
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        for part in range(parts if n > 1 else 0):
            rows = np.flatnonzero(number % parts != part)
            values.append(metric(target.take(rows), *(array[rows] for array in arrays)))
    return np.asarray(values, dtype=np.float64)


def _limits(
    value: FloatArray, replicates: FloatArray, without: FloatArray, level: float
) -> tuple[Any, Any]:
    """Return the bias-corrected and accelerated limits; each entry of an array has its own."""
    count = len(replicates)
    below = ((replicates < value).sum(axis=0) + 0.5 * (replicates == value).sum(axis=0)) / count
    bias = ndtri(np.clip(below, 0.5 / count, 1 - 0.5 / count))
    acceleration = _acceleration(without)
    limits = []
    for z in ndtri([(1 - level) / 2, (1 + level) / 2]):
        slope = 1 - acceleration * (bias + z)
        at = np.where(
            slope > 0, ndtr(bias + (bias + z) / np.where(slope > 0, slope, 1.0)), float(z > 0)
        )
        limits.append(_quantiles(replicates, at))
    return limits[0], limits[1]


def _acceleration(without: FloatArray) -> Any:
    """Return the skewness of the jackknife values as BCa takes it; 0 where they are alike or not known."""
    if len(without) < 2:
        return 0.0
    away = without.mean(axis=0) - without
    spread = np.sqrt((away**2).sum(axis=0))
    known = np.isfinite(spread) & (spread > 0)
    return np.where(known, ((away / np.where(known, spread, 1.0)) ** 3).sum(axis=0) / 6, 0.0)


def _quantiles(replicates: FloatArray, level: FloatArray) -> Any:
    """Return the quantile of each column at its own level, in the shape of the metric."""
    columns, levels = (
        replicates.reshape(len(replicates), -1),
        np.broadcast_to(level, replicates.shape[1:]).ravel(),
    )
    found = np.array([np.quantile(columns[:, i], one) for i, one in enumerate(levels)])
    return found.reshape(replicates.shape[1:])[()]
