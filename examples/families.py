"""Simulations whose truth is in none of the families: how far the predicted survival is from it.

Run: python examples/families.py [rows]. The table has the mean over subjects of the integral of the absolute difference
between predicted and true survival, over the times up to the 95 % quantile of the truth, in per cent of that time.
"""

from __future__ import annotations

import sys

import numpy as np

from lifemix import DeepSurvivalMachines, make_target

SINGLE = ["weibull", "lognormal", "loglogistic", "exponential", "gompertz", "burr", "power-generalised-weibull"]
FLEXIBLE = {
    "spline": "spline",
    "weibull + lognormal": ["weibull", "lognormal"],
    "weibull + spline": ["weibull", "spline"],
}
GRID = np.linspace(0, 30, 3001)


def hazards(name: str, x: np.ndarray) -> np.ndarray:
    """Return the hazards of subjects with covariate x on the grid."""
    t = GRID[None]
    effect = np.exp(0.5 * x)[:, None]
    if name == "bathtub":
        return effect * (0.25 * np.exp(-2 * t) + 0.02 + 0.0008 * t**2)
    if name == "bimodal":
        early, late = (np.exp(-(((t - at) / width) ** 2)) for at, width in ((3, 0.8), (15, 2.0)))
        return effect * (0.004 + 0.25 * early + 0.25 * late)
    if name == "crossing":
        return 0.08 * np.exp(x[:, None] * (1 - t / 6).clip(-1.5))
    return effect * np.select([t < 4, t < 8, t < 14], [0.02, 0.2, 0.03], 0.15)  # piecewise


def simulate(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return covariates, target and the true survival on the grid."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    steps = hazards(name, x)[:, 1:] * np.diff(GRID)
    cumulative = np.concatenate([np.zeros((n, 1)), steps.cumsum(1)], axis=1)
    goal = rng.exponential(size=n)
    time = np.array([np.interp(g, row, GRID, right=np.inf) for g, row in zip(goal, cumulative, strict=True)])
    end = rng.uniform(10, 30, n)
    y = make_target(np.maximum(np.minimum(time, end), 1e-3), (time <= end).astype(int))
    return x[:, None], y, np.exp(-cumulative)


def main() -> None:
    """Print one row per truth."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    models = {name: name for name in SINGLE} | FLEXIBLE
    print("| truth | " + " | ".join(models) + " |")
    print("|---" * (1 + len(models)) + "|")
    for truth in ("bathtub", "bimodal", "crossing", "piecewise"):
        X, y, _ = simulate(truth, n, seed=1)
        X_test, _, survival = simulate(truth, 300, seed=2)
        last = int((survival.mean(0) > 0.05).sum())
        errors = []
        for primitive in models.values():
            model = DeepSurvivalMachines(primitive, k=2, hidden=(16,), learning_rate=3e-3).fit(X, y)
            predicted = model.predict_survival_function(X_test, GRID[:last:10])
            errors.append(100 * np.abs(predicted - survival[:, :last:10]).mean())
        print(f"| {truth} | " + " | ".join(f"{error:.2f}" for error in errors) + " |", flush=True)


if __name__ == "__main__":
    main()
