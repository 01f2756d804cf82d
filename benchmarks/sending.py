"""What a search sends to its workers: bytes of each fleet as a whole, and without the data that go to a worker once.

python -m benchmarks.sending [--quick]

SUPPORT, repeated to so many rows; 16 candidates on 5 folds in fleets of at most 4. The whole is what a fleet pickled to
before, with the test part of its folds.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Sequence
from typing import Any

import cloudpickle
import numpy as np

from lifemix import DeepSurvivalMachines, FleetSearchCV, datasets
from lifemix.estimators.fleets import group
from lifemix.estimators.sending import Piece, Sender
from lifemix.target import as_target

from .harness import one_thread
from .tables import Table

__all__ = ["run", "tables"]

GRID = {"k": [2, 3, 4, 6], "discount": [0.5, 1.0], "learning_rate": [1e-3, 1e-4]}
MODEL = DeepSurvivalMachines(hidden=(100,), n_members=1, dropout=0.0, batch_size=128, learning_rate=1e-3)


def run(quick: bool) -> list[dict[str, Any]]:
    """Return the bytes for tables of several lengths."""
    return [_measured(n) for n in ((2_000, 9_105) if quick else (9_105, 91_050, 364_200))]


def _measured(n: int) -> dict[str, Any]:
    data = datasets.load_support()
    rows = np.arange(n) % len(data.X)
    X, target = data.X.iloc[rows].reset_index(drop=True), as_target(data.y[rows])
    search = FleetSearchCV(MODEL, GRID, cv=5)
    models = [search._model(candidate) for candidate in search._candidates()]
    planned = list(search._plan(models, X, target, np.ones(n), search._folds(X, target), {}))
    fleets, pieces = group(planned, 4), []

    def put(number: int, value: Any) -> Piece:
        pieces.append(len(pickle.dumps(value, protocol=5)))
        return Piece(value)

    sender = Sender(put, whole_table=False)
    packed = [sender.pack(fleet)[0] for fleet in fleets]
    light = [[sender._lightened(one) for one in fleet] for fleet in fleets]
    whole = [len(cloudpickle.dumps(fleet)) for fleet in light]
    return {"rows": n, "fleets": len(fleets), "whole": sum(whole), "sent": sum(map(len, packed)), "once": sum(pieces)}


def tables(results: Sequence[dict[str, Any]]) -> list[Table]:
    """Return the table."""
    columns = ["rows", "fleets", "kB of a fleet with its data", "kB of a fleet without", "MB of data, once to a worker"]
    rows = [
        [
            one["rows"],
            one["fleets"],
            *(one[name] / one["fleets"] / 1e3 for name in ("whole", "sent")),
            one["once"] / 1e6,
        ]
        for one in results
    ]
    return [Table("What a search sends", columns, rows)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    one_thread()
    for table in tables(run(parser.parse_args().quick)):
        print(table.text())
