"""How often bands of the ensemble's standard deviation (``return_std=True``) contain the true survival curve.

python -m benchmarks.member_spread [--samples 20]

Weibull times whose scale depends on three of five covariates, and uniform censoring. Each sample fits
``DeepSurvivalMachines()`` with its default settings and compares the curves of 500 new subjects with the truth at the
deciles of the event times. A confidence interval would contain the truth in 68 % (one SD) and 95 % (1.96 SD).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lifemix import DeepSurvivalMachines, make_target

from .harness import one_thread

Floats = NDArray[np.float64]
SHAPE, COLUMNS, NEW_SUBJECTS = 1.5, 5, 500
BANDS = (1.0, 1.96)
TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda x: 0.7 * x[:, 0] - 0.5 * x[:, 1] + 0.3 * x[:, 2],
    "not linear": lambda x: 0.7 * x[:, 0] * x[:, 1] + 0.7 * np.abs(x[:, 2]),
}


def coverage(log_scale: Callable[[Floats], Floats], n_rows: int, seed: int) -> list[float]:
    """Return the share of true survival probabilities inside each band."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows + NEW_SUBJECTS, COLUMNS))
    scale = np.exp(log_scale(x))
    event_time, censoring = (
        scale * rng.weibull(SHAPE, len(x)),
        rng.uniform(0, 4 * np.median(scale), len(x)),
    )
    time, event = np.minimum(event_time, censoring), event_time <= censoring
    model = DeepSurvivalMachines(random_state=seed).fit(
        x[:n_rows], make_target(time[:n_rows], event[:n_rows])
    )
    times = np.quantile(time[:n_rows][event[:n_rows]], np.linspace(0.1, 0.9, 9))
    mean, std = model.predict_survival_function(x[n_rows:], times, return_std=True)
    truth = np.exp(-((times / scale[n_rows:, None]) ** SHAPE))
    return [float((np.abs(truth - mean) <= width * std).mean()) for width in BANDS]


def main() -> None:
    """Print the share of true values inside each band, by truth and number of rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.member_spread", description=__doc__.split(":")[0]
    )
    parser.add_argument("--samples", type=int, default=20)
    samples = parser.parse_args().samples
    one_thread()
    for name, log_scale in TRUTHS.items():
        for n_rows in (500, 2_000, 10_000):
            shares = np.mean([coverage(log_scale, n_rows, seed) for seed in range(samples)], axis=0)
            inside = ", ".join(
                f"{width:g} SD {share:.0%}" for width, share in zip(BANDS, shares, strict=True)
            )
            print(f"{name}, {n_rows:,} rows: {inside}", flush=True)


if __name__ == "__main__":
    main()
