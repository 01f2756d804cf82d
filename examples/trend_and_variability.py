"""A simulation in which the history matters beyond its last value: its trend, and how much it varies.

Run: python examples/trend_and_variability.py

A marker is measured at irregular visits until time 2. Its level then says nothing; the hazard afterwards depends on how
fast it has been rising and on how widely it scatters around its line. A recurrent model of the visits finds both;
models of the last visit cannot. Prints the AUC of the risk of the event in (2, 4] for new subjects, of each model and
of the true hazard.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, encoders, make_target, metrics
from lifemix.baselines import CoxPH
from lifemix.histories import Histories

LANDMARK, WINDOW = 2.0, 2.0


def simulate(n: int, seed: int) -> tuple[Histories, np.ndarray, np.ndarray]:
    """Return the histories until the landmark, the target from there on, and the true log hazard ratio."""
    rng = np.random.default_rng(seed)
    slope, log_scatter = rng.normal(size=n), rng.normal(size=n)
    visits = []
    for i in range(n):
        at = np.sort(np.append(rng.uniform(0, LANDMARK, rng.integers(5, 12)), LANDMARK))
        level = rng.normal() + slope[i] * (
            at - LANDMARK
        )  # the level at the landmark knows nothing of the slope
        noise = 0.4 * np.exp(0.7 * log_scatter[i]) * rng.normal(size=len(at))
        visits.append(pd.DataFrame({"id": i, "year": at, "marker": level + noise}))
    effect = 1.2 * slope + 1.2 * log_scatter
    event = rng.exponential(6 * np.exp(-effect))
    censoring = rng.uniform(1, 8, n)
    y = make_target(
        LANDMARK + np.minimum(event, censoring), event <= censoring, entry=np.full(n, LANDMARK)
    )
    return Histories.from_long(pd.concat(visits), "id", "year").until(LANDMARK), y, effect


def auc(y: np.ndarray, risk: np.ndarray) -> float:
    """Return the AUC in the window, among those at risk at the landmark: all of them."""
    from_there = make_target(y["time"] - LANDMARK, y["event"])
    return float(np.ravel(metrics.auc_td(from_there, from_there, risk, WINDOW))[0])


def compare(n: int, seed: int = 0, **settings: Any) -> dict[str, float]:
    """Return the AUC of each model for new subjects."""
    X, y, _ = simulate(n, seed)
    new, y_new, truth = simulate(2000, seed + 1)
    found = {"the true hazard": auc(y_new, truth)}
    for name, encoder in (("recurrent", encoders.Recurrent()), ("attention", encoders.Attention())):
        model = DeepSurvivalMachines(encoder=encoder, **settings).fit(X, y)
        given = model.predict_distribution(new).given(LANDMARK)
        found[f"DSM, {name}"] = auc(y_new, 1 - given.survival(LANDMARK + WINDOW)[:, 0])
    last = DeepSurvivalMachines(**settings).fit(X.last(), y)
    found["DSM, last visit"] = auc(
        y_new, 1 - last.predict_distribution(new.last()).given(LANDMARK).survival(4.0)[:, 0]
    )
    cox = CoxPH().fit(X.last(), y)
    found["Cox, last visit"] = auc(y_new, cox.predict(new.last()))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--subjects", type=int, default=1000)
    for name, value in compare(parser.parse_args().subjects, n_members=2).items():
        print(f"{name:20s} {value:.3f}")
