"""What a user waits for at least: CPU seconds of an import, and of a prediction for one row of SUPPORT."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from lifemix import DeepSurvivalMachines, LifeMix, datasets

from .harness import Table, alternate

N_CALLS = 20
TIMES = [365.25, 730.5]
IMPORT = (
    "import time, torch, sklearn.base, pandas; start = time.process_time(); "
    "from lifemix import DeepSurvivalMachines; print(time.process_time() - start)"
)


def run(quick: bool) -> list[Table]:
    """Return the CPU time of the import beyond that of PyTorch, pandas and scikit-learn, and of one row."""
    command = [sys.executable, "-c", IMPORT]
    seconds = [float(subprocess.check_output(command)) for _ in range(2 if quick else 5)]
    title = "CPU seconds of the import of DeepSurvivalMachines"
    note = "Beyond `import torch, sklearn.base, pandas`; the minimum of several processes."
    return [Table(title, ["", "seconds"], [["import", min(seconds)]], note), one_row(quick)]


def one_row(quick: bool) -> Table:
    """Return the CPU time of survival at two times for one row, of models fitted to SUPPORT."""
    data = datasets.load_support()
    rows = slice(None, None, 20 if quick else None)
    X, y, row = data.X[rows], data.y[rows], data.X.iloc[[7]]
    models = {
        "DeepSurvivalMachines": DeepSurvivalMachines(max_epochs=2).fit(X, y),
        "LifeMix": LifeMix(n_folds=2 if quick else None).fit(X, y),
    }
    calls = {name: partial(predict_often, model, row) for name, model in models.items()}
    seconds = alternate(calls, repeats=3)
    table = [[name, 1000 * seconds[name]["cpu"] / N_CALLS] for name in models]
    title = f"CPU milliseconds of survival of one row at {len(TIMES)} times"
    return Table(title, ["", "ms"], table, f"Models of {len(X):,} rows of SUPPORT.")


def predict_often(model: DeepSurvivalMachines | LifeMix, row: object) -> None:
    """Predict one row several times."""
    for _ in range(N_CALLS):
        model.predict_survival_function(row, TIMES)
