"""Make the model files of version 0.1.0 and what they predict: one .safetensors file per case and expected.json.

Run with the code of version 0.1.0, in this folder: ``PYTHONPATH=CHECKOUT_OF_0.1.0/src python make.py``. The files are
never made again by later code: they are what users of 0.1.0 have on their disks.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

import lifemix
from lifemix import DeepSurvivalMachines, make_target, save
from lifemix.preprocessing import TabularPreprocessor

HERE = Path(__file__).parent
TIMES = [0.0, 0.5, 1.0, 2.5, 6.0, 40.0]
N, SHOWN = 70, 6
SETTINGS = (
    "primitive k objective discount n_members random_state activation shift_activation bias dropout weight_decay "
    "prior_strength head_prior t_max learning_rate optimizer batch_size max_epochs patience validation_fraction device "
    "verbose"
).split()
COMMAND = "made_by_the_command_line.safetensors"
SMALL = {"hidden": (4,), "k": 2, "max_epochs": 4, "learning_rate": 0.02, "batch_size": 20, "random_state": 3}


def table() -> pd.DataFrame:
    """Return numbers, text, categories, booleans and missing values."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.standard_normal((N, 2)).round(3), columns=["age", "dose"])
    frame["sex"] = rng.choice(["F", "M"], N)
    frame["stage"] = pd.Categorical(rng.choice(["I", "II", "III"], N))
    frame["treated"] = rng.random(N) < 0.5
    frame.loc[rng.random(N) < 0.2, "dose"] = np.nan
    frame.loc[rng.random(N) < 0.2, "sex"] = None
    frame["stage"] = frame["stage"].where(rng.random(N) > 0.1)
    return frame


def array() -> np.ndarray:
    """Return three columns of numbers."""
    return np.random.default_rng(8).standard_normal((N, 3)).round(3)


def target(n_events: int = 1, **columns: Any) -> np.ndarray:
    """Return Weibull times and events drawn without regard to the covariates."""
    rng = np.random.default_rng(9)
    return make_target(rng.weibull(1.4, N) * 3, rng.integers(0, n_events + 1, N), **columns)


def mixed_target() -> np.ndarray:
    """Return exact, right-, left- and interval-censored rows, some of them truncated."""
    rng = np.random.default_rng(10)
    time, event, rows = rng.weibull(1.4, N) * 3, rng.integers(0, 2, N), np.arange(N)
    upper = np.where((event == 1) & (rows % 3 == 0), 1.5 * time, np.nan)
    left = (event == 1) & (rows % 6 == 0)
    entry = np.where(rows % 4 == 0, time / 2, 0.0)
    return make_target(np.where(left, 0.0, time), event, np.where(left, 0.0, entry), upper)


def encoder() -> nn.Module:
    """Return the module of the case with an encoder of the user's."""
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Tanh())


def seeded_encoder() -> nn.Module:
    """Return the encoder with weights that are always the same."""
    torch.manual_seed(5)
    return encoder()


def cases() -> dict[str, tuple[DeepSurvivalMachines, Any, np.ndarray]]:
    """Return the unfitted models with their data."""
    piecewise = TabularPreprocessor(fill_values={"dose": 0.25}, numbers="piecewise", bins=4)
    small = DeepSurvivalMachines
    return {
        "single_risk_table": (small(**SMALL), table(), target()),
        "competing_members": (small(**SMALL, n_members=3, dropout=0.2), table(), target(2)),
        "lognormal_piecewise": (small(**SMALL, primitive="lognormal", preprocessor=piecewise), table(), target()),
        "passthrough_mixed_target": (
            small(**SMALL, primitive="loglogistic", preprocessor=None),
            array(),
            mixed_target(),
        ),
        "passthrough_named_linear": (
            small(**(SMALL | {"hidden": ()}), preprocessor=None, objective="elbo"),
            table()[["age", "treated"]].astype(float),
            target(2),
        ),
        "paper": (small.paper(k=4, hidden=(4, 3), max_epochs=2, discount=0.5, batch_size=20), table(), target()),
        "own_encoder": (small(**SMALL, encoder=seeded_encoder(), n_members=2), array(), target()),
    }


def rows(X: Any) -> dict[str, Any]:
    """Return the first rows of a table or an array in JSON's types."""
    if isinstance(X, np.ndarray):
        return {"array": X[:SHOWN].tolist()}
    return {"columns": {str(name): _plain(column) for name, column in X[:SHOWN].items()}}


def _plain(column: pd.Series) -> list[Any]:
    return [None if pd.isna(v) else v.item() if isinstance(v, np.generic) else v for v in column]


