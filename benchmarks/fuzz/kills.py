"""``python -m benchmarks.fuzz.kills [--rounds N]``: kill -9, SIGTERM and full disks at random moments of commands.

After every one: the files that are there are whole (a model loads, a table has all its rows), nothing else is left but
what goes with the next run, and the same command run again gives the same result as one that was never disturbed.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from lifemix import load

__all__ = ["COMMANDS", "disturb"]

_SEARCH = """
import sys
import numpy as np
from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target, save
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 3))
y = make_target(rng.exponential(np.exp(X[:, 0])), rng.integers(0, 2, 300))
model = DeepSurvivalMachines(hidden=(5,), max_epochs=8, checkpoint=sys.argv[1] + "/state")
grid = {"k": [1, 2, 3], "learning_rate": [0.01, 0.001]}
search = FleetSearchCV(model, grid, cv=2, max_fleet=2).fit(X, y)
save(search, sys.argv[1] + "/model.safetensors")
"""
_LIFEMIX = (sys.executable, "-m", "lifemix")
_COLUMNS = ("--time", "time", "--event", "event")


def _table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [
        "a,b,time,event",
        *(f"{x:.3f},{z:.3f},{t:.3f},{t < 1:d}" for x, z, t in rng.exponential(size=(300, 3))),
    ]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


def _fit(folder: Path) -> list[str]:
    quick = ["--no-search", "--epochs", "20", "--members", "2", "--hidden", "10"]
    return [
        *_LIFEMIX,
        "fit",
        str(folder / "table.csv"),
        *_COLUMNS,
        *quick,
        "-o",
        str(folder / "model.safetensors"),
    ]


def _mix(folder: Path) -> list[str]:
    """Fit what is fitted where nothing is said: first one network, then LifeMix in its place."""
    model = str(folder / "model.safetensors")
    return [*_LIFEMIX, "fit", str(folder / "table.csv"), *_COLUMNS, "--no-refit", "-o", model]


def _predict(folder: Path) -> list[str]:
    names = ("given.safetensors", "table.csv", "out.csv")
    model, table, out = (str(folder / name) for name in names)
    return [*_LIFEMIX, "predict", model, table, "-o", out]


def _reproduce(folder: Path) -> list[str]:
    command = (sys.executable, "-m", "experiments")
    return [*command, "support", "--quick", "--models", "floor,cph", "-o", str(folder / "results")]


def _search(folder: Path) -> list[str]:
    return [sys.executable, "-c", _SEARCH, str(folder)]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "fit": _fit,
    "mix": _mix,
    "predict": _predict,
    "reproduce": _reproduce,
    "search": _search,
}


def _results(folder: Path) -> dict[str, bytes]:
    """Return what the user sees in the end, without times of day and seconds."""
    found = {}
    for name in ("model.safetensors", "out.csv"):
        if (folder / name).exists():
            found[name] = (folder / name).read_bytes()
    for path in sorted((folder / "results").rglob("*.csv")):
        found[path.name] = path.read_bytes()
    return found


def _half_written(folder: Path, expected: dict[str, bytes]) -> str | None:
    """Return which file is there under its name, but not whole."""
    for name, data in _results(folder).items():
        if name.endswith(".safetensors"):
            load(folder / name)  # raises where it is not whole
        elif data != expected.get(name):
            return f"{name} is half written"
    return None


def _run(command: list[str], how: str, after: float, space: int) -> int:
    """Run a command and disturb it; return how it ended."""
    before = partial(_limit, space) if how == "disk full" else None
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=before
    ) as process:
        if how != "disk full":
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL if how == "kill -9" else signal.SIGTERM)
        _, err = process.communicate(timeout=300)
    if b"Traceback" in err and command[1] == "-m":
        raise AssertionError(f"a raw error: {err.decode()[-300:]}")
    return process.returncode


def _limit(space: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (space, space))


def _prepare(given: Path) -> Path:
    folder = Path(mkdtemp(prefix="kills-"))
    shutil.copytree(given, folder, dirs_exist_ok=True)
    return folder


def disturb(rounds: int, seed: int = 0, names: tuple[str, ...] = tuple(COMMANDS)) -> list[str]:
    """Disturb each command in every way so many times; return what was wrong."""
    rng, wrong = np.random.default_rng(seed), []
    given = Path(mkdtemp(prefix="kills-"))
    _table(given)
    subprocess.run(_fit(given), check=True, capture_output=True)
    (given / "model.safetensors").rename(given / "given.safetensors")
    for name in names:
        whole = _prepare(given)
        start = time.perf_counter()
        subprocess.run(COMMANDS[name](whole), check=True, capture_output=True)
        seconds, expected = time.perf_counter() - start, _results(whole)
        sizes = [path.stat().st_size for path in whole.rglob("*") if path.is_file()]
        for how in ("kill -9", "SIGTERM", "disk full"):
            for _ in range(rounds):
                folder = _prepare(given)
                at, space = float(rng.uniform(0.2, 1.0)) * seconds, int(rng.integers(1, max(sizes)))
                try:
                    code = _run(COMMANDS[name](folder), how, at, space)
                    problem = _half_written(folder, expected)
                    again = subprocess.run(
                        COMMANDS[name](folder), capture_output=True, text=True, check=False
                    )
                    if again.returncode:
                        problem = f"it does not go on: {again.stderr[-300:]}"
                    elif _results(folder) != expected:
                        problem = problem or "another result"
                    left = [path.name for path in folder.rglob(".*")]
                    problem = problem or (f"left: {left}" if left else None)
                except Exception as error:
                    code, problem = -1, f"{type(error).__name__}: {error}"
                what = f"{name}, {how} (after {at:.1f} s or {space} bytes; code {code})"
                print(
                    f"{what}: {problem or 'whole, and the same result after going on'}", flush=True
                )
                wrong += [f"{what}: {problem}"] if problem else []
                shutil.rmtree(folder)
        shutil.rmtree(whole)
    shutil.rmtree(given)
    return wrong


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz.kills")
    parser.add_argument("--rounds", type=int, default=5, help="of each command in each way")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    options = parser.parse_args()
    wrong = disturb(options.rounds, options.seed, tuple(options.commands.split(",")))
    print(f"{len(wrong)} findings")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
