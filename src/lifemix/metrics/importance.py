"""Permutation importance over time: how much the Brier score rises when a feature is shuffled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from .._types import FloatArray
from ..checks import Whole, as_array, as_pandas, check_times
from ..errors import InputError
from ..target import TargetLike
from .brier import brier_score
from .inputs import observed, refuse_paths

__all__ = ["PermutationImportance", "permutation_importance"]


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """How much the Brier score rises when a feature is shuffled.

    Attributes
    ----------
    features : tuple of str
        The names of the features, or of groups of them.
    times : float array of shape (n_times,)
        The times of evaluation.
    score : float array of shape (n_times,)
        The Brier score on the rows as they are.
    mean, std : float array of shape (n_features, n_times)
        Mean and standard deviation of the rise over the repetitions.
    replicates : float array of shape (n_repeats, n_features, n_times)
        The rise in each repetition.
    """

    features: tuple[str, ...]
    times: FloatArray
    score: FloatArray
    mean: FloatArray
    std: FloatArray
    replicates: FloatArray


def permutation_importance(
    predict: Callable[[Any], ArrayLike],
    X: Any,
    y_train: TargetLike,
    y_test: TargetLike,
    times: ArrayLike,
    event: int | None = None,
    *,
    features: Sequence[Any] | None = None,
    n_repeats: int = 5,
    random_state: int | np.random.Generator | None = None,
) -> PermutationImportance:
    """Rise of the Brier score at each time when one feature is shuffled among the rows of ``X``.

    ``I_j(t)`` is the mean over repetitions of ``BS(t; X with column j shuffled) - BS(t; X)``. A
    value near 0 means that the model does not use the feature, or that another column carries the
    same information.

    Parameters
    ----------
    predict : callable
        From a table like ``X`` to survival at the times, (n, n_times), or with ``event=m`` to one
        minus the cumulative incidence of m: ``lambda X: model.predict_survival_function(X,
        times)``.
    X : DataFrame or array of shape (n, n_features)
        The rows of ``y_test``, preferably rows that the model was not fitted to.
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    times : array-like of shape (n_times,)
        Times at which to evaluate.
    event : int, optional
        The event type; None for events of any type.
    features : sequence of names, optional
        Which columns (of an array: column numbers); a tuple of names shares one shuffle. None for
        all columns.
    n_repeats : int, default 5
        Number of shuffles per feature.
    random_state : int, Generator or None, default None
        Random seed.

    Returns
    -------
    PermutationImportance
        ``features``, ``times``, ``score``, ``mean``, ``std`` and ``replicates``.

    References
    ----------
    Breiman (2001). Random forests. Machine Learning 45, 5-32.
    https://doi.org/10.1023/A:1010933404324

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.5, 3.0, (200, 2))
    >>> y = make_target(rng.exponential(X[:, 0]), np.ones(200, dtype=int))
    >>> times = np.array([0.5, 1.0])
    >>> result = metrics.permutation_importance(
    ...     lambda X: np.exp(-times / X[:, [0]]), X, y, y, times, random_state=0
    ... )
    >>> result.mean.shape
    (2, 2)
    >>> print(result.mean[1])  # the second column is not used
    [0. 0.]
    """
    grid = check_times(times)
    refuse_paths(y_test, "y_test")
    test = observed(y_test, "y_test")
    X = X.toarray() if sparse.issparse(X) else as_pandas(X)
    is_frame = isinstance(X, pd.DataFrame)
    if not is_frame and np.ndim(X) != 2:
        raise InputError(f"X must be a table of two dimensions; got shape {np.shape(X)}.")
    table = X if is_frame else pd.DataFrame(as_array(X))
    if len(table) != len(test):
        raise InputError(f"X must have the rows of y_test, {len(test)}; got {len(table)}.")
    names, groups = [], []
    for feature in table.columns if features is None else features:
        group = list(feature) if isinstance(feature, tuple) else [feature]
        unknown = [column for column in group if column not in table.columns]
        if unknown:
            raise InputError(
                f"features must be columns of X; got {unknown}, X has {list(table.columns[:10])}."
            )
        names.append(" + ".join(str(column) if is_frame else f"x{column}" for column in group))
        groups.append(group)
    Whole(1)("n_repeats", n_repeats)
    rng = np.random.default_rng(random_state)

    def score(table: pd.DataFrame) -> FloatArray:
        survival = np.asarray(predict(table if is_frame else table.to_numpy()))
        return np.asarray(brier_score(y_train, test, survival, grid, event))

    base_score = score(table)
    replicates = np.empty((n_repeats, len(groups), len(grid)))
    for number, group in enumerate(groups):
        for repeat in range(n_repeats):
            order = rng.permutation(len(table))
            shuffled = table.copy()
            shuffled[group] = table[group].iloc[order].set_axis(table.index)
            replicates[repeat, number] = score(shuffled) - base_score
    return PermutationImportance(
        tuple(names), grid, base_score, replicates.mean(axis=0), replicates.std(axis=0), replicates
    )
