"""Scaling: training time and number of parameters of the paper's models, and how the time grows with the rows.

On SUPPORT and METABRIC, processor time of one thread. Up to the size of the data rows are drawn without replacement;
beyond it every row is there several times, and early stopping, which holds out copies of training rows, stops later
than on so many different rows: times there are upper bounds. DSM has one layer of 100 and four components, the forest
100 trees, DeepSurv and DeepHit the settings that the paper took.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import lifemix

from ..target import as_target
from .cells import Cell
from .data import Source
from .families import family
from .jobs import parameters_of
from .protocol import Protocol
from .records import Key, Record, key_of, rounded
from .study import Study, Summary
from .summary import mean_and_error

__all__ = ["SCALED", "ScalingJob", "scaling_studies"]

Setting = dict[str, Any]

SCALED: dict[str, Setting] = {
    "dsm": {"primitive": "weibull", "k": 4, "hidden": [100], "learning_rate": 1e-3, "discount": 1.0},
    "deepsurv": {},
    "deephit": {},
    "rsf": {"n_trees": 100},
    "cph": {},
}
"""The models and the setting of each."""
_SHARES = (1 / 8, 1 / 4, 1 / 2, 1, 2)
_REPEATS = (0, 1, 2)


def scaling_studies(quick: bool = False) -> list[Study]:
    """Return the study of each data set."""
    options: dict[str, Any] = {"folds": (0,), "run": "quick", "rows": 1500} if quick else {"folds": _REPEATS}
    return [scaling_study(Protocol(Source(name), **options)) for name in ("support", "metabric")]


def scaling_study(protocol: Protocol) -> Study:
    """Return the study of one data set; the folds of the protocol are repeats, with other rows and another seed."""
    data = protocol.source.name
    return Study(
        experiment="scaling",
        place=f"scaling-{data}",
        data=data,
        protocol=protocol,
        models=tuple(SCALED),
        jobs=lambda wanted: _jobs(protocol, wanted),
        summarise=lambda records, selection: _summary(records, len(protocol.dataset().X)),
        notes=() if protocol.rows is None else (f"At most {2 * protocol.rows:,} rows, and one fit of each size.",),
    )


@dataclass(frozen=True)
class ScalingJob:
    """One fit of one model to a number of rows."""

    protocol: Protocol
    model: str
    rows: int
    repeat: int

    @property
    def setting(self) -> Setting:
        """What stands in the record: the number of rows, and the model's setting."""
        return {"rows": self.rows} | SCALED[self.model]

    def keys(self) -> list[Key]:
        """Return the key of the record that the job gives."""
        p = self.protocol
        return [key_of(p.source.name, self.model, self.setting, 0.0, self.repeat, p.seed, p.run)]

    def run(self) -> Iterator[Record]:
        """Fit, and yield the record of its time."""
        protocol = self.protocol
        data, target = protocol.dataset(), as_target(protocol.dataset().y)
        order = np.random.default_rng([protocol.seed, self.repeat, self.rows]).permutation(len(target))
        chosen = np.resize(order, self.rows)
        X, y = data.X.iloc[chosen], target.take(chosen).to_array()
        model = family(self.model).build(protocol.source.name, SCALED[self.model], self.repeat)
        start = time.process_time()
        model.fit(X, y)
        yield Record(
            protocol.source.name,
            self.model,
            self.setting,
            0.0,
            self.repeat,
            protocol.seed,
            protocol.run,
            {},
            seconds=rounded(time.process_time() - start, 3),
            parameters=parameters_of(model),
            version=lifemix.__version__,
        )


def _jobs(protocol: Protocol, wanted: Sequence[str] | None) -> list[ScalingJob]:
    total = len(protocol.dataset().X)
    return [
        ScalingJob(protocol, model, round(share * total), repeat)
        for model in SCALED
        if not wanted or model in wanted
        for share in _SHARES
        for repeat in protocol.folds
    ]


def _summary(records: Sequence[Record], total: int) -> Summary:
    """Return the cells of all rows (time, parameters) and of every number of rows, ``n=<rows>`` (time)."""
    groups: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        groups.setdefault((record.model, int(record.setting["rows"])), []).append(record)
    cells = []
    for (_, rows), own in groups.items():
        seconds = _cell(own, "seconds", f"n={rows}", [record.seconds for record in own])
        cells.append(seconds)
        if rows == total:
            cells.append(replace(seconds, selection="fixed"))
            counts = [float(record.parameters) for record in own if record.parameters is not None]
            cells += [_cell(own, "parameters", "fixed", counts)] if counts else []
    return cells, []


def _cell(records: Sequence[Record], measure: str, selection: str, values: Sequence[float]) -> Cell:
    mean, error = mean_and_error(values)
    return Cell(records[0].data, records[0].model, measure, 1, 1.0, 0.0, selection, mean, error, tuple(values))
