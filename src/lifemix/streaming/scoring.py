"""Models on a source, block by block: predictions written to a file, and the quality of a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..checks import check_times
from ..errors import InputError
from ..metrics import evaluate as measured
from ..splits import default_horizons
from .blocks import RowBlock, join_blocks
from .scan import Shares
from .source import TableSource
from .writing import written_table

__all__ = ["evaluate", "likelihood_and_sample", "write_predictions"]

_SAMPLE = 50_000  # rows that concordance, Brier score and AUC are computed from


def write_predictions(
    model: Any, source: TableSource, path: str | os.PathLike[str], times: ArrayLike, quantiles: Sequence[float] = ()
) -> int:
    """Predict all rows of a source and write them to a file, a block at a time.

    Parameters
    ----------
    model : fitted survival model
        ``DeepSurvivalMachines`` or another model of this package.
    source : TableSource
        The rows; it needs no outcome.
    path : path-like
        A .parquet, .csv or .tsv file; it appears when all rows are written.
    times : array-like of shape (n_times,)
        Times from the origin.
    quantiles : sequence of float, default ()
        Quantiles of the time besides the median, of models that predict distributions.

    Returns
    -------
    int
        The number of rows written: ``row`` (from 1), ``survival_<time>``, with several event types
        ``incidence_<type>_<time>``, ``median`` and ``quantile_<q>``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.streaming import TableSource, write_predictions
    >>> data = datasets.load_metabric()
    >>> folder = Path(tempfile.mkdtemp())
    >>> data.X.to_csv(folder / "new.csv", index=False)
    >>> model = CoxPH().fit(data.X, data.y)
    >>> write_predictions(model, TableSource(folder / "new.csv"), folder / "out.csv", [60, 120])
    1904

    """
    at, count = check_times(times, warn_unsorted=True), 0
    with written_table(Path(path)) as write:
        for _, block in source.raw_blocks():
            if len(block):
                predicted = _predicted(model, block.frame(), at, list(quantiles))
                write(pd.DataFrame({"row": block.row + 1} | predicted))
                count += len(block)
    return count


def _predicted(model: Any, X: pd.DataFrame, times: Any, quantiles: list[float]) -> dict[str, Any]:
    """Return the columns of the predictions of some rows."""
    if hasattr(model, "predict_distribution"):
        distribution = model.predict_distribution(X)
        survival, incidences = distribution.survival(times), distribution.cumulative_incidences
    else:
        distribution, survival = None, model.predict_survival_function(X, times)
        incidences = lambda at: model.predict_cumulative_incidences(X, at)  # noqa: E731
    columns = {f"survival_{time:.10g}": survival[:, i] for i, time in enumerate(times)}
    if model.n_events_ > 1:
        for event, curve in enumerate(incidences(times), 1):
            columns |= {f"incidence_{event}_{time:.10g}": curve[:, i] for i, time in enumerate(times)}
    if distribution is not None:
        columns["median"] = distribution.median()
        if quantiles:
            values = distribution.quantile(quantiles)
            columns |= {f"quantile_{q:g}": values[:, i] for i, q in enumerate(quantiles)}
    return columns


def evaluate(
    model: Any, source: TableSource, horizons: ArrayLike | None = None, sample: int = _SAMPLE, random_state: int = 0
) -> pd.DataFrame:
    """Measure a model on a source: the log-likelihood of all rows, other measures on a random sample of them.

    Parameters
    ----------
    model : fitted survival model
        ``DeepSurvivalMachines`` or another model of this package.
    source : TableSource
        Rows with outcome that the model was not fitted to.
    horizons : array-like of shape (h,), optional
        Times of the measures; by default quartiles of the training event times.
    sample : int, default 50000
        About how many rows concordance, Brier score and AUC are computed from; they are not the sum of parts.
    random_state : int, default 0
        Which rows are in the sample.

    Returns
    -------
    DataFrame
        As ``metrics.evaluate``, with a first line ``log_likelihood``, the mean per row over all rows, where the model
        has one. Of interval-censored and left-truncated rows there is only the log-likelihood.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> from lifemix.baselines import CoxPH
    >>> from lifemix.streaming import TableSource, evaluate
    >>> data = datasets.load_metabric()
    >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> data.X.assign(time=data.y["time"], event=data.y["event"]).to_parquet(path)
    >>> model = CoxPH().fit(data.X, data.y)
    >>> table = evaluate(model, TableSource(path, "time", "event"), [60, 120])
    >>> table["metric"].unique().tolist()[:3]
    ['concordance', 'brier', 'auc']

    """
    some, likelihood, _ = likelihood_and_sample(model, source, sample, random_state)
    first = [] if likelihood is None else [("log_likelihood", np.nan, np.nan, likelihood)]
    found = pd.DataFrame(first, columns=["metric", "event", "horizon", "value"])
    if some.outcome.interval.any() or some.outcome.truncated.any():
        return found
    known = model.training_target_
    at = default_horizons(known) if horizons is None else horizons
    table = measured(model, known, some.frame(), some.outcome, at)
    return pd.concat([found, table], ignore_index=True) if first else table


def likelihood_and_sample(
    model: Any, source: TableSource, sample: int, seed: int
) -> tuple[RowBlock, float | None, int]:
    """Return a sample of the rows, the mean log-likelihood of all of them by weight, and how many they are."""
    shares = Shares(0.0, min(1.0, sample / max(source.n_rows, 1)), seed)
    kept, total, weight, count = [], 0.0, 0.0, 0
    for _, block in source.raw_blocks():
        if not len(block):
            continue
        count += len(block)
        if hasattr(model, "log_likelihood"):
            total += model.log_likelihood(block.frame(), block.outcome, block.weight)
            weight += float(block.weight.sum())
        rows = shares.sampled(block)
        if rows.any():
            kept.append(block.take(np.flatnonzero(rows)))
    if not kept:
        raise InputError("the source has no rows with an outcome; expected some. Check the columns.")
    return join_blocks(kept), total / weight if weight else None, count
