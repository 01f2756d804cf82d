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


def simulate(n_subjects: int, seed: int) -> tuple[Histories, np.ndarray, np.ndarray]:
    """Return the histories until the landmark, the target from there on, and the true log hazard ratio."""
    rng = np.random.default_rng(seed)
    slope = rng.normal(size=n_subjects)
    log_scatter = rng.normal(size=n_subjects)
    visits = []
    for subject in range(n_subjects):
        n_visits = rng.integers(5, 12)
        years = np.sort(rng.uniform(0, LANDMARK, n_visits))
        years = np.append(years, LANDMARK)
        # The level at the landmark does not depend on the slope.
        level = rng.normal() + slope[subject] * (years - LANDMARK)
        scatter = 0.4 * np.exp(0.7 * log_scatter[subject])
        marker = level + scatter * rng.normal(size=len(years))
        rows = pd.DataFrame({"id": subject, "year": years, "marker": marker})
        visits.append(rows)
    log_hazard_ratio = 1.2 * slope + 1.2 * log_scatter
    event_time = rng.exponential(6 * np.exp(-log_hazard_ratio))
    censoring = rng.uniform(1, 8, n_subjects)
    time = LANDMARK + np.minimum(event_time, censoring)
    y = make_target(time, event_time <= censoring, entry=np.full(n_subjects, LANDMARK))
    histories = Histories.from_long(pd.concat(visits), "id", "year").until(LANDMARK)
    return histories, y, log_hazard_ratio


def auc(y: np.ndarray, risk: np.ndarray) -> float:
    """Return the AUC in the window, among those at risk at the landmark: all of them."""
    y = make_target(y["time"] - LANDMARK, y["event"])
    return float(metrics.auc_td(y, y, risk, WINDOW))


def window_risk(model: DeepSurvivalMachines, X: Any) -> np.ndarray:
    """Return the probability of the event in the window, given survival to the landmark."""
    distribution = model.predict_distribution(X).given(LANDMARK)
    return 1 - distribution.survival(LANDMARK + WINDOW)[:, 0]


def compare(n_subjects: int) -> dict[str, float]:
    """Return the AUC of each model for new subjects."""
    X, y, _ = simulate(n_subjects, seed=0)
    X_new, y_new, true_risk = simulate(2000, seed=1)
    recurrent = DeepSurvivalMachines(encoder=encoders.Recurrent(), n_members=2).fit(X, y)
    attention = DeepSurvivalMachines(encoder=encoders.Attention(), n_members=2).fit(X, y)
    last_visit = DeepSurvivalMachines(n_members=2).fit(X.last(), y)
    cox = CoxPH().fit(X.last(), y)
    return {
        "the true hazard": auc(y_new, true_risk),
        "DSM, recurrent": auc(y_new, window_risk(recurrent, X_new)),
        "DSM, attention": auc(y_new, window_risk(attention, X_new)),
        "DSM, last visit": auc(y_new, window_risk(last_visit, X_new.last())),
        "Cox, last visit": auc(y_new, cox.predict(X_new.last())),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--subjects", type=int, default=1000)
    options = parser.parse_args()
    for name, value in compare(options.subjects).items():
        print(f"{name:20s} {value:.3f}")
