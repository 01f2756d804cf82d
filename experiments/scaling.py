"""Scaling: training time and number of parameters of the paper's models, and how the time grows with the rows.

On SUPPORT and METABRIC, processor time of one thread. DSM has one layer of 100 and four components, the forest 100
trees, DeepSurv and DeepHit the paper's settings. On all rows networks stop early, as always. For the growth with the
rows they run 20 epochs without early stopping, which would need other epochs at every size. Up to the size of the data
rows are drawn without replacement; beyond it every row occurs several times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lifemix
from lifemix.target import as_target

from .cells import Cell
from .learners import learner
from .protocol import DataSource, Protocol
from .provenance import provenance
from .records import Key, Record, Setting, key_of, rounded
from .study import Study, Summary
from .table_study import parameters_of

__all__ = ["SCALED", "ScalingJob", "scaling_studies"]

SCALED: dict[str, Setting] = {
    "dsm": {
        "primitive": "weibull",
        "k": 4,
        "hidden": [100],
        "learning_rate": 1e-3,
        "discount": 1.0,
    },
    "deepsurv": {},
    "deephit": {},
    "rsf": {"n_trees": 100},
    "cph": {},
}
"""The models and the setting of each."""
_NETWORKS = ("dsm", "deepsurv", "deephit")
_EPOCHS = {"max_epochs": 20, "patience": 20}
_SHARES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
_REPEATS = (0, 1, 2)


def scaling_studies(quick: bool = False) -> list[Study]:
    """Return the study of each data set."""
    options: dict[str, Any] = (
        {"folds": (0,), "run": "quick", "rows": 1500} if quick else {"folds": _REPEATS}
    )
    return [
        scaling_study(Protocol(DataSource(name), **options)) for name in ("support", "metabric")
    ]


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
        summarise=lambda records, selection: _summary(records),
        notes=()
        if protocol.rows is None
        else (f"{protocol.rows:,} rows of the data, drawn at random, and one fit.",),
    )


@dataclass(frozen=True)
class ScalingJob:
    """One fit of one model to a number of rows; growth: with a fixed number of epochs."""

    protocol: Protocol
    model: str
    rows: int
    repeat: int
    growth: bool

    @property
    def setting(self) -> Setting:
        """What stands in the record: the number of rows, what it was measured for, and the model's setting."""
        return {"rows": self.rows, "growth": self.growth, **SCALED[self.model]}

    def keys(self) -> list[Key]:
        """Return the key of the record that the job gives."""
        p = self.protocol
        return [key_of(p.source.name, self.model, self.setting, 0.0, self.repeat, p.seed, p.run)]

    def run(self) -> Iterator[Record]:
        """Fit, and yield the record of its time."""
        protocol = self.protocol
        data, target = protocol.dataset(), as_target(protocol.dataset().y)
        order = np.random.default_rng([protocol.seed, self.repeat, self.rows]).permutation(
            len(target)
        )
        chosen = np.resize(order, self.rows)
        X, y = data.X.iloc[chosen], target.take(chosen).to_array()
        model = learner(self.model).build(protocol.source.name, SCALED[self.model], self.repeat)
        if self.growth and self.model in _NETWORKS:
            model.set_params(**_EPOCHS)
        start = time.process_time()
        model.fit(X, y)
        yield Record(
            data=protocol.source.name,
            model=self.model,
            setting=self.setting,
            censoring=0.0,
            fold=self.repeat,
            seed=protocol.seed,
            run=protocol.run,
            test={},
            seconds=rounded(time.process_time() - start, 3),
            parameters=parameters_of(model),
            version=lifemix.__version__,
            made=provenance(),
        )


def _jobs(protocol: Protocol, wanted: Sequence[str] | None) -> list[ScalingJob]:
    total = len(protocol.dataset().X)
    jobs = []
    for model in SCALED:
        if not wanted or model in wanted:
            jobs += [ScalingJob(protocol, model, total, repeat, False) for repeat in protocol.folds]
            jobs += [
                ScalingJob(protocol, model, round(share * total), 0, True) for share in _SHARES
            ]
    return jobs


def _summary(records: Sequence[Record]) -> Summary:
    """Return the cells of all rows (time, parameters), and of the growth with the rows (time), ``n=<rows>``."""
    groups: dict[tuple[int, bool, int], list[Record]] = {}
    for record in records:
        place = (list(SCALED).index(record.model), record.setting["growth"], record.setting["rows"])
        groups.setdefault(place, []).append(record)
    cells = []
    for (_, growth, rows), own in sorted(groups.items()):
        cells.append(
            _cell(
                own,
                "seconds",
                f"n={rows}" if growth else "fixed",
                [record.seconds for record in own],
            )
        )
        counts = [float(record.parameters) for record in own if record.parameters is not None]
        cells += [_cell(own, "parameters", "fixed", counts)] if counts and not growth else []
    return cells, []


def _cell(records: Sequence[Record], measure: str, selection: str, values: Sequence[float]) -> Cell:
    return Cell.of((records[0].data, measure, 1, 1.0, 0.0), records[0].model, selection, values)
