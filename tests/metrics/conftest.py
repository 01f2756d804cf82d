"""The reference values, and the data they were computed on."""

import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import make_target

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
    """A data set: ``tied``, ``continuous`` or ``train``."""

    def __init__(self, columns):
        self.columns = {name: np.asarray(values) for name, values in columns.items()}
        self.risk = self.columns["risk"]
        time, event = self.columns["time"], self.columns["event"]
        self.y = make_target(time, event)
        self.truncated = make_target(time, event, entry=self.columns["entry"])

    def incidence(self, event, n_horizons):
        return self.columns[f"incidence{event}"][:, :n_horizons]


@pytest.fixture(scope="session")
def references():
    content = read("data.json")
    return {name: Reference(content[name]) for name in ("tied", "continuous", "train")}


@pytest.fixture(scope="session")
def horizons():
    return np.asarray(read("data.json")["horizons"])


@pytest.fixture(params=["tied", "continuous"])
def name(request):
    """The names of the data sets that R was run on."""
    return request.param


@pytest.fixture(params=["same", "train"])
def sksurv_reference(request, name, references, sksurv_values):
    """Training and test data, with scikit-survival's values for an event."""
    train = name if request.param == "same" else "train"

    def values(event):
        return references[train].y, references[name], sksurv_values[f"{name}/{train}/{event}"]

    return values


@pytest.fixture
def rng():
    return np.random.default_rng(7)
