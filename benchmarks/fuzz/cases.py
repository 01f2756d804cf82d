"""The kinds of cases: functions of a random generator and a folder that return a problem, or None."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from lifemix import DeepSurvivalMachines, LifeMix, baselines, load, make_target, save
from lifemix._types import FloatArray
from lifemix.cli import app
from lifemix.files import read_arrays, write_arrays
from lifemix.training import Callback

from .guard import watched
from .mutations import (
    ODD_OBJECTS,
    Random,
    change_array,
    change_bytes,
    change_somewhere,
    choose,
)

TIMES = [0.0, 0.5, 2.0, 50.0]
CHECKPOINT = "lifemix-checkpoint-0.pt"
OUTCOME = ["--time", "time", "--event", "event"]
PREDICTION_OPTIONS = (
    "--time --event --times --unit --id --entry --drop --seed --numeric -o --json".split()
)
TRAINING_OPTIONS = (
    "--model --models --jobs --k --hidden --dropout --search --holdout --unit".split()
)
PREDICTION_VALUES = "time event a group 1,2 1d nan -1 1e400 [/red] $x$ 0 é t.csv".split()
TRAINING_VALUES = "cox curve svm 0 -2 1 nan none 3,2 [/red] $x$ 0.4".split()
Problem = str | None


@cache
def data(n_events: int = 2) -> tuple[pd.DataFrame, Any]:
    """Return a small table and its target."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((90, 2)), columns=["a", "b"])
    X["group"] = rng.choice(["low", "high", "none"], 90)
    time = rng.weibull(1.5, 90) * np.exp(X["a"])
    event = rng.integers(0, n_events + 1, 90)
    return X, make_target(time.round(2) + 0.02, event)


@cache
def model_files() -> list[tuple[bytes, FloatArray]]:
    """Return the bytes of model files of many classes, with the predictions of the models."""
    small = DeepSurvivalMachines(k=2, hidden=(4,), n_members=1, max_epochs=2)
    boosting = baselines.GradientBoosting(n_intervals=4, max_iter=5, min_samples_leaf=10)
    cox = baselines.CoxPH(penalty=1.0)
    models_of_one_event = [
        baselines.CoxPH(),
        baselines.KaplanMeier(),
        LifeMix({"networks": small, "Cox": cox, "trees": boosting}, n_folds=2),
    ]
    models_of_two_events = [
        DeepSurvivalMachines(k=2, hidden=(4,), max_epochs=2),
        baselines.FineGray(),
        boosting,
        baselines.CauseSpecific(cox),
        baselines.ModelAverage([small, boosting]),
    ]
    files = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for n_events, models in ((1, models_of_one_event), (2, models_of_two_events)):
            for model in models:
                save(model.fit(*data(n_events)), path)
                files.append((path.read_bytes(), predict(path)))
    return files


def predict(path: Path) -> FloatArray:
    """Return predictions of a model file."""
    X, _ = data()
    return load(path).predict_survival_function(X[:5], TIMES)


def require_probabilities(values: FloatArray) -> None:
    """Raise if a value is not a probability."""
    if not np.all((values >= 0) & (values <= 1 + 1e-6)):
        raise AssertionError(f"not probabilities: {values.min()} to {values.max()}")


def forge(rng: Random, path: Path) -> None:
    """Change values of a file and write it with a correct checksum, as anybody could."""
    content, arrays = read_arrays(path)
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.6 or not arrays:
            change_somewhere(rng, content["model"])
        else:
            name = choose(rng, sorted(arrays))
            arrays[name] = change_array(rng, arrays[name])
    write_arrays(path, content, arrays)


def damaged_model(rng: Random, folder: Path) -> Problem:
    """A damaged file is refused, or predicts the same."""
    content, expected = choose(rng, model_files())
    path = folder / "model"
    path.write_bytes(change_bytes(rng, content))

    def case() -> None:
        np.testing.assert_array_equal(predict(path), expected)

    return watched(case, len(content))


def forged_model(rng: Random, folder: Path) -> Problem:
    """A forged file is refused, or its model predicts probabilities."""
    content, _ = choose(rng, model_files())
    path = folder / "model"
    path.write_bytes(content)
    forge(rng, path)
    size = path.stat().st_size
    return watched(lambda: require_probabilities(predict(path)), size)


class Interrupt(Callback):
    """Interrupts training after the second epoch."""

    def on_epoch_end(self, state: Any) -> None:
        """Raise after two epochs."""
        if state.epoch == 2:
            raise InterruptedError


