"""Small models with one and with two event types, and rows that they have not seen."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines
from lifemix.report import write_report


def draw(seed, n, n_events=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "dose": rng.gamma(2.0, 1.0, n),
            "arm": rng.choice(["a", "b", "c"], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "dose"] = np.nan
    rates = [np.exp(0.06 * (X["age"] - 60)), np.exp(0.5 * (X["arm"] == "b")) / 2][:n_events]
    latent = np.stack([rng.weibull(1.3, n) / rate for rate in rates])
    censoring = rng.uniform(0, 4, n)
    event = np.where(latent.min(0) <= censoring, latent.argmin(0) + 1, 0)
    return X, (np.minimum(latent.min(0), censoring), event)


def fitted(n_events, n_rows):
    model = DeepSurvivalMachines(k=2, hidden=(8,), n_members=2, max_epochs=25, learning_rate=5e-3)
    return model.fit(*draw(0, 600, n_events)), *draw(1, n_rows, n_events)


@pytest.fixture(scope="session")
def single():
    return fitted(1, 400)


@pytest.fixture(scope="session")
def competing():
    return fitted(2, 300)


@pytest.fixture(scope="session")
def single_file(single, tmp_path_factory):
    path = tmp_path_factory.mktemp("single") / "report.html"
    return write_report(*single, path, n_bootstrap=5, time_unit="years", title="A <b>title</b>")


@pytest.fixture(scope="session")
def competing_file(competing, tmp_path_factory):
    path = tmp_path_factory.mktemp("competing") / "report.html"
    return write_report(*competing, path, n_bootstrap=5, event_names={1: "relapse", 2: "death"})
