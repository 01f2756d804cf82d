"""Choice among settings by the concordance on validation rows, as the paper does it for its baselines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..errors import SettingError
from ..metrics.predictions import take_rows
from ..preprocessing import TableLike
from ..splits import train_validation_split
from ..target import TargetLike, as_target

__all__ = ["Selection", "select_model"]


@dataclass(frozen=True)
class Selection:
    """The result of ``select_model``.

    Attributes
    ----------
    best : estimator
        The best candidate, fitted to the training part.
    index : int
        Its place among the candidates.
    scores : tuple of float
        The score of each candidate on the validation part.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH, select_model
    >>> data = datasets.load_metabric()
    >>> selection = select_model([CoxPH(penalty=p) for p in (0.0, 10.0)], data.X[:500], data.y[:500])
    >>> len(selection.scores)
    2
    """

    best: Any
    index: int
    scores: tuple[float, ...]


def select_model(
    candidates: Iterable[Any],
    X: TableLike,
    y: TargetLike,
    fraction: float = 0.2,
    random_state: int | np.random.Generator | None = 0,
) -> Selection:
    """Fit each candidate to a part of the rows and choose by ``score`` (mean C^td) on the other part.

    Parameters
    ----------
    candidates : iterable of estimators
        Models with ``fit`` and ``score``; they are cloned.
    X : DataFrame or array of n rows
        Covariates.
    y : target
        n subjects.
    fraction : float, default 0.2
        Share of the validation part.
    random_state : int, Generator or None, default 0
        Random seed of the split.

    Returns
    -------
    Selection
        ``best``, ``index`` and ``scores``.

    Notes
    -----
    The paper's DeepHit: ``select_model([DeepHit(**s) for s in deephit_settings(10)], X, y)`` with
    ``lifemix.experiments.learners.deephit_settings``; its forest:
    ``select_model([RandomSurvivalForest.paper(n) for n in PAPER_TREES], X, y)``.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH, select_model
    >>> data = datasets.load_metabric()
    >>> selection = select_model([CoxPH(penalty=p) for p in (0.0, 10.0)], data.X[:500], data.y[:500])
    >>> selection.best.penalty == (0.0, 10.0)[selection.index]
    True
    """
    models = [clone(candidate) for candidate in candidates]
    if not models:
        raise SettingError("candidates must hold at least one estimator; got none.")
    target = as_target(y)
    training, validation = train_validation_split(target, fraction=fraction, random_state=random_state)
    scores, best, index = [], None, -1
    for i, model in enumerate(models):
        model.fit(take_rows(X, training), target.take(training).to_array())
        scores.append(float(model.score(take_rows(X, validation), target.take(validation).to_array())))
        if best is None or scores[-1] > scores[index]:
            best, index = model, i
    return Selection(best, index, tuple(scores))
