"""A treatment that begins at some time: rows by interval give its effect, the last value of each patient does not.

Patients wait for a treatment that halves their hazard; the waiting time is random, and the sicker wait less. The same
5,000 patients are given to a linear model (one Weibull distribution) and to the default network as rows by interval,
and to the linear model as one row per patient with its last treatment, and with its first. Shown is how far the hazard
is off along the paths of other patients, ``sum int |h - h_true| dt / sum int h_true dt`` over the time that each was
observed.

    OMP_NUM_THREADS=1 python examples/time_varying.py        # some ten seconds
    OMP_NUM_THREADS=1 python examples/time_varying.py 5000 2 # another sample: how many patients, random seed
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, make_target
from lifemix.baselines import CoxPH

COVARIATES = ["severity", "treated"]


def true_hazard(severity: Any, treated: Any) -> Any:
    """Return events per year."""
    return 0.35 * np.exp(0.6 * severity - np.log(2) * treated)


def simulate(n_patients: int, seed: int) -> pd.DataFrame:
    """Return patients as rows by interval: untreated up to the treatment, treated after it."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=n_patients).round(3)
    treatment = rng.exponential(2 * np.exp(-0.5 * severity))
    hazard_before = true_hazard(severity, 0)
    hazard_after = true_hazard(severity, 1)
    # The event happens when the cumulative hazard reaches a random threshold.
    threshold = rng.exponential(size=n_patients)
    excess = threshold - hazard_before * treatment
    untreated_time = threshold / hazard_before
    time = np.where(excess < 0, untreated_time, treatment + excess / hazard_after)
    censoring = rng.uniform(1, 6, n_patients)
    stop = np.minimum(time, censoring)
    rows = pd.DataFrame(
        {
            "id": range(n_patients),
            "start": 0.0,
            "stop": stop,
            "event": (time <= censoring).astype(int),
            "severity": severity,
            "treated": 0,
        }
    )
    is_treated = treatment < stop
    treated_rows = rows[is_treated].assign(start=treatment[is_treated], treated=1)
    rows.loc[is_treated, "stop"] = treatment[is_treated]
    rows.loc[is_treated, "event"] = 0
    return pd.concat([rows, treated_rows]).sort_values(["id", "start"], ignore_index=True)


def hazard_error(model: Any, rows: pd.DataFrame, n_points: int = 40) -> float:
    """Return the integrated error of the hazard along paths, relative to the integrated hazard."""
    error = total = 0.0
    fractions = (np.arange(n_points) + 0.5) / n_points
    distributions = model.predict_distribution(rows[COVARIATES])
    for number, row in enumerate(rows.itertuples()):
        length = row.stop - row.start
        truth = true_hazard(row.severity, row.treated)
        times = row.start + length * fractions
        hazard = distributions[number].hazard(times)[0]
        error += np.abs(hazard - truth).mean() * length
        total += truth * length
    return error / total


def hazard_ratio(model: Any) -> float:
    """Return the hazard ratio of the treatment that a model sees: one year after the origin, in the mean patient."""
    patients = pd.DataFrame({"severity": [0.0, 0.0], "treated": [0, 1]})
    hazard = model.predict_distribution(patients).hazard([1.0])
    untreated, treated = hazard[:, 0]
    return float(treated / untreated)


def fit_all(rows: pd.DataFrame) -> dict[str, DeepSurvivalMachines]:
    """Fit models to the rows by interval, and to one row per patient in two ways."""
    X = rows[COVARIATES]
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    first = rows.drop_duplicates("id", keep="first")
    last = rows.drop_duplicates("id", keep="last")
    y_patients = make_target(last["stop"], last["event"])
    linear = {"hidden": (), "k": 1}
    return {
        "by interval, linear": DeepSurvivalMachines(**linear).fit(X, y),
        "by interval, network": DeepSurvivalMachines().fit(X, y),
        "last value, linear": DeepSurvivalMachines(**linear).fit(last[COVARIATES], y_patients),
        "first value, linear": DeepSurvivalMachines(**linear).fit(first[COVARIATES], y_patients),
    }


def main(n_patients: int = 5000, seed: int = 0) -> None:
    """Fit, and print the error and the hazard ratio of each model."""
    rows = simulate(n_patients, seed)
    new_rows = simulate(500, seed + 1)
    print(f"{n_patients} patients, {len(rows)} intervals, {rows['event'].sum()} events")
    print("true hazard ratio 0.50")
    for name, model in fit_all(rows).items():
        error = hazard_error(model, new_rows)
        ratio = hazard_ratio(model)
        print(f"{name:20s} error of the hazard {error:6.1%}   hazard ratio {ratio:.2f}")
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    cox = CoxPH(preprocessor=None).fit(rows[COVARIATES], y)
    print(f"Cox regression by interval: hazard ratio {np.exp(cox.coef_[1]):.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
