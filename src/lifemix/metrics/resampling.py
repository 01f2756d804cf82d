"""Confidence intervals for any metric, by drawing the subjects again with replacement."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Whole
from ..errors import InputError, LifemixWarning
from ..target import Target, as_target
from .inputs import Floats, check_level

__all__ = ["BootstrapResult", "bootstrap", "bootstrap_difference"]

Metric = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """A metric with its uncertainty; ``value``, ``standard_error``, ``lower`` and ``upper`` have the metric's shape.

    ``replicates``, shape (n_resamples, ...), holds the metric on each of the samples drawn; NaN where it had no value.
    """

    value: Any
    standard_error: Any
    lower: Any
    upper: Any
    replicates: Floats


def bootstrap(
    metric: Metric,
    y: Any,
    *predictions: ArrayLike,
    n_resamples: int = 500,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapResult:
    """Percentile interval of ``metric(y, *predictions)`` over subjects drawn with replacement.

    metric: a function of a target and arrays with one row a subject, that returns a number or an array, for example
    ``lambda y, risk: concordance_td(y_train, y, risk, horizon)``.
    predictions: arrays of shape (n, ...), drawn along with the rows of ``y``.
    Samples on which the metric is NaN are left out of the interval; one warning says how many.
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
    y: Any,
    first: ArrayLike,
    second: ArrayLike,
    *,
    n_resamples: int = 500,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BootstrapResult:
    """Percentile interval of ``metric(y, first) - metric(y, second)``: two models on the same subjects.

    Both models see the same draws, so what is hard about a sample is hard for both and drops out of the difference.
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