def small_model(**options: Any) -> DeepSurvivalMachines:
    """Return the model of the checkpoints."""
    return DeepSurvivalMachines(k=2, hidden=(3,), max_epochs=3, batch_size=45, **options)


@cache
def checkpoint() -> tuple[bytes, FloatArray]:
    """Return a checkpoint after two of three epochs, and the predictions at the end."""
    X, y = data()
    with TemporaryDirectory() as folder:
        interrupted = small_model(checkpoint=Path(folder), callbacks=[Interrupt()])
        with suppress(InterruptedError):
            interrupted.fit(X, y)
        content = (Path(folder) / CHECKPOINT).read_bytes()
    return content, small_model().fit(X, y).predict(X)


def damaged_checkpoint(rng: Random, folder: Path) -> Problem:
    """A damaged checkpoint is refused, or training ends with the same model."""
    X, y = data()
    content, expected = checkpoint()
    (folder / CHECKPOINT).write_bytes(change_bytes(rng, content))

    def case() -> None:
        predictions = small_model(checkpoint=folder).fit(X, y).predict(X)
        np.testing.assert_array_equal(predictions, expected)

    return watched(case, len(content))


def run_command(arguments: list[str]) -> Problem:
    """Run a command inside this process; a result or a refusal in its own words are right."""

    def case() -> None:
        result = CliRunner().invoke(app, arguments)
        if result.exit_code not in (0, 2) or "something went wrong" in result.stderr:
            message = f"exit code {result.exit_code}: {result.stderr[-200:]}"
            raise AssertionError(f"{message} {result.exception!r}")

    return watched(case, limit_memory=False)


def table_bytes() -> bytes:
    """Return the table as CSV."""
    X, y = data(1)
    table = X.assign(time=y["time"], event=y["event"])
    return table.to_csv(index=False).encode()


@cache
def compressed_tables() -> dict[str, bytes]:
    """Return the table in formats of bytes, by file name."""
    X, y = data(1)
    table = X.assign(time=y["time"], event=y["event"])
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("t.csv.gz", "t.zip", "t.csv.bz2", "t.csv.xz")]
        for path in paths:
            table.to_csv(path, index=False)
        paths += [Path(folder) / "t.parquet", Path(folder) / "t.xlsx"]
        table.to_parquet(paths[-2])
        table.to_excel(paths[-1], index=False)
        return {path.name: path.read_bytes() for path in paths}


def damaged_table(rng: Random, folder: Path) -> Problem:
    """The doctor refuses a damaged table or describes it."""
    tables = {**compressed_tables(), "t.csv": table_bytes(), "t.tsv": table_bytes()}
    name = choose(rng, sorted(tables))
    path = folder / name
    path.write_bytes(change_bytes(rng, tables[name]))
    return run_command(["doctor", str(path), *OUTCOME])


def random_options(rng: Random, names: list[str], values: list[str], at_most: int) -> list[str]:
    """Return options, some of them without a value and some with an empty one."""
    arguments: list[str] = []
    for _ in range(int(rng.integers(at_most + 1))):
        arguments.append(choose(rng, names))
        if rng.random() < 0.5:
            arguments.append(choose(rng, [*values, ""]))
    return arguments


def prediction_command(rng: Random, folder: Path) -> Problem:
    """Commands that read a model or a table, with random options."""
    table, model = str(folder / "t.csv"), str(folder / "m.safetensors")
    Path(table).write_bytes(table_bytes())
    content, _ = model_files()[0]
    Path(model).write_bytes(content)
    commands = [
        ["doctor", table],
        ["describe", model],
        ["predict", model, table],
        ["evaluate", model, table],
    ]
    options = random_options(rng, PREDICTION_OPTIONS, PREDICTION_VALUES, at_most=3)
    return run_command([*choose(rng, commands), *options])


def training_command(rng: Random, folder: Path) -> Problem:
    """``fit`` and ``compare`` of fast models with random options."""
    table = folder / "t.csv"
    table.write_bytes(table_bytes())
    commands = [
        ["fit", str(table), "--model", "cox", "-o", str(folder / "m.safetensors")],
        ["compare", str(table), "--models", "curve", "--folds", "2"],
    ]
    options = random_options(rng, TRAINING_OPTIONS, TRAINING_VALUES, at_most=2)
    return run_command([*choose(rng, commands), *OUTCOME, *options])


@cache
def fitted_models() -> list[Any]:
    """Return a network and a step function."""
    X, y = data()
    network = DeepSurvivalMachines(k=2, hidden=(4,), max_epochs=1)
    return [network.fit(X, y), baselines.AalenJohansen().fit(X, y)]


