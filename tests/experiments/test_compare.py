"""Differences between cells."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from experiments.compare import (
    against_paper,
    against_rivals,
    agreement,
    count_comparisons,
    holm,
    our_models,
    paired_test,
)
from experiments.published import published_cells

NUMBERS = st.lists(st.floats(0, 1), min_size=5, max_size=5)
LOW, MIDDLE, HIGH = [0.82, 0.83, 0.825], [0.84, 0.841, 0.842], [0.86, 0.8612, 0.8621]


@given(NUMBERS)
def test_paired_differences_are_those_of_a_corrected_t_test(numbers):
    difference = np.array(numbers)
    mean, error, p, n_folds = paired_test(difference)
    assert (mean, n_folds) == (pytest.approx(difference.mean(), abs=1e-12), 5)
    if (spread := difference.std(ddof=1)) > 1e-9:
        # Five folds: 100 test rows for 400 training rows; Nadeau and Bengio's variance is s² (1/5 + 100/400).
        assert error == pytest.approx(spread * np.sqrt(1 / 5 + 100 / 400))
        assert p == pytest.approx(2 * student.sf(abs(mean) / error, 4))


def test_three_defined_folds_are_needed_and_no_spread_is_certain():
    assert paired_test(np.array([0.1, 0.2, np.nan, 0.3]))[3] == 3
    p_values = [paired_test(np.array(x))[2] for x in ([0.1, np.nan, 0.3], [0.25] * 3, [0.0] * 3)]
    np.testing.assert_array_equal(p_values, [np.nan, 0, 1])


def test_holm_is_that_of_r():
    p_values = pd.Series([0.01, 0.04, 0.03, 0.005])
    assert holm(p_values).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])  # p.adjust(p, "holm")


def test_every_rival_counts_once_under_its_preferred_selection(make_cells):
    ours = {"tuned fixed": MIDDLE, "default fixed": LOW}
    rivals = {"forest fixed": HIGH, "dsm paper": HIGH, "dsm nested": LOW}
    cells = make_cells(ours | rivals | {"floor fixed": LOW, "truth fixed": HIGH})
    assert our_models(cells) == ["default", "tuned"]
    pairs = against_rivals(cells).query("model == 'tuned'")
    gains = dict(zip(pairs["rival"], pairs["gain"] > 0, strict=True))
    assert gains == {"dsm": True, "forest": False}
    assert count_comparisons(pairs).loc[("tuned", True)].tolist() == [1, 0, 0, 1]


def test_a_variant_with_more_settings_replaces_the_plain_model(make_cells):
    values = {"tuned fixed": HIGH, "deephit fixed": LOW}
    cells = [make_cells(values | {"deephit-search nested": LOW}), make_cells(values, horizon=0.5)]
    pairs = against_rivals(pd.concat(cells)).set_index("horizon")
    assert pairs["rival"].to_dict() == {0.25: "deephit-search", 0.5: "deephit"}


def test_what_cannot_be_judged_does_not_count(make_cells):
    values = dict.fromkeys(["tuned fixed", "deephit fixed", "fg fixed"], LOW)
    cells = [make_cells(values, "synthetic", name, horizon=1.0) for name in ("ctd", "brier")]
    pairs = against_rivals(pd.concat(cells))[["rival", "measure"]]
    assert pairs.to_numpy().tolist() == [["fg", "ctd"]]
    assert against_rivals(make_cells(values, measure="brier_original")).empty
    lower = make_cells({"tuned fixed": LOW, "cph fixed": HIGH}, measure="brier")
    assert (against_rivals(lower)["gain"] > 0).all()


@pytest.mark.parametrize(("data", "total"), [("support", 18), ("synthetic", 8), ("transfer", 1)])
def test_the_paper_agrees_with_itself(data, total):
    counts = agreement(published_cells([data]).assign(selection="paper")).set_index("model")
    assert counts.loc["dsm", ["total", "as_error", "as_interval"]].tolist() == [total] * 3


def test_a_90_percent_interval_is_stricter_and_a_search_has_the_number_of_the_model():
    paper = published_cells(["support"]).query("model == 'deephit'")
    # 1.5 printed errors away: within two of them, beyond two of them by 2.13.
    ours = paper.assign(model="deephit-search", selection="nested", error=0.0)
    ours["mean"] += 1.5 * paper["error"]
    (row,) = agreement(ours).to_dict("records")
    assert row["model"] == "deephit-search"
    assert (row["total"], row["as_error"], row["as_interval"]) == (18, 18, 0)
    assert agreement(ours.assign(error=np.nan)).empty


@pytest.mark.parametrize(("shift", "is_behind"), [(2, True), (0.5, False)])
def test_below_the_paper_by_more_than_its_error(shift, is_behind):
    paper = published_cells(["support"]).query("model == 'dsm' and measure == 'ctd'")
    ours = paper.assign(model="tuned", selection="fixed", error=0)
    ours["mean"] -= shift * paper["error"]
    differences = against_paper(ours)
    assert len(differences) == 9
    assert (differences["is_behind"] == is_behind).all()
    assert (differences["gain"] < 0).all()
