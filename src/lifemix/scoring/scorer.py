"""A function from a batch of rows to their predictions, for every engine that hands out batches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..checks import check_shares, check_times
from ..errors import CovariateError, InputError, SettingError
from ..persistence import load
from ..splits import default_horizons
from ..survival_model import SurvivalModel
from ..target import event_names as all_event_names
from ..target import names_of_labels
from .batches import as_frame
from .columns import predicted_columns, predicted_names

__all__ = ["Scorer"]

_BLOCK = 20_000  # rows predicted at once, so that long batches need little memory


class Scorer:
    """A function from a batch of rows to their predictions, which can be sent to other processes.

    Made from the path of a model file it is a few hundred bytes when pickled, and every process reads the file once;
    the workers must see the same path. Made from a model, the model goes along. What comes in decides what comes out: a
    DataFrame of pandas (with its index), a DataFrame of polars, a table or record batch of Arrow, or a dictionary of
    arrays. Batches without rows give no rows, with the same columns.

    Parameters
    ----------
    model : str, path or fitted model
        A file that ``lifemix.save`` wrote, or any model of the package.
    times : array-like, optional
        Times at which survival, and with several event types their incidences, are predicted; sorted, each once.
        Default: those that ``lifemix predict`` takes.
    quantiles : array-like, optional
        Quantiles of the time besides the median.
    keep : sequence of str, optional
        Columns of the batch that go along in front, such as an identifier.
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
        self._source: Any = model
        self._digest = ""
        if isinstance(model, (str, os.PathLike)):
            self._source = os.fspath(Path(model).absolute())
            self._digest = _digest(self._source)
        elif not isinstance(model, SurvivalModel):
            raise SettingError(
                f"model must be a path or a fitted model of the package; got {type(model).__name__}. Save the model "
                "with lifemix.save and give the path."
            )
        if isinstance(keep, str):
            raise SettingError(
                f"keep must be a list of column names; got {keep!r}. Write keep=[{keep!r}]."
            )
        self.keep = tuple(keep)
        fitted = self.model
        given = default_horizons(fitted.training_target_) if times is None else check_times(times)
        self.times: tuple[float, ...] = tuple(np.unique(given).tolist())
        self.quantiles: tuple[float, ...] = tuple(
            check_shares(quantiles, "quantiles").tolist() if len(quantiles) else ()
        )
        self.event_names = _names(fitted, event_names)
        self.columns = predicted_names(fitted, self.times, self.event_names, self.quantiles)

    @property
    def model(self) -> Any:
        """The model; from a file it is read once in each process."""
        return _loaded(self._source, self._digest) if self._digest else self._source

    @property
    def meta(self) -> pd.DataFrame:
        """The predictions as a DataFrame of pandas without rows: ``meta=`` of Dask, where ``keep`` is empty."""
        return pd.DataFrame({name: np.empty(0) for name in self.columns})

    @property
    def spark_schema(self) -> str:
        """The predictions as a schema of Spark; the columns of ``keep`` go before it, such as ``"id long, "``."""
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
        frame, back = as_frame(batch)
        model = self.model
        absent = [name for name in (*self.keep, *_needed(model)) if name not in frame.columns]
        if absent:
            raise CovariateError(
                f"the batch lacks {len(absent)} columns: {', '.join(map(repr, absent[:10]))}; it has "
                f"{', '.join(map(repr, list(frame.columns)[:20]))}. Select the model's columns and those of keep."
            )
        X: Any = (
            frame[_needed(model)]
            if _needed(model)
            else frame.drop(columns=list(self.keep)).to_numpy()
        )
        starts = range(0, len(X), _BLOCK)
        parts = [self._block(model, X[start : start + _BLOCK]) for start in starts] or [self.meta]
        found = pd.concat(parts).set_axis(frame.index, axis=0)
        return back(pd.concat([frame[list(self.keep)], found], axis=1) if self.keep else found)

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
        for batch in batches:
            yield self(batch)

    def _block(self, model: Any, X: Any) -> pd.DataFrame:
        return predicted_columns(model, X, self.times, self.event_names, self.quantiles)


def _names(model: Any, given: Any) -> tuple[str, ...]:
    """Return the names of the event types: those given, those of the file, or their numbers."""
    labels = getattr(model, "metadata_", {}).get("events")
    if given is None and isinstance(labels, list) and len(labels) == model.n_events_:
        return names_of_labels([str(label) for label in labels])
    return all_event_names(given, model.n_events_)


def _needed(model: Any) -> list[str]:
    return [str(name) for name in getattr(model, "feature_names_in_", ())]


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(
            f"the model file {path} cannot be read: {error}. Check the path, on every worker."
        ) from None


@lru_cache(maxsize=4)
def _loaded(path: str, digest: str) -> Any:
    """Read a model file, once in each process; refuse another file than the one that the scorer was made from."""
    if _digest(path) != digest:
        raise InputError(
            f"the model file {path} is another one here than where the scorer was made. Copy the file to every "
            "worker, or make the scorer anew."
        )
    return load(path)
