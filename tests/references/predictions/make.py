"""Fits with every setting written out and what they predict: predictions.json.

Run in this folder with the code to store: ``PYTHONPATH=CHECKOUT/src python make.py``. Made by version 0.1.0.
At most five epochs, because the differences in rounding between processors grow with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lifemix
from lifemix import DeepSurvivalMachines, datasets, make_target

HERE = Path(__file__).parent
ROWS, SHOWN = 360, 8
EVERY_SETTING = {
    "primitive": "weibull",
    "k": 3,
    "hidden": (12,),
    "objective": "exact",
    "discount": 1.0,
    "n_members": 1,
    "random_state": 0,
    "activation": "relu6",
    "shift_activation": "identity",
    "bias": True,
    "encoder": None,
    "dropout": 0.0,
    "weight_decay": 0.0,
    "prior_strength": 1e-8,
    "head_prior": 0.0,
    "learning_rate": 5e-3,
    "optimizer": "adam",
    "batch_size": 64,
    "max_epochs": 4,
    "patience": 10,
    "validation_fraction": 0.15,
    "preprocessor": "auto",
    "device": "cpu",
    "checkpoint": None,
    "verbose": False,
}
PAPER = {
    "objective": "elbo",
    "shift_activation": None,
    "bias": False,
    "hidden": (16,),
    "k": 4,
    "learning_rate": 1e-3,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "weibull": ("support", {}),
    "lognormal": ("support", {"primitive": "lognormal"}),
    "loglogistic": ("support", {"primitive": "loglogistic"}),
    "elbo": ("support", {"objective": "elbo"}),
    "lognormal, elbo, discount": (
        "support",
        {"primitive": "lognormal", "objective": "elbo", "discount": 0.5},
    ),
    "discount": ("support", {"discount": 0.5}),
    "two layers, dropout, weight decay": (
        "support",
        {"hidden": (12, 8), "dropout": 0.3, "weight_decay": 0.1, "activation": "tanh"},
    ),
    "two members": ("support", {"n_members": 2, "max_epochs": 5}),
    "no bias, linear": ("support", {"bias": False, "hidden": ()}),
    "rmsprop": ("support", {"optimizer": "rmsprop", "learning_rate": 1e-3}),
    "sgd": ("support", {"optimizer": "sgd"}),
    "gelu": ("support", {"activation": "gelu"}),
    "silu": ("support", {"activation": "silu", "shift_activation": "selu"}),
    "relu": (
        "support",
        {"activation": "relu", "shift_activation": "tanh", "primitive": "lognormal"},
    ),
    "elu, priors": ("support", {"activation": "elu", "prior_strength": 0.1, "head_prior": 0.01}),
    "paper": ("support", PAPER),
    "paper, lognormal": ("support", PAPER | {"primitive": "lognormal", "discount": 0.75}),
    "stops early": ("support", {"learning_rate": 0.02, "patience": 1, "max_epochs": 5}),
    "intervals, truncation, weights": ("mixed", {}),
    "intervals, truncation, elbo": ("mixed", {"objective": "elbo", "primitive": "loglogistic"}),
    "causes": ("causes", {}),
    "causes, lognormal, elbo": (
        "causes",
        {"primitive": "lognormal", "objective": "elbo", "discount": 0.5},
    ),
    "causes, members, dropout": (
        "causes",
        {"n_members": 2, "dropout": 0.2, "hidden": (12, 12), "activation": "tanh"},
    ),
    "causes, intervals": ("mixed causes", {"max_epochs": 2}),
    "simulated": ("simulated", {"hidden": (20,), "batch_size": 50}),
    "simulated, as it is": (
        "simulated",
        {"preprocessor": None, "primitive": "loglogistic", "k": 1},
    ),
}

Sample = tuple[Any, np.ndarray, np.ndarray | None]


def _support() -> Sample:
    data = datasets.load_support()
    return data.X[::25][:ROWS], data.y[::25][:ROWS], None


def _causes() -> Sample:
    data = datasets.load_metabric_causes()
    return data.X[::5][:ROWS], data.y[::5][:ROWS], None


def _simulated() -> Sample:
    data = datasets.make_synthetic(ROWS, random_state=4)
    return data.X.to_numpy(), data.y, None


def _mixed(sample: Sample) -> Sample:
    """Make some rows interval-censored and some truncated, and give weights."""
    X, y, _ = sample
    rows = np.arange(ROWS)
    upper = np.where((y["event"] > 0) & (rows % 3 == 0), 1.5 * y["time"] + 1, np.nan)
    entry = np.where(rows % 4 == 0, y["time"] / 3, 0.0)
    return X, make_target(y["time"], y["event"], entry, upper), 1.0 + rows % 3


SAMPLES: dict[str, Callable[[], Sample]] = {
    "support": _support,
    "causes": _causes,
    "simulated": _simulated,
    "mixed": lambda: _mixed(_support()),
    "mixed causes": lambda: _mixed(_causes()),
}


def model_of(name: str) -> DeepSurvivalMachines:
    """Return the model of a case, every setting given."""
    return DeepSurvivalMachines(**(EVERY_SETTING | CASES[name][1]))


def predictions(name: str) -> dict[str, Any]:
    """Fit a case and return what it says of its first rows, and how its training went."""
    X, y, weight = SAMPLES[CASES[name][0]]()
    model = model_of(name).fit(X, y, weight)
    some = X[:SHOWN]
    times = np.quantile(y["time"], [0.0, 0.25, 0.5, 0.75, 1.0]) + 0.5
    events = range(1, model.n_events_ + 1)
    arrays = {
        "times": times,
        "survival": model.predict_survival_function(some, times),
        "incidences": np.array(
            [model.predict_cumulative_incidence(some, times, event) for event in events]
        ),
        "median": model.predict_distribution(some).quantile(0.5)[:, 0],
        "risk": model.predict(some),
        "representation": model.transform(some)[:, :5],
        "log_likelihood": model.log_likelihood(X, y),
        "train_loss": [record["train_loss"] for record in model.history_],
        "best_epoch": model.best_epoch_,
    }
    return {name: np.asarray(values).tolist() for name, values in arrays.items()}


def rounded(values: Any) -> Any:
    """Return numbers with eight digits, however nested."""
    return (
        [rounded(value) for value in values] if isinstance(values, list) else float(f"{values:.8g}")
    )


def main() -> None:
    """Write the file."""
    torch.set_num_threads(1)
    cases = {
        name: {array: rounded(values) for array, values in predictions(name).items()}
        for name in CASES
    }
    content = json.dumps({"version": lifemix.__version__, "cases": cases}, separators=(",", ":"))
    (HERE / "predictions.json").write_text(content + "\n")


if __name__ == "__main__":
    main()
