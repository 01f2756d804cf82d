"""A fit from disk: time, processor time and memory of each stage, from reading to predictions.

``python -m benchmarks.disk --rows 1e7 --folder /tmp/disk`` makes a Parquet table of 20 covariates if it does not exist,
fits one network, evaluates it and predicts all rows. ``--kill`` kills a fit after its first epoch, resumes it and
compares the bytes of the model; ``--ranks 2`` compares processes under torchrun with one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SHARD_ROWS = 500_000


def make_rows(n: int, seed: int) -> pd.DataFrame:
    """Return 20 covariates (two of them labels, some values missing) and an outcome that depends on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 18))
    site, stage = rng.integers(0, 8, n), rng.integers(0, 4, n)
    risk = (
        0.6 * x[:, 0]
        - 0.4 * x[:, 1] * x[:, 2]
        + 0.3 * np.sin(2 * x[:, 3])
        + 0.25 * stage
        + 0.1 * (site % 3)
    )
    shape = np.where(x[:, 4] > 0, 1.6, 0.9)
    event_time = 10 * np.exp(-risk) * rng.exponential(size=n) ** (1 / shape)
    censoring = rng.exponential(25.0, size=n)
    x[rng.random(n) < 0.05, 5] = np.nan
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(18)])
    frame["site"], frame["stage"] = (
        np.array(list("ABCDEFGH"))[site],
        np.array(["I", "II", "III", "IV"])[stage],
    )
    frame["time"], frame["event"] = (
        np.minimum(event_time, censoring),
        (event_time <= censoring).astype(np.int8),
    )
    return frame


def make_table(folder: Path, rows: int) -> Path:
    """Write the files of the table that do not exist yet."""
    shards = folder / f"rows-{rows}"
    shards.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, SHARD_ROWS)):
        path = shards / f"part-{number:04d}.parquet"
        if not path.exists():
            partial = path.with_suffix(".part")
            make_rows(min(SHARD_ROWS, rows - start), number + 1).to_parquet(
                partial, index=False, row_group_size=2**17
            )
            os.replace(partial, path)
    return shards


class AnonymousMemory(threading.Thread):
    """Samples the anonymous memory of this process (RssAnon: without mapped files) and keeps the peak."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0

    def run(self) -> None:
        """Sample every 10 ms."""
        while True:
            self.peak = max(self.peak, self.current())
            time.sleep(0.01)

    @staticmethod
    def current() -> int:
        """Return the bytes now."""
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


@contextmanager
def stage(results: dict[str, Any], memory: AnonymousMemory, name: str, rows: int) -> Iterator[None]:
    """Measure what happens inside."""
    memory.peak, wall, cpu = 0, time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = memory.peak / 1e6 - results["import_mb"]
    results[name] = {
        "wall": wall,
        "cpu": cpu,
        "rows_per_second": rows / wall,
        "peak_mb_above_import": peak,
    }
    print(
        f"{name:>12}: {wall:8.1f} s wall, {cpu:8.1f} s CPU, {rows / wall / 1e6:6.2f} M rows/s, "
        f"peak {peak:6.0f} MB above the import",
        flush=True,
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit, evaluate and predict from disk in this process."""
    from lifemix import DeepSurvivalMachines
    from lifemix.streaming import TableSource, evaluate, write_predictions

    memory = AnonymousMemory()
    results: dict[str, Any] = {"rows": options.rows, "import_mb": memory.current() / 1e6}
    memory.start()
    source = TableSource(options.folder / f"rows-{options.rows}", "time", "event")
    with stage(results, memory, "read", options.rows):
        for _ in source.read():
            pass
    model = DeepSurvivalMachines(
        n_members=1, max_epochs=options.epochs, checkpoint=options.folder / "checkpoint"
    )
    with stage(results, memory, "fit", options.rows * options.epochs):
        model.fit(source)
    print(model.history_, flush=True)
    if options.only_fit:
        return results
    with stage(results, memory, "evaluate", options.rows):
        print(evaluate(model, source).to_string(), flush=True)
    with stage(results, memory, "predict", options.rows):
        write_predictions(model, source, options.folder / "predictions.parquet", [5.0, 10.0, 20.0])
    return results


def fit_and_save(options: argparse.Namespace) -> None:
    """Fit with a checkpoint and save; ``--kill`` and torchrun start this."""
    from lifemix import DeepSurvivalMachines, save
    from lifemix.streaming import TableSource

    source = TableSource(options.folder / f"rows-{options.rows}", "time", "event")
    model = DeepSurvivalMachines(
        n_members=1, max_epochs=options.epochs, checkpoint=options.folder / "checkpoint"
    )
    begin = time.perf_counter()
    model.fit(source)
    facts = {"seconds": time.perf_counter() - begin, "history": model.history_}
    sys.stdout.write(json.dumps(facts) + "\n")  # in one piece: processes share the stream
    if int(os.environ.get("RANK", "0")) == 0:
        save(model, options.output)


def child_command(options: argparse.Namespace, output: Path) -> list[str]:
    """Return the arguments of a process that fits and saves."""
    shared = [
        "--rows",
        str(options.rows),
        "--folder",
        str(options.folder),
        "--epochs",
        str(options.epochs),
    ]
    return ["-m", "benchmarks.disk", *shared, "--output", str(output)]


def kill_and_resume(options: argparse.Namespace) -> None:
    """Kill a fit with signal 9 after its first epoch, resume it, and compare the model with an uninterrupted one."""
    uninterrupted, resumed = (
        options.folder / f"{name}.safetensors" for name in ("uninterrupted", "resumed")
    )
    subprocess.run([sys.executable, *child_command(options, uninterrupted)], check=True)
    process = subprocess.Popen([sys.executable, *child_command(options, resumed)])
    while not (options.folder / "checkpoint" / "lifemix-checkpoint-0.safetensors").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    print(f"killed: {process.wait()}", flush=True)
    subprocess.run([sys.executable, *child_command(options, resumed)], check=True)
    print(
        f"the resumed model has the same bytes: {uninterrupted.read_bytes() == resumed.read_bytes()}",
        flush=True,
    )


def compare_ranks(options: argparse.Namespace) -> None:
    """Fit with one process and with several; compare times and losses."""
    torchrun = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(options.ranks),
    ]
    histories = []
    for start in ([], torchrun):
        command = [
            sys.executable,
            *start,
            *child_command(options, options.folder / "ranks.safetensors"),
        ]
        done = subprocess.run(
            command,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        facts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        print(f"{len(facts)} processes: {max(fact['seconds'] for fact in facts):.2f} s", flush=True)
        histories.append([record["validation_loss"] for record in facts[0]["history"]])
    print(f"losses differ by at most {np.abs(np.subtract(*histories)).max():.1e}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.disk", description=__doc__.split(":")[0]
    )
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--only-fit", action="store_true", help="do not evaluate and predict")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    make_table(options.folder, options.rows)
    if options.output:
        fit_and_save(options)
    elif options.kill:
        kill_and_resume(options)
    elif options.ranks:
        compare_ranks(options)
    else:
        print(json.dumps(run(options)))


if __name__ == "__main__":
    main()
