"""The data sets of the experiments by name, and how the paper prepares them.

SYNTHETIC's times are rounded to whole numbers, so that 0 stands for [0, 0.5): its rows at 0 get the time 0.25, the
middle, and the three deaths of FLCHAIN on day 0 get half a day. It is so for every model alike and keeps the order of
all times. Otherwise each model would have to make something of events at time 0 in a way of its own; DSM takes them as
intervals, and trains several times slower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import datasets
from ..datasets import Dataset
from ..errors import SettingError
from ..preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor
from ..target import as_target

__all__ = ["SOURCES", "Source", "paper_preprocessor", "read"]

SOURCES = ("support", "metabric", "synthetic", "seer", "flchain", "ebmt", "metabric_causes")
_SYNTHETIC_SEED = 0
_TIME_ZERO = {"synthetic": 0.25, "flchain": 0.5}


@dataclass(frozen=True)
class Source:
    """A data set by name, and the path of the user's file where it is not ours to give."""

    name: str
    path: str | None = None

    def __post_init__(self) -> None:
        if self.name not in SOURCES:
            raise SettingError(f"unknown data set; got {self.name!r}, expected one of {', '.join(SOURCES)}.")
        if self.name == "seer" and self.path is None:
            raise SettingError("SEER may not be passed on; give the path of your own file: --data PATH.")
        if self.path is not None and self.name not in ("seer", "synthetic"):
            raise SettingError(f"--data is for synthetic and seer; got it with {self.name}. Leave it out.")


def read(source: Source, rows: int | None = None) -> Dataset:
    """Return the data of a source; where asked for, only some rows, drawn at random."""
    data = _without_zero(_read(source), _TIME_ZERO.get(source.name, 0.0))
    if rows is None or rows >= len(data.X):
        return data
    chosen = np.sort(np.random.default_rng(0).permutation(len(data.X))[:rows])
    return replace(data, X=data.X.iloc[chosen], y=as_target(data.y).take(chosen).to_array())


def _read(source: Source) -> Dataset:
    if source.name == "synthetic":
        return datasets.load_synthetic(source.path) if source.path else datasets.make_synthetic(30_000, _SYNTHETIC_SEED)
    if source.name == "seer":
        assert source.path is not None
        return datasets.load_seer(source.path, unknown="kept")
    loaded: Dataset = getattr(datasets, f"load_{source.name}")()
    return loaded


def _without_zero(data: Dataset, time: float) -> Dataset:
    """Give the rows at time 0 another time."""
    target = as_target(data.y)
    moved = replace(target, time=np.where(target.time == 0, time, target.time))
    return replace(data, y=moved.to_array())


def paper_preprocessor(name: str) -> TabularPreprocessor:
    """Return the paper's preparation: fixed normal values (SUPPORT), mean or mode, no indicators of what was missing.

    Coding by one column a level and scaling by mean and standard deviation are not stated in the paper.
    """
    fills = dict(SUPPORT_NORMAL_VALUES) if name == "support" else None
    return TabularPreprocessor(fill_values=fills, missing_indicators=False)
