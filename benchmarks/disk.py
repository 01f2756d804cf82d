"""A fit from disk: time and memory of each stage, from reading to predictions.

``python -m benchmarks.disk --rows 1e7 --folder FOLDER`` writes a Parquet table of 20 covariates if it does not exist,
fits one network, evaluates it and predicts all rows.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource, evaluate, write_predictions

from .harness import Call, clock, process_memory

FILE_ROWS = 500_000


def make_rows(n_rows: int, seed: int) -> pd.DataFrame:
    """Return 20 covariates (two of text, one with missing values) and an outcome that depends on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 18))
    site = rng.integers(0, 8, n_rows)
    stage = rng.integers(0, 4, n_rows)
    risk = 0.6 * x[:, 0] - 0.4 * x[:, 1] * x[:, 2]
    risk += 0.3 * np.sin(2 * x[:, 3])
    risk += 0.25 * stage + 0.1 * (site % 3)
    shape = np.where(x[:, 4] > 0, 1.6, 0.9)
    event_time = 10 * np.exp(-risk) * rng.weibull(shape)
    censoring = rng.exponential(25.0, size=n_rows)
    x[rng.random(n_rows) < 0.05, 5] = np.nan
    table = pd.DataFrame(x, columns=[f"x{index}" for index in range(18)])
    table["site"] = np.array(list("ABCDEFGH"))[site]
    table["stage"] = np.array(["I", "II", "III", "IV"])[stage]
    table["time"] = np.minimum(event_time, censoring)
    table["event"] = (event_time <= censoring).astype(np.int8)
    return table


def make_table(folder: Path, n_rows: int) -> Path:
    """Write the files of the table that do not exist yet."""
    table = folder / f"rows-{n_rows}"
    table.mkdir(parents=True, exist_ok=True)
    for number, first_row in enumerate(range(0, n_rows, FILE_ROWS)):
        path = table / f"part-{number:04d}.parquet"
        if path.exists():
            continue
        rows = make_rows(min(FILE_ROWS, n_rows - first_row), number + 1)
        incomplete = path.with_suffix(".incomplete")
        rows.to_parquet(incomplete, index=False, row_group_size=2**17)
        os.replace(incomplete, path)
    return table


class PeakMemory(threading.Thread):
    """The peak of the anonymous memory (without mapped files), sampled every 10 ms."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0

    def run(self) -> None:
        """Sample until the process ends."""
        while True:
            self.peak = max(self.peak, process_memory("RssAnon"))
            time.sleep(0.01)


def main() -> None:
    """Read the command line, run the stages and print what each takes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disk", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--only-fit", action="store_true", help="do not evaluate and predict")
    options = parser.parse_args()
    table = make_table(options.folder, int(options.rows))
    source = TableSource(table, "time", "event")
    model = DeepSurvivalMachines(
        n_members=1, max_epochs=options.epochs, checkpoint=options.folder / "checkpoint"
    )
    stages: dict[str, Call] = {"fit": lambda: model.fit(source)}
    if not options.only_fit:
        path = options.folder / "predictions.parquet"
        stages["evaluate"] = lambda: print(evaluate(model, source))
        stages["predict"] = lambda: write_predictions(model, source, path, [5.0, 10.0, 20.0])
    memory = PeakMemory()
    after_import = process_memory("RssAnon")
    memory.start()
    for stage, call in stages.items():
        memory.peak = 0
        seconds = clock(call)
        peak = (memory.peak - after_import) / 1e6
        times = f"{seconds['wall']:.1f} s, {seconds['cpu']:.1f} s CPU"
        print(f"{stage:>8}: {times}, {peak:.0f} MB beyond the import", flush=True)


if __name__ == "__main__":
    main()
