"""A table on disk: rows per second, processor time and memory of each stage, from the scan to the predictions.

``python -m benchmarks.disk --rows 1e7 --folder /tmp/disk`` makes the table where it is not there yet, then fits one
network for three epochs, evaluates it and predicts all rows in one process. ``--memory-fit`` fits the same rows in
memory, to compare the held-out likelihoods; ``--kill`` kills the fit half-way and resumes it; ``--ranks 2`` compares
two processes under torchrun with one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .memory import peak_bytes

SHARD = 500_000
HELD_OUT = 200_000
GROUP = 2**17


def make_rows(n: int, seed: int) -> pd.DataFrame:
    """Return 20 covariates (two of them labels, some values missing) and an outcome that depends on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 18))
    site, stage = rng.integers(0, 8, n), rng.integers(0, 4, n)
    risk = 0.6 * x[:, 0] - 0.4 * x[:, 1] * x[:, 2] + 0.3 * np.sin(2 * x[:, 3]) + 0.25 * stage + 0.1 * (site % 3)
    shape = np.where(x[:, 4] > 0, 1.6, 0.9)
    event_time = 10 * np.exp(-risk) * rng.exponential(size=n) ** (1 / shape)
    censored = rng.exponential(25.0, size=n)
    x[rng.random(n) < 0.05, 5] = np.nan
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(18)])
    frame["site"], frame["stage"] = np.array(list("ABCDEFGH"))[site], np.array(["I", "II", "III", "IV"])[stage]
    frame["time"], frame["event"] = np.minimum(event_time, censored), (event_time <= censored).astype(np.int8)
    return frame


def make_table(folder: Path, rows: int) -> Path:
    """Write the shards and a held-out file, those that are not there yet."""
    shards = folder / f"rows-{rows}"
    shards.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, SHARD)):
        _write(shards / f"part-{number:04d}.parquet", min(SHARD, rows - start), number + 1)
    _write(folder / "held-out.parquet", HELD_OUT, 0)
    return shards


def _write(path: Path, rows: int, seed: int) -> None:
    if not path.exists():
        partial = path.with_suffix(".part")
        make_rows(rows, seed).to_parquet(partial, index=False, row_group_size=GROUP)
        os.replace(partial, path)


@contextmanager
def stage(results: dict[str, Any], name: str, rows: int) -> Iterator[None]:
    """Measure what happens inside."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_bytes() / 1e6 - results["import_mb"]
    results[name] = {"wall": wall, "cpu": cpu, "rows_per_second": rows / wall, "peak_mb_beyond_import": peak}
    print(
        f"{name:>12}: {wall:8.1f} s wall, {cpu:8.1f} s CPU, {rows / wall / 1e6:6.2f} M rows/s, "
        f"{rows / cpu / 1e6:6.2f} M rows per CPU second, peak {peak:6.0f} MB beyond the import",
        flush=True,
    )


def source_of(path: Path, **options: Any) -> Any:
    """Return the source of a table."""
    from lifemix.streaming import TableSource

    return TableSource(path, "time", "event", **options)


def widths(text: str) -> tuple[int, ...]:
    """Return the widths of layers, such as 50,50."""
    return tuple(int(width) for width in text.split(","))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fit, evaluate and predict from disk in this process."""
    from lifemix import DeepSurvivalMachines, save
    from lifemix.streaming import evaluate, write_predictions

    folder, rows = options.folder, options.rows
    shards = folder / f"rows-{rows}"
    results: dict[str, Any] = {"rows": rows, "import_mb": peak_bytes() / 1e6}
    whole = time.perf_counter()
    source = source_of(shards)
    with stage(results, "read", rows):
        for _ in source.raw_blocks():
            pass
    model = DeepSurvivalMachines(n_members=1, max_epochs=options.epochs, checkpoint=folder / "checkpoint")
    with stage(results, "fit", rows * options.epochs):
        model.fit(source)
    save(model, folder / "disk.safetensors")
    held_out = source_of(folder / "held-out.parquet")
    results["log_likelihood"] = model.log_likelihood(held_out) / HELD_OUT
    with stage(results, "evaluate", rows):
        measured = evaluate(model, source)
    with stage(results, "predict", rows):
        write_predictions(model, source, folder / "predictions.parquet", [5.0, 10.0, 20.0])
    results["wall"] = time.perf_counter() - whole
    print(measured.to_string(), flush=True)
    print(f"held-out log-likelihood per row {results['log_likelihood']:.5f}; {model.history_}", flush=True)
    print(f"all: {results['wall']:.0f} s", flush=True)
    return results


def run_in_memory(options: argparse.Namespace) -> dict[str, Any]:
    """Fit the same rows in memory, with the same settings."""
    from lifemix import DeepSurvivalMachines, make_target

    results: dict[str, Any] = {"rows": options.rows, "import_mb": peak_bytes() / 1e6}
    frame = pd.read_parquet(options.folder / f"rows-{options.rows}")
    test = pd.read_parquet(options.folder / "held-out.parquet")
    (X, y), (X_test, y_test) = (
        (one.drop(columns=["time", "event"]), make_target(one["time"], one["event"])) for one in (frame, test)
    )
    del frame
    model = DeepSurvivalMachines(n_members=1, max_epochs=options.epochs)
    with stage(results, "in memory", options.rows * options.epochs):
        model.fit(X, y)
    results["log_likelihood"] = model.log_likelihood(X_test, y_test) / len(y_test)
    print(f"held-out log-likelihood per row in memory {results['log_likelihood']:.5f}; {model.history_}", flush=True)
    return results