def odd_times(rng: Random, folder: Path) -> Problem:
    """Incidences at odd times and of odd events are refused, or probabilities."""
    X, _ = data()
    model = choose(rng, fitted_models())
    values = [*ODD_OBJECTS, 1e-320, 2.0]
    times = choose(rng, values)
    if rng.random() < 0.7:
        times = [choose(rng, values) for _ in range(rng.integers(4))]
    event = 1
    if rng.random() < 0.3:
        event = choose(rng, ODD_OBJECTS)

    def case() -> None:
        incidence = model.predict_cumulative_incidence(X[:4], times, event=event)
        require_probabilities(incidence)

    return watched(case)


def odd_covariates(rng: Random, folder: Path) -> Problem:
    """Tables with odd cells are refused, or give probabilities, in a fit and in a prediction."""
    X, y = data()
    model = choose(rng, [*fitted_models(), baselines.FineGray(), small_model()])
    table = X.astype(object)
    for _ in range(int(rng.integers(1, 4))):
        row, column = rng.integers(len(X)), rng.integers(X.shape[1])
        table.iat[row, column] = choose(rng, ODD_OBJECTS)
    covariates = table if rng.random() < 0.5 else table.to_numpy()

    def case() -> None:
        fitted = model if hasattr(model, "n_events_") else model.fit(covariates, y)
        require_probabilities(fitted.predict_survival_function(covariates, TIMES))

    return watched(case, limit_memory=False)


def odd_target(rng: Random, folder: Path) -> Problem:
    """Targets and weights with odd values are refused, or the model predicts probabilities."""
    X, y = data()
    columns = {"time": y["time"].astype(object), "event": y["event"].astype(object)}
    columns |= {"entry": columns["time"] * 0, "upper": columns["time"] * 1}
    columns["subject"] = np.arange(len(y)).astype(object)
    weight = np.ones(len(y), dtype=object)
    for _ in range(int(rng.integers(1, 4))):
        values = choose(rng, [*columns.values(), weight])
        values[int(rng.integers(len(y)))] = choose(rng, ODD_OBJECTS)
    names = ["time", "event", *("subject", "entry", "upper")[: int(rng.integers(4))]]

    def case() -> None:
        target = make_target(**{name: list(columns[name]) for name in names})
        model = baselines.AalenJohansen().fit(X, target, sample_weight=list(weight))
        require_probabilities(model.predict_survival_function(X[:3], TIMES))

    return watched(case, limit_memory=False)


def odd_settings(rng: Random, folder: Path) -> Problem:
    """Odd settings of an estimator are refused, or it predicts probabilities."""
    n_events = int(rng.integers(1, 3))
    X, y = data(n_events)
    models = [
        DeepSurvivalMachines(k=1, hidden=(2,), max_epochs=1),
        baselines.FineGray(max_iter=3),
        baselines.GradientBoosting(n_intervals=3, max_iter=3),
        baselines.MartingaleForest(n_trees=2, n_intervals=3),
        baselines.DeepHit(shared_nodes=2, cause_nodes=2, n_times=3, max_epochs=1),
        LifeMix({"curve": baselines.AalenJohansen(), "again": baselines.AalenJohansen()}),
    ]
    if n_events == 1:
        models += [baselines.CoxPH(max_iter=3), baselines.DeepSurv(hidden=(2,), max_epochs=1)]
    model = copy.deepcopy(choose(rng, models))
    names = sorted(set(model.get_params(deep=False)) - {"verbose", "callbacks", "checkpoint"})
    for _ in range(int(rng.integers(1, 3))):
        value = copy.deepcopy(choose(rng, ODD_OBJECTS))
        model.set_params(**{choose(rng, names): value})
    for name in names:
        value = getattr(model, name)
        if isinstance(value, int) and value > 100:
            model.set_params(**{name: 1})  # large values are valid, but take hours or gigabytes

    def case() -> None:
        survival = model.fit(X, y).predict_survival_function(X[:3], TIMES)
        require_probabilities(survival)

    return watched(case, limit_memory=False)


CASES: dict[str, Callable[[Random, Path], Problem]] = {
    "damaged-model": damaged_model,
    "forged-model": forged_model,
    "damaged-checkpoint": damaged_checkpoint,
    "table": damaged_table,
    "prediction-command": prediction_command,
    "training-command": training_command,
    "times": odd_times,
    "covariates": odd_covariates,
    "target": odd_target,
    "settings": odd_settings,
}
