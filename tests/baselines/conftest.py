"""The data and values of R for competing risks."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from lifemix import make_target

FOLDER = Path(__file__).parents[1] / "references" / "baselines"


@pytest.fixture(scope="session")
def competing():
    """Data with three event types, new rows, times, and what R computed for them."""
    content = json.loads((FOLDER / "competing.json").read_text())
    data = {name: np.array(values) for name, values in content.pop("data").items()}
    content |= {"new": np.array(content["new"]), "times": np.array(content["times"])}
    y = make_target(data["time"], data["event"])
    any_event = make_target(data["time"], data["event"] > 0)
    return SimpleNamespace(**data, **content, y=y, any_event=any_event)
