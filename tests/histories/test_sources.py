"""Several sources side by side, and arrays of any rank."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from lifemix.errors import CovariateError, InputError
from lifemix.histories import ArrayRows, Histories, Sources, as_input
from lifemix.histories.sources import described


def parts():
    clinic = pd.DataFrame({"age": [61.0, 48.0, 55.0]}, index=[9, 8, 7])
    return {
        "clinic": clinic,
        "visits": Histories.from_array(np.arange(6.0).reshape(3, 2, 1)),
        "scan": np.ones((3, 2, 2)),
    }


def test_rows_of_all_sources_are_selected_together():
    both = Sources(parts())[[2, 0]]
    assert both.parts["clinic"]["age"].tolist() == [55.0, 61.0]
    assert both.parts["visits"].last()["x0"].tolist() == [5.0, 1.0]
    assert both.parts["scan"].values.shape == (2, 2, 2)
    assert both.columns[:2] == ["clinic.age", "visits.x0"]
    assert both.shape == (2, 6)


def test_sources_of_different_length_are_refused():
    with pytest.raises(InputError, match="got {'clinic': 3, 'visits': 2}"):
        Sources({"clinic": parts()["clinic"], "visits": parts()["visits"][:2]})
    with pytest.raises(CovariateError, match="source 'age' must be a table"):
        Sources({"age": np.ones(3)})
    with pytest.raises(CovariateError, match="at least one source"):
        Sources({})


def test_what_is_a_table_stays_as_it_is():
    for table in (
        pd.DataFrame({"a": [1]}),
        np.ones((2, 2)),
        [[1.0]],
        sparse.dok_array((2, 2)),
        parts()["visits"],
    ):
        assert as_input(table) is table
    assert isinstance(as_input(np.ones((2, 3, 4))), ArrayRows)
    assert isinstance(as_input(parts()), Sources)


def test_inputs_are_described_by_a_table():
    table = described(Sources(parts()))
    assert table.columns.tolist() == ["clinic.age", "visits.number of visits", "visits.x0"]
    assert table["visits.x0"].tolist() == [1.0, 3.0, 5.0]
