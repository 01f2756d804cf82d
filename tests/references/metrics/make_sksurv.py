"""Reference values from scikit-survival and pycox; reads data.json, writes sksurv.json; see README.md."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pycox
import sksurv
from pycox.evaluation import EvalSurv
from sksurv.metrics import (
    brier_score,
    concordance_index_censored,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)
from sksurv.nonparametric import cumulative_incidence_competing_risks
from sksurv.util import Surv

HERE = Path(__file__).parent
HORIZONS = 4  # the last one lies beyond the follow-up of one of the sets


def weighted(data, train, event):
    """All weighted metrics for one event type, the others censored."""
    times = np.asarray(data["horizons"][:HORIZONS])
    test_set, train_set = data[data["test"]], data[train]
    y_test = Surv.from_arrays(np.equal(test_set["event"], event), test_set["time"])
    y_train = Surv.from_arrays(np.equal(train_set["event"], event), train_set["time"])
    risk = np.asarray(test_set["risk"])
    survival = 1 - np.asarray(test_set[f"incidence{event}"])[:, :HORIZONS]
    return {
        "concordance": [concordance_index_ipcw(y_train, y_test, risk, tau=t)[0] for t in times],
        "harrell": concordance_index_censored(y_test["event"], y_test["time"], risk)[0],
        "brier": brier_score(y_train, y_test, survival, times)[1].tolist(),
        "integrated_brier": integrated_brier_score(y_train, y_test, survival, times),
        "auc": cumulative_dynamic_auc(y_train, y_test, risk, times)[0].tolist(),
        "auc_by_time": cumulative_dynamic_auc(y_train, y_test, 1 - survival, times)[0].tolist(),
    }


def antolini(data):
    """Antolini's concordance without ties, where pycox and we count the same."""
    rng = np.random.default_rng(5)
    n = len(data["time"])
    times = np.linspace(0, max(data["time"]), 40)
    shape, scale = rng.uniform(0.5, 2, n), rng.uniform(5, 40, n)
    survival = np.exp(-((times[:, None] / scale) ** shape))
    # At time 0 all curves are 1, ties that pycox counts as discordant: the grid starts just after it.
    times[0], survival[0] = 1e-6, np.exp(-((1e-6 / scale) ** shape))
    frame = pd.DataFrame(survival, index=times)
    event = np.equal(data["event"], 1).astype(int)
    value = EvalSurv(frame, np.asarray(data["time"]), event).concordance_td("antolini")
    return {
        "times": times.tolist(),
        "shape": shape.tolist(),
        "scale": scale.tolist(),
        "value": value,
    }


def main():
    data = json.loads((HERE / "data.json").read_text())
    result = {"versions": {"scikit-survival": sksurv.__version__, "pycox": pycox.__version__}}
    for name in ("tied", "continuous"):
        data["test"] = name
        for train in (name, "train"):
            for event in (1, 2):
                result[f"{name}/{train}/{event}"] = weighted(data, train, event)
    rows = data["continuous"]
    time, estimate, limits = cumulative_incidence_competing_risks(
        np.asarray(rows["event"]), np.asarray(rows["time"]), conf_type="log-log", var_type="Aalen"
    )
    result["incidence"] = {
        "time": time.tolist(),
        "estimate": estimate[1].tolist(),
        "lower": limits[1, 0].tolist(),
        "upper": limits[1, 1].tolist(),
    }
    result["antolini"] = antolini(data["continuous"])
    (HERE / "sksurv.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