def fit_only(options: argparse.Namespace) -> None:
    """Fit with a checkpoint and save: what is killed, or what torchrun starts."""
    from lifemix import DeepSurvivalMachines, save

    source = source_of(options.folder / f"rows-{options.rows}", lanes=options.lanes)
    checkpoint = options.folder / "checkpoint" if options.output else None
    model = DeepSurvivalMachines(
        hidden=widths(options.hidden),
        activation=options.activation,
        n_members=1,
        max_epochs=options.epochs,
        checkpoint=checkpoint,
        batch_size=options.batch,
        learning_rate=4e-3,
    )
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(source)
    seconds = time.perf_counter() - begin
    facts = {"seconds": seconds, "cpu": time.process_time() - cpu, "history": model.history_}
    sys.stdout.write(json.dumps(facts) + "\n")  # in one piece: ranks share the stream
    sys.stdout.flush()
    if options.output and int(os.environ.get("RANK", "0")) == 0:
        save(model, options.output)


def kill_and_resume(options: argparse.Namespace) -> None:
    """Kill a fit with signal 9 in the middle, resume it, and compare the model with that of a fit left alone."""
    folder = options.folder
    command = [sys.executable, "-m", "benchmarks.disk", "--rows", str(options.rows), "--folder", str(folder)]
    command += ["--epochs", str(options.epochs), "--only-fit", "--output"]
    begin = time.perf_counter()
    subprocess.run([*command, str(folder / "alone.safetensors")], check=True)
    seconds = time.perf_counter() - begin
    process = subprocess.Popen([*command, str(folder / "resumed.safetensors")])
    checkpoint = folder / "checkpoint" / "lifemix-checkpoint-0.safetensors"
    while not (checkpoint.exists() and time.perf_counter() - begin > 1.5 * seconds):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    print(
        f"killed after {time.perf_counter() - begin - seconds:.1f} s of {seconds:.1f} s: {process.wait()}", flush=True
    )
    subprocess.run([*command, str(folder / "resumed.safetensors")], check=True)
    same = (folder / "alone.safetensors").read_bytes() == (folder / "resumed.safetensors").read_bytes()
    print(f"the resumed model has the same bytes: {same}", flush=True)


def compare_ranks(options: argparse.Namespace) -> None:
    """Fit with one process and with several, of the same batches, in turns; compare rates and losses.

    One process reads with a thread of its own, and computes with several where the network is large: by itself it uses
    more than one core. So it is measured on one core, which is what each rank has, and on all of them. Processor time
    is that of all processes; it says what the ranks cost also where other programs disturb the clock.
    """
    own = ["--rows", str(options.rows), "--folder", str(options.folder), "--epochs", str(options.epochs), "--only-fit"]
    own += ["--lanes", str(options.ranks), "--batch", str(options.batch)]
    own += ["--hidden", options.hidden, "--activation", options.activation]
    several = ["-m", "torch.distributed.run", "--nproc-per-node", str(options.ranks), "-m", "benchmarks.disk"]
    alone, pin = ["-m", "benchmarks.disk"], ["taskset", "-c", "0"]
    ways = {"one on one core": (pin, alone), "one": ([], alone), "several": ([], several)}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    histories: dict[str, Any] = {}
    for _ in range(options.repeats):
        for name, (before, start) in ways.items():
            command = [*before, sys.executable, *start, *own]
            environment = os.environ | ({} if name == "one" else {"OMP_NUM_THREADS": "1"})
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
            facts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            seconds[name].append(max(one["seconds"] for one in facts))
            cpu[name].append(sum(one["cpu"] for one in facts))
            histories[name] = facts[0]["history"]
            print(f"{name:>16}: {seconds[name][-1]:6.2f} s, {cpu[name][-1]:6.2f} CPU s", flush=True)
    apart = max(
        abs(a[name] - b[name])
        for a, b in zip(histories["one"], histories["several"], strict=True)
        for name in ("train_loss", "validation_loss")
    )
    for name in ("one", "one on one core"):
        times = [before / after for before, after in zip(seconds[name], seconds["several"], strict=True)]
        shown = ", ".join(f"{value:.2f}" for value in sorted(times))
        print(f"{options.ranks} ranks, rows per second: {np.median(times):.2f} times those of {name} ({shown})")
    share = min(cpu["one on one core"]) / min(cpu["several"])
    print(f"processor time: one process has {share:.2f} of what {options.ranks} ranks have together (least of each)")
    print(f"losses differ by {apart:.1e} at most", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disk", description=__doc__.split(":")[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--memory-fit", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=1, help="how often ranks are compared")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--lanes", type=int)
    parser.add_argument("--hidden", default="50,50", help="layers of the fits that are compared or killed")
    parser.add_argument("--activation", default="tanh", help="of these layers")
    parser.add_argument("--only-fit", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_fit:
        fit_only(options)
        return
    make_table(options.folder, options.rows)
    if options.kill:
        kill_and_resume(options)
    elif options.ranks:
        compare_ranks(options)
    elif options.memory_fit:
        run_in_memory(options)
    else:
        print(json.dumps(run(options)))


if __name__ == "__main__":
    main()
