"""The reference values, and the data they were computed on."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from lifemix import make_target

settings.register_profile("no deadline", deadline=None)  # a busy machine is no failure
settings.load_profile("no deadline")

FOLDER = Path(__file__).parents[1] / "references" / "metrics"


def read(name):
    return json.loads((FOLDER / name).read_text())


@pytest.fixture(scope="session")
def r_values():
    return read("r.json")


@pytest.fixture(scope="session")
def sksurv_values():
    return read("sksurv.json")


class Reference:
    """One of the data sets: ``tied``, ``continuous`` or ``train``."""

    def __init__(self, columns):
        self.columns = {name: np.asarray(values) for name, values in columns.items()}
        self.risk = self.columns["risk"]
        self.y = make_target(self.columns["time"], self.columns["event"])
        self.truncated = make_target(
            self.columns["time"], self.columns["event"], entry=self.columns["entry"]
        )

    def incidence(self, event, n_horizons):
        return self.columns[f"incidence{event}"][:, :n_horizons]


@pytest.fixture(scope="session")
def references():
    content = read("data.json")
    return {name: Reference(content[name]) for name in ("tied", "continuous", "train")}


@pytest.fixture(scope="session")
def horizons():
    return np.asarray(read("data.json")["horizons"])


@pytest.fixture
def rng():
    return np.random.default_rng(7)
