"""The kinds of cases; each is a function of a random generator and a folder that returns what is wrong, or None."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, LifeMix, baselines, load, make_target, save
from lifemix.errors import InputError, ModelFileError
from lifemix.files import read_arrays, write_arrays
from lifemix.training import Callback

from .guard import watched
from .mutations import altered_array, altered_bytes, change_somewhere, odd_value

__all__ = ["FILES", "KINDS", "OTHERS"]

_TIMES = [0.0, 0.5, 2.0, 50.0]
_CHECKPOINT = "lifemix-checkpoint-0.safetensors"
Random = np.random.Generator


@cache
def _data(n_events: int = 2) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((90, 2)), columns=["a", "b"])
    X["group"] = rng.choice(["low", "high", "none"], 90)
    time = rng.weibull(1.5, 90) * np.exp(X["a"]) + 0.01
    return X, make_target(time.round(2) + 0.01, rng.integers(0, n_events + 1, 90))


@cache
def _models() -> list[tuple[bytes, Any, Any]]:
    """Return small models of several classes: the bytes of the file, the table and the predictions."""
    small = DeepSurvivalMachines(k=2, hidden=(4,), max_epochs=2)
    boosting = baselines.GradientBoosting(n_intervals=4, max_iter=5, min_samples_leaf=10)
    models = [
        (small, 2),
        (baselines.CoxPH(), 1),
        (baselines.KaplanMeier(), 1),
        (baselines.FineGray(), 2),
        (boosting, 2),
        (baselines.CauseSpecific(baselines.CoxPH()), 2),
        (baselines.ModelAverage([small, boosting]), 2),
    ]
    return [_saved(model, n_events) for model, n_events in models]


def _saved(model: Any, n_events: int) -> tuple[bytes, Any, Any]:
    folder = Path(mkdtemp())
    X, y = _data(n_events)
    save(model.fit(X, y), folder / "model")
    again = load(folder / "model")  # whatever is imported late is imported now
    found = (folder / "model").read_bytes(), X[:5], again.predict_survival_function(X[:5], _TIMES)
    shutil.rmtree(folder)
    return found


@cache
def _averages() -> list[tuple[bytes, Any, Any]]:
    """Return averages of models of one and of two event types, as ``_models`` does."""
    small = DeepSurvivalMachines(k=2, hidden=(4,), max_epochs=2, n_members=1)
    trees = baselines.GradientBoosting(n_intervals=4, max_iter=5, min_samples_leaf=10)
    cox = {
        1: baselines.CoxPH(penalty="auto"),
        2: baselines.CauseSpecific(baselines.CoxPH(penalty=1.0)),
    }
    return [
        _saved(
            LifeMix({"networks": small, "Cox": cox[n_events], "trees": trees}, n_folds=2), n_events
        )
        for n_events in (1, 2)
    ]


def _damaged_model(rng: Random, folder: Path) -> str | None:
    return _damaged(rng, folder, _models())


def _weighted_model(rng: Random, folder: Path) -> str | None:
    return (_damaged if rng.random() < 0.3 else _forged)(rng, folder, _averages())


def _damaged(rng: Random, folder: Path, models: list[tuple[bytes, Any, Any]]) -> str | None:
    data, X, expected = models[int(rng.integers(len(models)))]
    changed = altered_bytes(rng, data)
    (folder / "model").write_bytes(changed)

    def case() -> None:
        found = load(folder / "model").predict_survival_function(X, _TIMES)
        if not np.array_equal(found, expected):
            raise AssertionError("a wrong number")

    return watched(case, len(changed))


def _forged_model(rng: Random, folder: Path) -> str | None:
    return _forged(rng, folder, _models())


def _forged(rng: Random, folder: Path, models: list[tuple[bytes, Any, Any]]) -> str | None:
    """A file that anybody could make: with a right checksum it is refused, or its model predicts probabilities."""
    data, X, _ = models[int(rng.integers(len(models)))]
    (folder / "model").write_bytes(data)
    content, arrays = read_arrays(folder / "model")
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.6 or not arrays:
            change_somewhere(rng, content["model"])
        else:
            name = sorted(arrays)[int(rng.integers(len(arrays)))]
            arrays[name] = np.ascontiguousarray(altered_array(rng, arrays[name]))
    write_arrays(folder / "model", content, arrays)

    def case() -> None:
        found = load(folder / "model").predict_survival_function(X, _TIMES)
        if found.shape != (len(X), len(_TIMES)) or not ((found >= 0) & (found <= 1 + 1e-9)).all():
            raise AssertionError(f"no probabilities: {found.min()} to {found.max()}")

    return watched(case, (folder / "model").stat().st_size)


class _Stop(Callback):
    def on_epoch_end(self, state: Any) -> None:
        """Break off after the second epoch."""
        if state.epoch == 2:
            raise InterruptedError


def _checkpointed(folder: Path, **options: Any) -> DeepSurvivalMachines:
    return DeepSurvivalMachines(
        k=2, hidden=(3,), max_epochs=3, batch_size=45, checkpoint=folder, **options
    )


@cache
def _checkpoint() -> tuple[bytes, Any]:
    """Return a checkpoint after two of three epochs, and the predictions at the end."""
    X, y = _data()
    folder = Path(mkdtemp())
    try:
        _checkpointed(folder, callbacks=[_Stop()]).fit(X, y)
    except InterruptedError:
        data = (folder / _CHECKPOINT).read_bytes()
    shutil.rmtree(folder)
    return data, DeepSurvivalMachines(k=2, hidden=(3,), max_epochs=3, batch_size=45).fit(
        X, y
    ).predict(X)


def _damaged_checkpoint(rng: Random, folder: Path) -> str | None:
    data, expected = _checkpoint()
    changed = altered_bytes(rng, data)
    (folder / _CHECKPOINT).write_bytes(changed)

    def case() -> None:
        if not np.array_equal(_checkpointed(folder).fit(*_data()).predict(_data()[0]), expected):
            raise AssertionError("another model")

    return watched(case, len(changed))


def _forged_checkpoint(rng: Random, folder: Path) -> str | None:
    (folder / _CHECKPOINT).write_bytes(_checkpoint()[0])
    content, arrays = read_arrays(folder / _CHECKPOINT)
    if rng.random() < 0.5:
        change_somewhere(rng, content)
    else:
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        arrays[name] = np.ascontiguousarray(altered_array(rng, arrays[name]))
    write_arrays(folder / _CHECKPOINT, content, arrays)

    def case() -> None:
        _checkpointed(folder).fit(*_data())

    return watched(case, (folder / _CHECKPOINT).stat().st_size)


def _subset(found: dict[Any, Any], known: dict[Any, Any]) -> None:
    if not all(repr(known.get(key)) == repr(value) for key, value in found.items()):
        raise AssertionError("a wrong number")


@cache
def _table() -> bytes:
    X, y = _data(1)
    return X.assign(time=y["time"], event=y["event"]).to_csv(index=False).encode()


def _command(arguments: list[str]) -> None:
    """Run a command inside of this process; only its own refusals are right."""
    from typer.testing import CliRunner

    from lifemix.cli import app

    result = CliRunner().invoke(app, arguments)
    if result.exit_code not in (0, 2) or "something went wrong" in result.stderr:
        raise AssertionError(
            f"exit code {result.exit_code}: {result.stderr[-200:]} {result.exception!r}"
        )


def _damaged_table(rng: Random, folder: Path) -> str | None:
    name = str(rng.choice(["t.csv", "t.tsv", "t.csv.gz", "t.parquet"]))
    (folder / name).write_bytes(altered_bytes(rng, _table()))
    columns = ["--time", "time", "--event", "event"]
    return watched(lambda: _command(["doctor", str(folder / name), *columns]), memory=False)


def _command_line(rng: Random, folder: Path) -> str | None:
    (folder / "t.csv").write_bytes(_table())
    (folder / "m.safetensors").write_bytes(_models()[1][0])
    names = [
        "--time",
        "--event",
        "--times",
        "--unit",
        "--id",
        "--entry",
        "--drop",
        "--seed",
        "--numeric",
        "-o",
        "--json",
    ]
    values = [
        "time",
        "event",
        "a",
        "group",
        "1,2",
        "1d",
        "",
        "nan",
        "-1",
        "1e400",
        "[/red]",
        "$x$",
        "0",
        "é",
        "t.csv",
    ]
    command = str(rng.choice(["doctor", "predict", "evaluate", "describe"]))
    arguments = [command] + ([] if command == "doctor" else [str(folder / "m.safetensors")])
    arguments += [] if command == "describe" else [str(folder / "t.csv")]
    for _ in range(int(rng.integers(0, 4))):
        arguments += [str(rng.choice(names)), str(rng.choice(values))][: int(rng.integers(1, 3))]
    return watched(lambda: _command(arguments), memory=False)


def _train_command(rng: Random, folder: Path) -> str | None:
    """``fit`` and ``compare`` with odd options; what could take long is kept small."""
    (folder / "t.csv").write_bytes(_table())
    odd = [
        "--model",
        "--models",
        "--fast",
        "--jobs",
        "--k",
        "--hidden",
        "--dropout",
        "--search",
        "--holdout",
        "--unit",
    ]
    values = [
        "cox",
        "curve",
        "dsm",
        "lifemix",
        "svm",
        "0",
        "-2",
        "1",
        "nan",
        "",
        "none",
        "3,2",
        "[/red]",
        "$x$",
        "0.4",
    ]
    command = str(rng.choice(["fit", "compare"]))
    quick = ["-o", str(folder / "m.safetensors")] if command == "fit" else ["--folds", "2"]
    arguments = [
        command,
        str(folder / "t.csv"),
        "--time",
        "time",
        "--event",
        "event",
        "--force",
        *quick,
    ]
    for _ in range(int(rng.integers(0, 3))):
        arguments += [str(rng.choice(odd)), str(rng.choice(values))][: int(rng.integers(1, 3))]
    if "--model" not in arguments and "--models" not in arguments:
        arguments += ["--model", "cox"] if command == "fit" else ["--models", "curve"]
    return watched(lambda: _command(arguments), memory=False)


@cache
def _fitted() -> list[Any]:
    X, y = _data()
    return [
        DeepSurvivalMachines(k=2, hidden=(4,), max_epochs=1).fit(X, y),
        baselines.AalenJohansen().fit(X, y),
    ]


def _odd_times(rng: Random, folder: Path) -> str | None:
    model, X = _fitted()[int(rng.integers(2))], _data()[0][:4]
    odd = [odd_value(rng) for _ in range(int(rng.integers(0, 3)))] + [1e-320, 1e308, 0.0, 2][
        : int(rng.integers(5))
    ]
    times = odd[0] if len(odd) == 1 and rng.random() < 0.5 else odd

    def case() -> None:
        found = model.predict_cumulative_incidence(
            X, times, event=odd_value(rng) if rng.random() < 0.3 else 1
        )
        if not ((found >= 0) & (found <= 1 + 1e-6)).all():
            raise AssertionError(f"no probabilities at {times}: {found}")

    return watched(case)


def _odd_settings(rng: Random, folder: Path) -> str | None:
    defaults = DeepSurvivalMachines(k=1, hidden=(2,), max_epochs=1)
    names = sorted(set(defaults.get_params()) - {"verbose", "callbacks", "checkpoint"})
    for _ in range(int(rng.integers(1, 3))):
        defaults.set_params(**{str(rng.choice(names)): copy.deepcopy(odd_value(rng))})
    if isinstance(defaults.max_epochs, int) and defaults.max_epochs > 100:
        defaults.set_params(max_epochs=1)  # allowed, and long
    return watched(lambda: _fit_and_predict(defaults), memory=False)


def _fit_and_predict(model: DeepSurvivalMachines) -> None:
    X, y = _data()
    try:
        found = model.fit(X, y).predict_survival_function(X[:3], _TIMES)
    except (InputError, ModelFileError):
        return
    if not ((found >= 0) & (found <= 1 + 1e-6)).all():
        raise AssertionError("no probabilities")


Kind = Callable[[Random, Path], str | None]
FILES: dict[str, Kind] = {
    "damaged-model": _damaged_model,
    "forged-model": _forged_model,
    "damaged-checkpoint": _damaged_checkpoint,
    "forged-checkpoint": _forged_checkpoint,
    "weighted-model": _weighted_model,
}
OTHERS: dict[str, Kind] = {
    "table": _damaged_table,
    "command-line": _command_line,
    "times": _odd_times,
    "settings": _odd_settings,
    "train-command": _train_command,
}
# The random numbers of a case depend on the place of its kind in the alphabet: new names come after the others.
KINDS = FILES | OTHERS
