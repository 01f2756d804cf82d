"""The columns of predictions, the same for ``lifemix predict`` and for every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from .._types import FloatArray
from ..errors import SettingError
from ..preprocessing import TableLike

__all__ = ["predicted_columns", "predicted_names"]


def predicted_columns(
    model: Any,
    X: TableLike,
    times: Sequence[float],
    names: Sequence[str],
    quantiles: Sequence[float] = (),
) -> pd.DataFrame:
    """Return survival and, with several event types, their incidences at each time, the median and other quantiles.

    Parameters
    ----------
    model : fitted model
        Any model of the package.
    X : table of n rows
        The columns of training.
    times : sequence of float
        Times from the origin, ascending.
    names : sequence of str
        The name of each event type.
    quantiles : sequence of float
        Quantiles of the time besides the median; refused for a model without ``predict_distribution``.

    Returns
    -------
    DataFrame of n rows
        The columns of ``lifemix predict`` without that of the identifier, numbered from 0.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> from lifemix.scoring import predicted_columns
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(8,), max_epochs=2).fit(data.X[:500], data.y[:500])
    >>> list(predicted_columns(model, data.X[:3], [60.0, 120.0], ["death"]).columns)
    ['survival_60', 'survival_120', 'median']

    """
    if not hasattr(model, "predict_distribution"):
        refuse_quantiles(model, quantiles)
        incidences = partial(model.predict_cumulative_incidences, X)
        return pd.DataFrame(
            _curves(model, times, names, model.predict_survival_function(X, times), incidences)
        )
    distribution: Any = model.predict_distribution(X)
    columns = _curves(
        model, times, names, distribution.survival(times), distribution.cumulative_incidences
    )
    columns["median"] = distribution.median()
    if quantiles:
        values = distribution.quantile(quantiles)
        columns |= {f"quantile_{q:g}": values[:, i] for i, q in enumerate(quantiles)}
    return pd.DataFrame(columns)


def _curves(
    model: Any,
    times: Sequence[float],
    names: Sequence[str],
    survival: FloatArray,
    incidences: Callable[..., Any],
) -> dict[str, FloatArray]:
    """Return the columns of survival and, for several event types, of their cumulative incidences."""
    columns = {f"survival_{t:.10g}": survival[:, i] for i, t in enumerate(times)}
    if model.n_events_ > 1:  # all event types for the cost of one
        for name, incidence in zip(names, incidences(times), strict=True):
            word = "_".join(name.removeprefix("event ").split())
            columns |= {f"incidence_{word}_{t:.10g}": incidence[:, i] for i, t in enumerate(times)}
    return columns


def predicted_names(
    model: Any, times: Sequence[float], names: Sequence[str], quantiles: Sequence[float] = ()
) -> tuple[str, ...]:
    """Return the names of the columns, which depend on the event types and the kind of the model."""
    nothing = [np.zeros((0, len(times)))] * model.n_events_
    curves = tuple(_curves(model, times, names, nothing[0], lambda times: nothing))
    if hasattr(model, "predict_distribution"):
        return (*curves, "median", *(f"quantile_{q:g}" for q in quantiles))
    refuse_quantiles(model, quantiles)
    return curves


def refuse_quantiles(model: Any, quantiles: Sequence[float]) -> None:
    """Refuse quantiles of a model that has curves only."""
    if quantiles:
        raise SettingError(
            f"a {type(model).__name__} has no quantiles; got {list(quantiles)}. Leave them out."
        )
