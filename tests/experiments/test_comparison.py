"""Differences between cells."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from experiments.cells import Cell
from experiments.comparison import (
    Count,
    against,
    against_paper,
    against_rivals,
    agreements,
    behind,
    count,
    holm,
    is_judged,
    our_models,
    paired,
    paper_of,
    rival_counts,
)
from experiments.findings import below_paper, findings, names_of_behind, words_of
from experiments.pages.tables import rival_table
from experiments.published import published_cells
from invented import cell, table_cells

NUMBERS = st.lists(st.floats(0, 1), min_size=5, max_size=5)


def made(values, model="tuned", measure="ctd", selection="fixed"):
    return cell("support", model, measure, 1, 0.25, 0.0, selection, np.asarray(values))


@given(NUMBERS, NUMBERS, st.sampled_from(["ctd", "brier"]))
def test_paired_differences_are_those_of_a_corrected_t_test(first, second, measure):
    gap = paired(made(first, measure=measure), made(second, "rsf", measure))
    assert gap.gain == (gap.value if measure == "ctd" else -gap.value)
    assert gap.value == pytest.approx(np.mean(first) - np.mean(second), abs=1e-12)
    assert gap.better == (gap.value > 0 if measure == "ctd" else gap.value < 0)
    spread = np.std(np.subtract(first, second), ddof=1)
    if spread > 1e-9:
        # Five folds: 100 test rows for 400 training rows; Nadeau and Bengio's variance is s² (1/5 + 100/400).
        statistic = gap.value / (spread * math.sqrt(1 / 5 + 100 / 400))
        p_value = 2 * student.sf(abs(statistic), 4)
        assert gap.p_value == pytest.approx(p_value)
        if abs(p_value - 0.05) > 1e-9:
            assert gap.significant == (p_value < 0.05)


def test_holm_multiplies_by_the_number_of_tests_that_are_left():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )  # R: p.adjust(p, "holm")
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_differences_need_the_same_folds_and_three_of_them():
    assert paired(made([0.7, 0.8, 0.9]), made([0.7, 0.8], "rsf")) is None
    told_only_the_mean = Cell("support", "rsf", "ctd", 1, 0.25, 0.0, "fixed", 0.7, 0.01)
    assert paired(made([0.7, 0.8]), told_only_the_mean) is None
    assert paired(made([0.7, 0.8]), made([0.6, 0.7], "rsf")) is None
    assert paired(made([0.7, 0.8, np.nan]), made([0.6, 0.7, 0.8], "rsf")) is None


def test_folds_without_a_number_do_not_count_and_are_told():
    gap = paired(made([0.7, np.nan, 0.9, 0.8]), made([0.6, 0.7, 0.7, 0.75], "rsf"))
    assert (gap.folds, gap.value) == (3, pytest.approx((0.1 + 0.2 + 0.05) / 3))


@pytest.mark.parametrize(
    ("mean", "significant"), [(0.8399, False), (0.8401, True), (0.7601, False), (0.7599, True)]
)
def test_against_the_paper_two_errors_of_both_are_the_limit(mean, significant):
    ours = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "paper", mean, 0.012)
    theirs = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "published", 0.8, 0.016)  # together 0.020
    assert against(ours, theirs).significant == significant
    assert against(ours, theirs).better == (mean > 0.8)


def test_an_error_that_is_not_known_makes_nothing_significant():
    ours = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "paper", 0.1, math.nan)
    assert not against(
        ours, Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "published", 0.9, 0.01)
    ).significant


@pytest.mark.parametrize(("data", "cells"), [("support", 18), ("synthetic", 8), ("transfer", 1)])
def test_the_paper_agrees_with_itself(data, cells):
    paper = paper_of([data])
    ours = [replace(one, selection="paper") for one in paper.values()]
    own = next(one for one in agreements(ours) if one.model == "dsm")
    assert (own.total, own.as_error, own.as_interval) == (cells, cells, cells)
    assert f"**{cells} of {cells}** cells" in findings(ours, paper)[0]


def test_a_90_percent_interval_is_a_stricter_reading():
    paper = paper_of(["support"])
    narrow = paper_of(["support"], "interval")
    # 0.0032 away: within two standard errors of 0.002, beyond two of 0.002 / 2.13.
    place = next(
        place for model, place in paper if model == "dsm" and paper["dsm", place].error == 0.002
    )
    theirs = paper["dsm", place]
    assert narrow["dsm", place].error == pytest.approx(0.002 / 2.132, rel=1e-3)
    ours = replace(theirs, selection="nested", mean=theirs.mean + 0.0032, error=0.0)
    (own,) = agreements([ours])
    assert (own.model, own.selection, own.total, own.as_error, own.as_interval) == (
        "dsm",
        "nested",
        1,
        1,
        0,
    )


def test_counts_add_up():
    gaps = [
        against(made([0.8, 0.81]), made([0.5, 0.51])),
        against(made([0.5, 0.51]), made([0.8, 0.81])),
        against(made([0.5, 0.7]), made([0.5, 0.69])),
    ]
    assert count(gaps) == Count(total=3, ahead=2, significantly_ahead=1, significantly_behind=1)
    assert count(gaps).within == 1


def test_references_and_our_own_models_are_no_rivals():
    cells = table_cells("synthetic", 2, levels=(0.0,))
    cells += [replace(one, model="default") for one in cells if one.model == "tuned"]
    assert our_models(cells) == ["default", "tuned"]
    models = {gap.second.model for gap in against_rivals(cells, "tuned")}
    assert models == {"dsm", "cs-cph", "cs-rsf", "fg", "deephit"}


def test_every_rival_counts_once_under_its_honest_selection():
    # 7 rivals, 3 horizons, 3 levels, C^td and one Brier score
    gaps = Counter(
        (gap.second.model, gap.second.selection) for gap in against_rivals(table_cells(), "tuned")
    )
    assert set(gaps.values()) == {18}
    assert len(gaps) == 7
    assert {("dsm", "nested"), ("rsf", "nested"), ("cph", "fixed")} <= set(gaps)
    assert rival_table(table_cells()).count("<tr>") == 8


def test_what_cannot_be_judged_does_not_count():
    cells = table_cells("synthetic", 2, levels=(0.0,))
    gaps = against_rivals(cells, "tuned")
    assert {gap.second.measure for gap in gaps} == {"ctd"}
    assert {gap.second.horizon for gap in gaps if gap.second.model == "deephit"} == {
        0.25,
        0.5,
        0.75,
    }
    assert {gap.second.horizon for gap in gaps if gap.second.model == "fg"} == {
        0.25,
        0.5,
        0.75,
        1.0,
    }
    assert not is_judged(made([0.1], measure="brier_original"))


def test_findings_say_what_the_cells_say():
    truth = published_cells("support")
    ahead = [
        Cell(
            c.data,
            "tuned",
            c.measure,
            c.event,
            c.horizon,
            c.censoring,
            "fixed",
            c.mean + step,
            c.error,
        )
        for c in truth
        if c.model == "dsm"
        for step in [0.05 if c.measure == "ctd" else -0.05]
    ]
    ours = [
        Cell(c.data, "dsm", *c.place[1:], "paper", c.mean, c.error)
        for c in truth
        if c.model == "dsm"
    ]
    text = findings([*ahead, *ours], paper_of(["support"]))
    assert len(text) == 2
    assert "**18 of 18** cells where the paper’s ± is a standard error" in text[0]
    assert "DSM, tuned is ahead of the paper’s DSM in **18 of 18** cells" in text[1]
    assert "more than one standard error in 0)" in text[1]


def test_a_cell_whose_error_is_not_known_is_no_agreement():
    paper = paper_of(["support"])
    ours = [replace(one, selection="paper", error=math.nan) for one in paper.values()]
    assert agreements(ours) == []
    assert not any("DSM with the paper" in text for text in findings(ours, paper))


def test_differences_without_spread_are_significant_unless_they_are_none():
    same, other = made([0.5, 0.75, 0.25]), made([0.25, 0.5, 0.0], "rsf")
    assert (paired(same, other).p_value, paired(same, other).significant) == (0, True)
    assert (paired(same, same).p_value, paired(same, same).significant) == (1, False)


@pytest.mark.parametrize(
    ("mean", "error", "behind"),
    [(0.788, 0.012, True), (0.791, 0.012, False), (0.791, math.nan, True)],
)
def test_below_the_paper_by_more_than_one_error(mean, error, behind):
    theirs = Cell(
        "support", "dsm", "ctd", 1, 0.25, 0.0, "published", 0.805, 0.009
    )  # together 0.015
    ours = Cell("support", "tuned", "ctd", 1, 0.25, 0.0, "nested", mean, error)
    (gap,) = against_paper([ours], {("dsm", theirs.place): theirs}, "tuned")
    assert gap.behind_by_an_error == behind
    assert (
        f"more than one standard error in {int(behind)})"
        in findings([ours], {("dsm", theirs.place): theirs})[0]
    )


def test_rivals_are_counted_one_by_one_and_strong_ones_apart():
    ours, better = made([0.84, 0.841, 0.842]), made([0.86, 0.8612, 0.8621], "forest")
    worse, optimistic = (
        made([0.82, 0.83, 0.825], "dsm", selection=way) for way in ("nested", "paper")
    )
    cells = [better, ours, worse, optimistic]
    found = rival_counts(cells, "tuned")
    assert list(found) == ["dsm", "forest"]
    assert (found["dsm"].ahead, found["forest"].ahead) == (1, 0)
    assert (found["forest"].significantly_behind, found["forest"].behind_after_holm) == (1, 1)
    text = " ".join(findings(cells, {}))
    assert "of boosting and tuned forests in **0 of 1** comparisons" in text
    assert (
        "(significantly ahead in 0, behind in 1), of the other models in **1 of 1** comparisons"
        in text
    )
    (gap,) = behind(cells, "tuned")
    assert gap.second.model == "forest"
    (name,) = names_of_behind(cells)
    assert name.startswith(
        "DSM, tuned behind Tuned forest: SUPPORT, C^td, 25% (0.8410 against 0.8611, p = 0.00"
    )


def test_a_model_with_more_settings_counts_in_the_place_of_the_plain_one():
    ours, plain = made([0.84, 0.841, 0.842]), made([0.80, 0.81, 0.82], "deephit")
    searched, optimistic = (
        made([0.81, 0.82, 0.83], "deephit-search", selection=way) for way in ("nested", "paper")
    )
    elsewhere = [
        replace(one, horizon=0.5) for one in (ours, plain)
    ]  # where the search has no records
    gaps = against_rivals([ours, plain, searched, optimistic, *elsewhere], "tuned")
    assert [(gap.second.model, gap.second.selection, gap.second.horizon) for gap in gaps] == [
        ("deephit", "fixed", 0.5),
        ("deephit-search", "nested", 0.25),
    ]


def test_a_search_is_compared_with_the_number_that_the_paper_prints():
    paper = paper_of(["support"])
    ours = [
        replace(one, model="deephit-search", selection="paper")
        for one in paper.values()
        if one.model == "deephit"
    ]
    (own,) = agreements(ours)
    assert (own.model, own.total, own.as_error) == ("deephit-search", 18, 18)


def test_cells_below_the_paper_are_named():
    paper = paper_of(["support"])
    place = next(place for model, place in paper if model == "dsm" and place[1] == "ctd")
    theirs = paper["dsm", place]
    ours = [
        replace(theirs, model="tuned", selection="fixed", mean=theirs.mean - gap, error=0.001)
        for gap in (0.01, 0)
    ]
    (found,) = below_paper(ours, paper, "tuned")
    assert found.first.mean == pytest.approx(theirs.mean - 0.01)
    assert (
        words_of(replace(theirs, censoring=0.25), several=True)
        == "C^td, event 1, 25%, 25% censored"
    )
