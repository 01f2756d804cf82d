"""The paper's numbers as data."""

import pytest

from experiments.published import published_cells
from experiments.results import CELL

N_CELLS = {"support": 90, "metabric": 90, "synthetic": 40, "seer": 40, "transfer": 6, "ebmt": 0}


@pytest.mark.parametrize("data", N_CELLS)
def test_tables_are_complete_and_every_cell_is_there_once(data):
    cells = published_cells([data])
    assert len(cells) == N_CELLS[data]
    assert not cells.duplicated(["model", *CELL]).any()
    assert (cells["error"] > 0).all()


@pytest.mark.parametrize(
    ("data", "cell", "mean", "error"),
    [
        ("support", ("dsm", "ctd", 0.25), 0.832, 0.002),
        ("support", ("cph", "brier", 0.75), 0.193, 0.001),
        ("transfer", ("dsm", "concordance", 1.0), 0.7724, 0.0012),
    ],
)
def test_numbers_are_those_printed(data, cell, mean, error):
    cells = published_cells([data]).query("censoring == 0")
    row = cells.set_index(["model", "measure", "horizon"]).loc[cell]
    assert row["mean"].item() == mean
    assert row["error"].item() == pytest.approx(error, abs=5e-5)


def test_an_interval_is_2_13_standard_errors_of_5_folds_and_1_83_of_10():
    for data, ratio in (("support", 2.1318), ("metabric", 1.8331), ("transfer", 1.0)):
        ratios = published_cells([data])["error"] / published_cells([data], True)["error"]
        assert ratios.to_numpy() == pytest.approx(ratio, rel=1e-4)
