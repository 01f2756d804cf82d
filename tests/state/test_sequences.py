"""A fitted preprocessor of histories in a file: all of it comes back, and what no model wrote is refused."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

from lifemix.errors import ModelFileError
from lifemix.histories import Histories
from lifemix.preprocessing import SequencePreprocessor, TabularPreprocessor
from lifemix.state import PreprocessorState, Reader, Writer


@pytest.fixture(scope="module")
def sources():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(8, 3, 2))
    values[2, 1, 0] = np.nan
    clinic = pd.DataFrame({"age": rng.normal(size=8), "sex": list("fmfmfmfm")})
    return {"clinic": clinic, "visits": Histories.from_array(values), "scan": rng.normal(size=(8, 2, 2))}


@pytest.fixture(scope="module")
def saved(sources):
    fitted = SequencePreprocessor(TabularPreprocessor(bins=4), max_visits=2, sequences=False).fit(sources)
    return fitted, json.loads(json.dumps(PreprocessorState().write(fitted, Writer(), "preprocessor_")))


def test_what_was_learned_comes_back(saved, sources):
    fitted, state = saved
    again = PreprocessorState().read(state, Reader({}), "preprocessor_")
    np.testing.assert_array_equal(again.transform(sources), fitted.transform(sources))
    assert again.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    assert again.table.bins == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.update(parts=[]),
        lambda state: state.update(more=1),
        lambda state: state["parts"].append(state["parts"][0]),
        lambda state: state["parts"][0].pop(),
        lambda state: state["parts"][1][1].update(kind="code"),
        lambda state: state["parts"][1][1].update(masked=[7]),
        lambda state: state["parts"][1][1].update(masked=[1, 0]),
        lambda state: state["parts"][1][1].update(max_visits=0),
        lambda state: state["parts"][1][1].update(max_visits=10**12),
        lambda state: state["parts"][1][1].update(time_scale=0.0),
        lambda state: state["parts"][1][1].update(gap_scale="1"),
        lambda state: state["parts"][1][1].update(table=None),
        lambda state: state["parts"][2][1].update(shape=[-1, 2]),
        lambda state: state["settings"].update(max_visits=-3),
        lambda state: state["settings"].update(table={"code": 1}),
    ],
)
def test_what_no_model_wrote_is_refused(saved, change):
    state = copy.deepcopy(saved[1])
    change(state)
    with pytest.raises((ModelFileError, ValueError)):
        PreprocessorState().read(state, Reader({}), "preprocessor_")
