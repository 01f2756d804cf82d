"""Predictions for batches of rows, for engines that split a large table (Spark, Ray, Dask, ...).

The columns are those of ``lifemix predict``, one row of predictions per row of the batch.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .checks import as_pandas, check_shares, check_times
from .errors import CovariateError, InputError, SettingError
from .persistence import load
from .pipeline import final_model, split_pipeline
from .preprocessing import TableLike
from .splits import default_horizons
from .survival_model import SurvivalModel
from .target import event_names as names_of_events
from .target import names_of_labels

__all__ = ["Scorer", "predicted_columns"]

_BLOCK = 20_000  # rows predicted at once: LifeMix needs a value for each of 128 times per row


def predicted_columns(
    model: Any,
    X: TableLike,
    times: Sequence[float],
    names: Sequence[str],
    quantiles: Sequence[float] = (),
    survived_to: float | None = None,
) -> pd.DataFrame:
    """Return survival and, with several event types, their incidences; the median and quantiles.

    Parameters
    ----------
    model : fitted model
        Any model of the package, or a pipeline or search that ends with one.
    X : table of n rows
        The columns of training.
    times : sequence of float
        Times from the origin, ascending.
    names : sequence of str
        The name of each event type.
    quantiles : sequence of float
        Quantiles of the time besides the median; refused for a model without
        ``predict_distribution``.
    survived_to : float, optional
        Time that every row has survived, of a model with ``predict_distribution``.

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
    model, X = final_model(model, X)
    columns = _column_names(model, times, names, quantiles)
    has_distribution = hasattr(model, "predict_distribution")
    if has_distribution:
        distribution: Any = model.predict_distribution(X)
        if survived_to is not None:
            distribution = distribution.given(survived_to)
        curves = [distribution.survival(times)]
    else:
        curves = [model.predict_survival_function(X, times)]
    if model.n_events_ > 1 and has_distribution:
        curves += [*distribution.cumulative_incidences(times)]
    elif model.n_events_ > 1:
        curves += [*model.predict_cumulative_incidences(X, times)]
    if has_distribution:
        curves.append(distribution.median()[:, None])
        if quantiles:
            curves.append(distribution.quantile(quantiles))
    return pd.DataFrame(np.hstack(curves), columns=columns)


def _column_names(
    model: Any, times: Sequence[float], names: Sequence[str], quantiles: Sequence[float]
) -> list[str]:
    columns = [f"survival_{t:.10g}" for t in times]
    if model.n_events_ > 1:
        for name in names:
            word = "_".join(name.removeprefix("event ").split())
            columns += [f"incidence_{word}_{t:.10g}" for t in times]
    if hasattr(model, "predict_distribution"):
        columns += ["median", *(f"quantile_{q:g}" for q in quantiles)]
    elif quantiles:
        raise SettingError(
            f"a {type(model).__name__} has no quantiles; got {list(quantiles)}. Leave them out."
        )
    return columns


