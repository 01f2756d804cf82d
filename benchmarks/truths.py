"""Simulations whose truth is in none of the families: how far the predicted survival is from it.

Run: python -m benchmarks.truths [--truths NAMES] [--models NAMES] [--samples N]. Each truth is drawn several times,
10,000 rows with one covariate and censoring, and fitted with one network, two components (of each family) and a hidden
layer of 16; the samples train together. A score is the mean over 300 new subjects of the integral of the absolute
difference between predicted and true survival, up to where 5 % are left, in per cent of that time. A record per fit is
kept in ``results/truths.jsonl``, what is there is not computed again; the table goes into docs/families.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.line_files import LineFile
from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators.fleet_groups import FitRequest, fit_many

from .families import PAGE, between_markers
from .harness import RESULTS, one_thread

Floats = NDArray[np.float64]
TRUTHS = ("bathtub", "bimodal", "crossing", "piecewise")
SINGLE = (
    "weibull",
    "lognormal",
    "loglogistic",
    "exponential",
    "gompertz",
    "burr",
    "power-generalised-weibull",
)
FLEXIBLE: dict[str, Any] = {
    "spline": "spline",
    "weibull + lognormal": ["weibull", "lognormal"],
    "weibull + spline": ["weibull", "spline"],
}
MODELS: dict[str, Any] = {name: name for name in SINGLE} | FLEXIBLE
SETTINGS: dict[
    str, Any
] = {  # every option whose default follows from the table, so that all records are alike
    "k": 2,
    "hidden": (16,),
    "activation": "relu6",
    "n_members": 1,
    "dropout": 0.0,
    "batch_size": 512,
    "learning_rate": 3e-3,
    "patience": 10,
}
SAMPLES = 3
N_ROWS = 10_000
PATH = RESULTS / "truths.jsonl"
BEGIN, END = (
    "<!-- truths: begin, written by `python -m benchmarks.truths` -->",
    "<!-- truths: end -->",
)
_GRID = np.linspace(0, 30, 3001)
_NEW = 1000  # the seed of the new subjects


@dataclass(frozen=True)
class Distance:
    """One fit: how far predicted survival is from the truth, in per cent."""

    truth: str
    model: str
    sample: int
    error: float
    cpu_seconds: float


def hazards(name: str, x: Floats) -> Floats:
    """Return the hazards of subjects with covariate x on the grid."""
    t = _GRID[None]
    effect = np.exp(0.5 * x)[:, None]
    if name == "bathtub":
        return np.asarray(effect * (0.25 * np.exp(-2 * t) + 0.02 + 0.0008 * t**2))
    if name == "bimodal":
        early, late = (np.exp(-(((t - at) / width) ** 2)) for at, width in ((3, 0.8), (15, 2.0)))
        return np.asarray(effect * (0.004 + 0.25 * early + 0.25 * late))
    if name == "crossing":
        return np.asarray(0.08 * np.exp(x[:, None] * (1 - t / 6).clip(-1.5)))
    return np.asarray(
        effect * np.select([t < 4, t < 8, t < 14], [0.02, 0.2, 0.03], 0.15)
    )  # piecewise


def simulate(name: str, n: int, seed: int) -> tuple[Floats, Any, Floats]:
    """Return covariates, target and the true survival on the grid."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    steps = hazards(name, x)[:, 1:] * np.diff(_GRID)
    cumulative = np.concatenate([np.zeros((n, 1)), steps.cumsum(1)], axis=1)
    goal = rng.exponential(size=n)
    time = np.array(
        [np.interp(g, row, _GRID, right=np.inf) for g, row in zip(goal, cumulative, strict=True)]
    )
    end = rng.uniform(10, 30, n)
    y = make_target(np.maximum(np.minimum(time, end), 1e-3), (time <= end).astype(int))
    return x[:, None], y, np.exp(-cumulative)


def compute(
    truth: str, model: str, samples: int, n_rows: int = N_ROWS, **settings: Any
) -> list[Distance]:
    """Fit a model to all samples of a truth, as one fleet."""
    drawn = [simulate(truth, n_rows, seed) for seed in range(samples)]
    requests = [
        FitRequest(DeepSurvivalMachines(MODELS[model], **(SETTINGS | settings)), X, y)
        for X, y, _ in drawn
    ]
    X, _, survival = simulate(truth, 300, _NEW)
    last = int((survival.mean(0) > 0.05).sum())
    found = []
    for result in fit_many(requests):
        if result.error is not None:
            raise result.error
        predicted = result.model.predict_survival_function(X, _GRID[:last:10])
        error = 100 * float(np.abs(predicted - survival[:, :last:10]).mean())
        found.append(Distance(truth, model, result.number, error, round(result.seconds, 2)))
    return found


def table(known: Sequence[Distance]) -> str:
    """Return the mean of each truth and model with its standard error; the best single family in bold."""
    lines = ["| | " + " | ".join(TRUTHS) + " |", "|---" * (1 + len(TRUTHS)) + "|"]
    errors = {
        (truth, model): np.array(
            list(
                {
                    one.sample: one.error
                    for one in known
                    if (one.truth, one.model) == (truth, model)
                }.values()
            )
        )
        for truth in TRUTHS
        for model in MODELS
    }
    whole = {place for place, values in errors.items() if len(values) > 1}
    for model in MODELS:
        cells = []
        for truth in TRUTHS:
            own = errors[truth, model]
            singles = [float(errors[truth, one].mean()) for one in SINGLE if (truth, one) in whole]
            text = (
                f"{own.mean():.2f} ± {own.std(ddof=1) / np.sqrt(len(own)):.2f}"
                if (truth, model) in whole
                else ""
            )
            best = model in SINGLE and text and float(own.mean()) == min(singles)
            cells.append(f"**{text}**" if best else text)
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truths", description=__doc__)
    parser.add_argument("--truths", default=",".join(TRUTHS), help="separated by commas")
    parser.add_argument("--models", default=";".join(MODELS), help="separated by semicolons")
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, help="how often each truth is drawn"
    )
    options = parser.parse_args()
    one_thread()
    store: LineFile[Distance] = LineFile(PATH, lambda values: Distance(**values))
    for model in options.models.split(";"):
        for truth in options.truths.split(","):
            if (
                sum((one.truth, one.model) == (truth, model) for one in store.records)
                >= options.samples
            ):
                continue
            found = compute(truth, model, options.samples)
            store.append(asdict(one) for one in found)
            store.records += found
            print(truth, model, [round(one.error, 2) for one in found], flush=True)
    between_markers(PAGE, BEGIN, END, table(store.records))
    print(table(store.records))


if __name__ == "__main__":
    main()