def read_rows(shown: dict[str, Any]) -> Any:
    """Return what ``rows`` wrote as a table or an array."""
    return np.array(shown["array"]) if "array" in shown else pd.DataFrame(shown["columns"])


def describe(model: DeepSurvivalMachines, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return what a model says about some rows, and what it knows of itself."""
    events = range(1, model.n_events_ + 1)
    survival, std = model.predict_survival_function(X, TIMES, return_std=True)
    return {
        "survival": survival.tolist(),
        "survival_std": std.tolist(),
        "incidences": [model.predict_cumulative_incidence(X, TIMES, event).tolist() for event in events],
        "net_survival": [model.predict_net_survival(X, TIMES, event).tolist() for event in events],
        "predict": model.predict(X).tolist(),
        "transform": model.transform(X).tolist(),
        "median": model.predict_distribution(X).quantile(0.5).tolist(),
        "log_likelihood": model.log_likelihood(X, y),
        "feature_names": list(getattr(model, "feature_names_in_", [])),
        "n_events": model.n_events_,
        "n_features": model.n_features_in_,
        "n_parameters": model.n_parameters_,
        "best_epoch": model.best_epoch_,
        "n_epochs": len(model.history_),
        "time_unit": model.time_unit_,
        "last_event_time": model.last_event_time_,
        "event_times": model.event_times_.tolist(),
        "metadata": getattr(model, "metadata_", None),
        "settings": settings(model),
    }


def settings(model: DeepSurvivalMachines) -> dict[str, Any]:
    """Return the options of version 0.1.0 in JSON's types, but for the encoder and the place of checkpoints."""
    preprocessor = model.preprocessor
    if isinstance(preprocessor, TabularPreprocessor):
        preprocessor = preprocessor.get_params()
    return {name: getattr(model, name) for name in SETTINGS} | {"hidden": [*model.hidden], "preprocessor": preprocessor}


def patients() -> pd.DataFrame:
    """Return the table that the command line reads: words for events, a column of names, missing values."""
    frame = table().drop(columns="treated")
    rng = np.random.default_rng(11)
    frame.insert(0, "patient", [f"{number:03d}" for number in range(N)])
    frame["days"] = (rng.exponential(300, N) + 1).round(1)
    frame["outcome"] = rng.choice(["alive", "cancer", "other cause"], N)
    return frame


def run(*arguments: object) -> Any:
    """Run a command of ``lifemix``."""
    from typer.testing import CliRunner

    from lifemix.cli import app

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result


def predicted_by_command(path: Path, shown: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what ``lifemix predict`` says about some patients."""
    with TemporaryDirectory() as folder:
        shown.to_csv(Path(folder) / "patients.csv", index=False)
        options = ["--times", "100,400", "--quantiles", "0.25", "--json"]
        result = run("predict", path, f"{folder}/patients.csv", *options)
    records: list[dict[str, Any]] = json.loads(result.stdout)
    return records


def made_by_command(path: Path) -> dict[str, Any]:
    """Fit with ``lifemix fit`` and return some patients and what ``lifemix predict`` says about them."""
    columns = ["--time", "days", "--event", "outcome", "--censored", "alive", "--id", "patient", "--unit", "days"]
    quick = ["--no-search", "--members", "2", "--epochs", "2", "--hidden", "4", "--force"]
    with TemporaryDirectory() as folder:
        patients().to_csv(Path(folder) / "patients.csv", index=False)
        run("fit", f"{folder}/patients.csv", *columns, *quick, "-o", path)
    shown = rows(patients())
    return {"rows": shown, "predicted": predicted_by_command(path, read_rows(shown))}


def main() -> None:
    """Write the files."""
    torch.set_num_threads(1)
    expected: dict[str, Any] = {}
    for name, (model, X, y) in cases().items():
        model.fit(X, y)
        if name == "competing_members":
            model.metadata_ = {"unit": "years", "events": {"1": "death", "2": "relapse"}}
        save(model, HERE / f"{name}.safetensors")
        fields = {field: y[field][:SHOWN].tolist() for field in y.dtype.names}
        fields = {field: [None if v != v else v for v in values] for field, values in fields.items()}
        shown = rows(X)
        expected[name] = {"rows": shown, "y": fields} | describe(model, read_rows(shown), y[:SHOWN])
    written = {"version": lifemix.__version__, "cases": expected, "command": made_by_command(HERE / COMMAND)}
    (HERE / "expected.json").write_text(json.dumps(written) + "\n")


if __name__ == "__main__":
    main()
