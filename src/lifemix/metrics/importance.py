"""Permutation importance over time: how much worse the predictions get when one column is shuffled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..checks import Whole, check_times
from ..errors import InputError
from .brier import brier_score
from .inputs import Floats, observed

__all__ = ["PermutationImportance", "permutation_importance"]


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """How much the score rises when a feature is shuffled; features in the order of the table.

    ``mean`` and ``std`` over the repetitions, (n_features, n_times); ``replicates``, (n_repeats, n_features, n_times);
    ``score`` on the rows as they are, (n_times,).
    """

    features: tuple[str, ...]
    times: Floats
    score: Floats
    mean: Floats
    std: Floats
    replicates: Floats


def permutation_importance(
    predict: Callable[[Any], ArrayLike],
    X: Any,
    y_train: Any,
    y_test: Any,
    times: ArrayLike,
    event: int | None = None,
    *,
    features: Sequence[Any] | None = None,
    n_repeats: int = 5,
    random_state: int | np.random.Generator | None = None,
) -> PermutationImportance:
    """Rise of the Brier score at each time when the values of one feature are shuffled among the rows of ``X``.

    I_j(t) = mean over repetitions of BS(t; X with column j shuffled) - BS(t; X). Near 0: the model does not need it, or
    another column says the same. Features that belong together may share one shuffle: give a tuple of names.

    predict: from a table like X to survival at the times, (n, m); with ``event=m`` to one minus the cumulative
    incidence, for example ``lambda X: model.predict_survival_function(X, times)``.
    X: the rows of ``y_test``, best rows that the model was not fitted on.
    features: which columns, by name (an array's by number); all of them if None.
    """
    grid = check_times(times)
    test = observed(y_test, "y_test")
    groups = _groups(X, features)
    if len(X) != len(test):
        raise InputError(f"X must have the rows of y_test, {len(test)}; got {len(X)}.")
    Whole(1)("n_repeats", n_repeats)
    generator = np.random.default_rng(random_state)

    def score(table: Any) -> Floats:
        return np.asarray(brier_score(y_train, test, np.asarray(predict(table)), grid, event))

    base = score(X)
    replicates = np.empty((n_repeats, len(groups), len(grid)))
    for number, (_, columns) in enumerate(groups):
        for repeat in range(n_repeats):
            replicates[repeat, number] = score(_shuffled(X, columns, generator)) - base
    names = tuple(name for name, _ in groups)
    return PermutationImportance(names, grid, base, replicates.mean(axis=0), replicates.std(axis=0), replicates)


def _groups(X: Any, features: Sequence[Any] | None) -> list[tuple[str, list[int]]]:
    """Return the name and the positions of the columns of each feature, or group of them."""
    named = isinstance(X, pd.DataFrame)
    if not named and np.ndim(X) != 2:
        raise InputError(f"X must be a table of two dimensions; got shape {np.shape(X)}.")
    columns = list(X.columns) if named else list(range(np.shape(X)[1]))
    groups = []
    for feature in columns if features is None else features:
        members = list(feature) if isinstance(feature, tuple) else [feature]
        unknown = [member for member in members if member not in columns]
        if unknown:
            raise InputError(f"features must be columns of X; got {unknown}, X has {columns[:10]}.")
        name = " + ".join(str(member) if named else f"x{member}" for member in members)
        groups.append((name, [columns.index(member) for member in members]))
    return groups


def _shuffled(X: Any, columns: list[int], generator: np.random.Generator) -> Any:
    """Return a copy of the table in which some columns are shuffled, together."""
    order = generator.permutation(len(X))
    if not isinstance(X, pd.DataFrame):
        array = np.array(X)
        array[:, columns] = array[order][:, columns]
        return array
    table = X.copy()
    for i in columns:
        table[X.columns[i]] = X.iloc[order, i].set_axis(X.index)
    return table
