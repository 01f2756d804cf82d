"""A treatment that begins at some time: rows by interval give its effect, the last value of each patient does not.

Patients wait for a treatment that halves their hazard; the waiting time is random, and the sicker wait less. The same
5,000 patients are given to a linear model (one Weibull distribution) and to the default network as rows by interval,
and to the linear model as one row per patient with its last treatment, and with its first. Shown is how far the hazard
is off along the paths of other patients, ``sum int |h - h_true| dt / sum int h_true dt`` over the time that each was
observed. A picture of one patient is written to time_varying.png.

    OMP_NUM_THREADS=1 python examples/time_varying.py        # some ten seconds
    OMP_NUM_THREADS=1 python examples/time_varying.py 5000 2 # another sample: how many patients, random seed
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, make_target, plots
from lifemix.baselines import CoxPH

COVARIATES = ["severity", "treated"]
TIMES = np.linspace(0, 6, 121)


def true_hazard(severity: Any, treated: Any) -> Any:
    """Return events per year."""
    return 0.35 * np.exp(0.6 * severity - np.log(2) * treated)


def patients(n: int, seed: int) -> pd.DataFrame:
    """Draw patients as rows by interval: untreated up to the treatment, treated after it."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=n).round(3)
    treatment = rng.exponential(2 * np.exp(-0.5 * severity))
    before, after = true_hazard(severity, 0), true_hazard(severity, 1)
    needed = rng.exponential(size=n)  # the cumulative hazard at which the event happens
    waited = before * treatment
    time = np.where(needed < waited, needed / before, treatment + (needed - waited) / after)
    end = rng.uniform(1, 6, n)
    stop, event = np.minimum(time, end), (time <= end).astype(int)
    moved = treatment < stop
    rows = pd.DataFrame(
        {
            "id": range(n),
            "start": 0.0,
            "stop": stop,
            "event": event,
            "severity": severity,
            "treated": 0,
        }
    )
    second = rows[moved].assign(start=treatment[moved], treated=1)
    rows.loc[moved, "stop"], rows.loc[moved, "event"] = treatment[moved], 0
    return pd.concat([rows, second]).sort_values(["id", "start"], ignore_index=True)


def hazard_error(model: Any, rows: pd.DataFrame, n_points: int = 40) -> float:
    """Return the integrated error of the hazard along paths, as a share of the integrated hazard."""
    off, total = 0.0, 0.0
    share = (np.arange(n_points) + 0.5) / n_points
    distributions = model.predict_distribution(rows[COVARIATES])
    for number, row in enumerate(rows.itertuples()):
        at = row.start + (row.stop - row.start) * share
        truth = true_hazard(row.severity, row.treated)
        hazard = distributions[number].hazard(at)[0]
        off += float(np.abs(hazard - truth).mean()) * (row.stop - row.start)
        total += truth * (row.stop - row.start)
    return off / total


def effect(model: Any) -> float:
    """Return the hazard ratio of the treatment that a model sees: one year after the origin, in the mean patient."""
    both = model.predict_distribution(
        pd.DataFrame({"severity": [0.0, 0.0], "treated": [0, 1]})
    ).hazard([1.0])
    return float(both[1, 0] / both[0, 0])


def fit_all(rows: pd.DataFrame) -> dict[str, DeepSurvivalMachines]:
    """Fit models to the rows by interval, and to one row per patient in two ways."""
    by_interval = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    last, first = (
        rows.drop_duplicates("id", keep="last"),
        rows.drop_duplicates("id").set_index("id"),
    )
    whole = make_target(last["stop"], last["event"])
    linear = {"hidden": (), "k": 1}
    return {
        "by interval, linear": DeepSurvivalMachines(**linear).fit(rows[COVARIATES], by_interval),
        "by interval, network": DeepSurvivalMachines().fit(rows[COVARIATES], by_interval),
        "last value, linear": DeepSurvivalMachines(**linear).fit(last[COVARIATES], whole),
        "first value, linear": DeepSurvivalMachines(**linear).fit(
            first.loc[last["id"], COVARIATES], whole
        ),
    }


def main(n: int = 5000, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Fit, print and draw; return the error and the hazard ratio of each model."""
    rows, others = patients(n, seed), patients(500, seed + 1)
    found = {}
    print(
        f"{n} patients, {len(rows)} intervals, {int(rows['event'].sum())} events; true hazard ratio 0.50"
    )
    models = fit_all(rows)
    for name, model in models.items():
        found[name] = hazard_error(model, others), effect(model)
        print(
            f"{name:20s} error of the hazard along paths {found[name][0]:6.1%}   hazard ratio {found[name][1]:.2f}"
        )
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    cox = CoxPH(preprocessor=None).fit(rows[COVARIATES], y)
    print(f"Cox regression by interval: hazard ratio {np.exp(cox.coef_[1]):.2f}")
    draw(models["by interval, linear"], models["last value, linear"])
    return found


def draw(model: DeepSurvivalMachines, last: DeepSurvivalMachines) -> None:
    """Write a picture of one patient treated after two years, beside the truth."""
    x = pd.DataFrame({"severity": [0.5, 0.5], "treated": [0, 1]})
    along = model.predict_path(x, [0, 2], [2, 6], ["p", "p"], TIMES)[0]
    hazards = [float(true_hazard(0.5, treated)) for treated in (0, 1)]
    truth = np.exp(-hazards[0] * np.minimum(TIMES, 2) - hazards[1] * np.maximum(TIMES - 2, 0))
    naive = last.predict_survival_function(x[1:], TIMES)[0]
    labels = ["truth", "by interval", "last value"]
    ax = plots.survival_curves(
        TIMES, np.stack([truth, along, naive]), labels=labels, time_unit="years"
    )
    ax.axvline(2, color="#767676", linestyle=":", linewidth=0.8)
    ax.figure.savefig("time_varying.png", dpi=120)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
