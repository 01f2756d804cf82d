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


@given(NUMBERS, NUMBERS)
def test_paired_differences_are_those_of_a_corrected_t_test(first, second):
    difference = np.subtract(first, second)
    mean, error, p, n = paired_test(difference)
    assert (mean, n) == (pytest.approx(difference.mean(), abs=1e-12), 5)
    if (spread := difference.std(ddof=1)) > 1e-9:
        # Five folds: 100 test rows for 400 training rows; Nadeau and Bengio's variance is s² (1/5 + 100/400).
        assert error == pytest.approx(spread * np.sqrt(1 / 5 + 100 / 400))
        assert p == pytest.approx(2 * student.sf(abs(mean) / error, 4))


def test_three_defined_folds_are_needed_and_no_spread_is_certain():
    assert paired_test(np.array([0.1, 0.2, np.nan, 0.3]))[3] == 3
    assert np.isnan(paired_test(np.array([0.1, np.nan, 0.3]))[2])
    assert paired_test(np.full(3, 0.25))[2] == 0
    assert paired_test(np.zeros(3))[2] == 1


def test_holm_multiplies_by_the_number_of_tests_that_are_left():
    p_values = pd.Series([0.01, 0.04, 0.03, 0.005], index=list("abcd"))
    # R: p.adjust(p, "holm")
    assert holm(p_values).to_dict() == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})


def test_every_rival_counts_once_under_its_preferred_selection(make_cells):
    ours, better, worse = [0.84, 0.841, 0.842], [0.86, 0.8612, 0.8621], [0.82, 0.83, 0.825]
    rows = [("tuned", "fixed", ours), ("default", "fixed", worse), ("forest", "fixed", better)]
    rows += [("dsm", "paper", better), ("dsm", "nested", worse)]
    rows += [("floor", "fixed", worse), ("truth", "fixed", better)]
    cells = make_cells(rows)
    assert our_models(cells) == ["default", "tuned"]
    pairs = against_rivals(cells).query("model == 'tuned'").set_index("rival")
    assert set(pairs.index) == {"dsm", "forest"}
    assert (pairs.loc["dsm", "gain"] > 0, pairs.loc["forest", "gain"] < 0) == (True, True)
    counts = count_comparisons(pairs.reset_index())
    assert counts.loc[("tuned", True)].tolist() == [1, 0, 0, 1]


def test_a_variant_with_more_settings_counts_in_the_place_of_the_plain_model(make_cells):
    ours, plain, searched = [0.84, 0.841, 0.842], [0.8, 0.81, 0.82], [0.81, 0.82, 0.83]
    rows = [("tuned", "fixed", ours), ("deephit", "fixed", plain)]
    cells = pd.concat(
        [make_cells([*rows, ("deephit-search", "nested", searched)]), make_cells(rows, horizon=0.5)]
    )
    pairs = against_rivals(cells)
    assert dict(zip(pairs["horizon"], pairs["rival"], strict=True)) == {
        0.25: "deephit-search",
        0.5: "deephit",
    }


def test_what_cannot_be_judged_does_not_count(make_cells):
    values = [0.1, 0.2, 0.3]
    rows = [("tuned", "fixed", values), ("deephit", "fixed", values), ("fg", "fixed", values)]
    last, brier = (
        make_cells(rows, "synthetic", measure, horizon=1.0) for measure in ("ctd", "brier")
    )
    assert against_rivals(pd.concat([last, brier]))[["rival", "measure"]].to_numpy().tolist() == [
        ["fg", "ctd"]
    ]
    assert against_rivals(make_cells(rows, measure="brier_original")).empty


def test_lower_brier_scores_are_ahead(make_cells):
    rows = [("tuned", "fixed", [0.1, 0.11, 0.13]), ("cph", "fixed", [0.2, 0.22, 0.23])]
    assert (against_rivals(make_cells(rows, measure="brier"))["gain"] > 0).all()


@pytest.mark.parametrize(("data", "n"), [("support", 18), ("synthetic", 8), ("transfer", 1)])
def test_the_paper_agrees_with_itself(data, n):
    counts = agreement(published_cells([data]).assign(selection="paper")).set_index("model")
    assert counts.loc["dsm", ["total", "as_error", "as_interval"]].tolist() == [n, n, n]


def test_a_90_percent_interval_is_a_stricter_reading_and_a_search_has_the_number_of_the_model():
    paper = published_cells(["support"]).query("model == 'deephit'")
    # 1.5 printed errors away: within two of them, beyond two of them by 2.13.
    ours = paper.assign(
        model="deephit-search",
        selection="nested",
        mean=paper["mean"] + 1.5 * paper["error"],
        error=0.0,
    )
    (row,) = agreement(ours).to_dict("records")
    assert (row["model"], row["total"], row["as_error"], row["as_interval"]) == (
        "deephit-search",
        18,
        18,
        0,
    )
    assert agreement(ours.assign(error=np.nan)).empty


@pytest.mark.parametrize(("shift", "error", "is_behind"), [(2, 0, True), (0.5, 0, False)])
def test_below_the_paper_by_more_than_one_error(shift, error, is_behind):
    paper = published_cells(["support"]).query("model == 'dsm' and measure == 'ctd'")
    ours = paper.assign(model="tuned", selection="fixed", error=error)
    ours["mean"] -= shift * paper["error"]
    differences = against_paper(ours)
    assert len(differences) == 9
    assert (differences["is_behind"] == is_behind).all()
    assert (differences["gain"] < 0).all()