class Scorer:
    """A function from a batch of rows to their predictions, which can be sent to other processes.

    Constructed from the path of a model file, it is a few hundred bytes when pickled, and every
    process reads the file once; all workers must be able to read that path. Constructed from a
    model, it contains the model. Predictions have the form of the batch: a DataFrame of pandas
    (with its index), a DataFrame of polars, a table of Arrow (also for a record batch), or a
    dictionary of arrays. Batches without rows give no rows, with the same columns.

    Parameters
    ----------
    model : str, path or fitted model
        A file that ``lifemix.save`` wrote, any model of the package, or a pipeline or search that
        ends with one.
    times : array-like, optional
        Times at which survival, and with several event types their incidences, are predicted;
        sorted, without repetitions. Default: those of ``lifemix predict``.
    quantiles : array-like, optional
        Quantiles of the time besides the median.
    keep : sequence of str, optional
        Columns of the batch that precede the predictions, such as an identifier.
    event_names : mapping from code to name or sequence of str, optional
        Names of the event types in the names of the columns. Default: those in the file.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, datasets
    >>> from lifemix.scoring import Scorer
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(8,), max_epochs=2).fit(data.X[:500], data.y[:500])
    >>> score = Scorer(model, times=[60, 120])
    >>> score(data.X[500:503]).shape
    (3, 3)
    >>> score.columns
    ('survival_60', 'survival_120', 'median')

    """

    def __init__(
        self,
        model: str | os.PathLike[str] | SurvivalModel,
        times: Any = None,
        *,
        quantiles: Any = (),
        keep: Sequence[str] = (),
        event_names: Mapping[int, str] | Sequence[str] | None = None,
    ) -> None:
        if isinstance(keep, str):
            raise SettingError(
                f"keep must be a list of column names; got {keep!r}. Write keep=[{keep!r}]."
            )
        self.keep = tuple(keep)
        self._source: Any = model
        self._digest = ""
        if isinstance(model, (str, os.PathLike)):
            self._source = str(Path(model).absolute())
            self._digest = _digest(self._source)
        elif not isinstance(split_pipeline(model)[1], SurvivalModel):
            raise SettingError(
                "model must be a path, or a fitted model of the package, alone or in a pipeline; got "
                f"{type(model).__name__}. Save the model with lifemix.save and give the path."
            )
        fitted = split_pipeline(self.model)[1]
        if times is None:
            times = default_horizons(fitted.training_target_)
        self.times: list[float] = np.unique(check_times(times)).tolist()
        self.quantiles = check_shares(quantiles, "quantiles").tolist() if len(quantiles) else []
        labels = getattr(fitted, "metadata_", {}).get("events")
        if event_names is None and isinstance(labels, list) and len(labels) == fitted.n_events_:
            self.event_names = names_of_labels([str(label) for label in labels])
        else:
            self.event_names = names_of_events(event_names, fitted.n_events_)
        self.columns = tuple(_column_names(fitted, self.times, self.event_names, self.quantiles))

    @property
    def model(self) -> Any:
        """The model; from a file it is read once in each process."""
        return _load_once(self._source, self._digest) if self._digest else self._source

    @property
    def meta(self) -> pd.DataFrame:
        """Predictions of no rows, as a DataFrame: ``meta=`` of Dask if ``keep`` is empty."""
        return pd.DataFrame(columns=list(self.columns), dtype=np.float64)

    @property
    def spark_schema(self) -> str:
        """The schema of the predictions for Spark; put the columns of ``keep`` before it."""
        return ", ".join(f"`{name}` double" for name in self.columns)

    def __call__(self, batch: Any) -> Any:
        """Return the predictions of a batch.

        Parameters
        ----------
        batch : DataFrame, Arrow table or record batch, or dict of arrays
            Rows with the columns of training; others are not used.

        Returns
        -------
        the same kind of table
            The columns of ``keep``, then ``columns``; a record batch of Arrow gives a table.
        """
        table = pd.DataFrame(dict(batch)) if isinstance(batch, Mapping) else as_pandas(batch)
        if not isinstance(table, pd.DataFrame):
            raise InputError(
                "a batch must be a DataFrame of pandas or polars, a table of Arrow or a dict of "
                f"arrays; got {type(batch).__name__}. Ask the engine for one of these, such as "
                "batch_format='pandas' of Ray."
            )
        model, keep = self.model, list(self.keep)
        steps, last = split_pipeline(model)
        inputs = [str(name) for name in getattr([*steps, last][0], "feature_names_in_", ())]
        absent = [name for name in keep + inputs if name not in table.columns]
        if absent:
            raise CovariateError(
                f"the batch lacks {len(absent)} columns: {', '.join(map(repr, absent[:10]))}; it "
                f"has {', '.join(map(repr, table.columns[:20]))}. Select the model's columns and "
                "those of keep."
            )
        X: Any = table[inputs] if inputs else table.drop(columns=keep).to_numpy()
        predictions = [self.meta]
        for start in range(0, len(X), _BLOCK):
            rows = X[start : start + _BLOCK]
            predictions.append(
                predicted_columns(model, rows, self.times, self.event_names, self.quantiles)
            )
        predicted = pd.concat(predictions).set_axis(table.index)
        return _like(batch, pd.concat([table[keep], predicted], axis=1))

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the predictions of one batch after another: what ``mapInPandas`` of Spark takes.

        Parameters
        ----------
        batches : iterable of batches
            Each as in a call.

        Yields
        ------
        the same kind of table
            The predictions of each batch.
        """
        yield from map(self, batches)


def _like(batch: Any, predictions: pd.DataFrame) -> Any:
    """Return the predictions as a table of the kind of the batch."""
    if isinstance(batch, pd.DataFrame):
        return predictions
    arrays = {name: predictions[name].to_numpy() for name in predictions.columns}
    if isinstance(batch, Mapping):
        return arrays
    if type(batch).__module__.startswith("polars"):
        return type(batch)(arrays)
    import pyarrow as pa

    return pa.Table.from_pandas(predictions, preserve_index=False)


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(
            f"the model file {path} cannot be read: {error}. Check the path, on every worker."
        ) from None


@lru_cache(maxsize=4)
def _load_once(path: str, digest: str) -> Any:
    """Read the model file that the scorer was constructed from."""
    if _digest(path) != digest:
        raise InputError(
            f"the model file {path} differs from the one that the scorer was constructed from. "
            "Copy that file to every worker, or construct the scorer again."
        )
    return load(path)
