"""Scaling: training time and number of parameters of the paper's models, and how the time grows with the rows.

On SUPPORT and METABRIC, processor time of one thread. On all rows networks stop early. For the growth with the rows
they run 20 epochs, because early stopping would take another number of epochs at every size. Up to the size of the
data, rows are drawn without replacement; beyond it every row occurs several times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from lifemix.target import as_target

from .horizon_tables import number_of_parameters
from .models import MODELS
from .protocol import Protocol
from .records import Frame, Record, Setting, rounded
from .results import cell
from .run import Job, Study, run_suffix

__all__ = ["scaling_study"]

_DSM = {
    "primitive": "weibull",
    "k": 4,
    "hidden": [100],
    "learning_rate": 1e-3,
    "discount": 1.0,
}
_SETTINGS: dict[str, Setting] = {
    "dsm": _DSM,
    "deepsurv": {},
    "deephit": {},
    "rsf": {"n_trees": 100},
    "cph": {},
}
_NETWORKS = ("dsm", "deepsurv", "deephit")
_EPOCHS = {"max_epochs": 20, "patience": 20}
_SHARES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)


def scaling_study(data: str, quick: bool = False) -> Study:
    """Return the study of one data set; its folds are repeats, with other rows and another seed."""
    protocol = Protocol(data, folds=(0, 1, 2))
    if quick:
        protocol = Protocol(
            data,
            folds=(0,),
            run="quick",
            rows=1500,
        )
    n_rows = len(protocol.dataset().X)
    jobs = []
    for model, options in _SETTINGS.items():
        complete = {
            "rows": n_rows,
            "growth": False,
            **options,
        }
        jobs += [
            Job(protocol, data, model, (complete,), (fold,), fit_and_time)
            for fold in protocol.folds
        ]
        for share in _SHARES:
            setting = {
                "rows": round(share * n_rows),
                "growth": True,
                **options,
            }
            jobs.append(Job(protocol, data, model, (setting,), (0,), fit_and_time))
    notes = (f"{n_rows:,} rows of the data, drawn at random, and one fit.",) if quick else ()
    folder = f"scaling-{data}{run_suffix(protocol)}"
    return Study("scaling", folder, data, protocol, tuple(jobs), _summarise, notes)


def fit_and_time(job: Job) -> Iterator[Record]:
    """Fit a model to a number of rows, and yield the record of its time."""
    (setting,), (repeat,) = job.settings, job.folds
    data = job.protocol.dataset()
    target = as_target(data.y)
    rng = np.random.default_rng([job.protocol.seed, repeat, setting["rows"]])
    rows = np.resize(rng.permutation(len(target)), setting["rows"])
    X, y = data.X.iloc[rows], target.take(rows).to_array()
    build = MODELS[job.model].build
    assert build is not None
    model = build(job.data, _SETTINGS[job.model], repeat)
    if setting["growth"] and job.model in _NETWORKS:
        model.set_params(**_EPOCHS)
    start = time.process_time()
    model.fit(X, y)
    yield job.record(setting, repeat) | {
        "test": {},
        "seconds": rounded(time.process_time() - start, 3),
        "parameters": number_of_parameters(model),
    }


def _summarise(records: Frame) -> tuple[Frame, Frame]:
    """Return time and parameters for all rows, and the time for every number of rows, selection ``n=<rows>``."""
    cells = []
    settings = pd.DataFrame(records["setting"].tolist(), index=records.index)
    groups = [records["model"], settings["growth"], settings["rows"]]
    for (model, growth, n_rows), fits in records.groupby(groups):
        selection = f"n={n_rows}" if growth else "fixed"
        for measure in ("seconds",) if growth else ("seconds", "parameters"):
            values = fits[measure].dropna()
            if len(values):
                identity = (fits["data"].iloc[0], measure, 1, 1.0, 0.0)
                cells.append(cell(identity, str(model), selection, values.tolist()))
    return pd.DataFrame(cells), records[:0]
