"""Differences between cells."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from invented import cell, table_cells
from lifemix.experiments.cells import Cell
from lifemix.experiments.comparison import (
    Count,
    against,
    against_paper,
    against_rivals,
    agreement,
    count,
    findings,
    paired,
    paper_of,
    rival_counts,
)
from lifemix.experiments.pages.tables import rival_table
from lifemix.experiments.published import published_cells

NUMBERS = st.lists(st.floats(0, 1), min_size=5, max_size=5)


def made(values, model="lifemix", measure="ctd", selection="fixed"):
    return cell("support", model, measure, 1, 0.25, 0.0, selection, np.asarray(values))


@given(NUMBERS, NUMBERS, st.sampled_from(["ctd", "brier"]))
def test_paired_differences_are_those_of_a_paired_t_test(first, second, measure):
    gap = paired(made(first, measure=measure), made(second, "rsf", measure))
    assert gap.gain == (gap.value if measure == "ctd" else -gap.value)
    assert gap.value == pytest.approx(np.mean(first) - np.mean(second), abs=1e-12)
    assert gap.better == (gap.value > 0 if measure == "ctd" else gap.value < 0)
    if np.std(np.subtract(first, second)) > 1e-9:
        p_value = ttest_rel(first, second).pvalue
        assert gap.p_value == pytest.approx(p_value)
        if abs(p_value - 0.05) > 1e-9:
            assert gap.significant == (p_value < 0.05)


def test_differences_need_the_same_folds():
    assert paired(made([0.7, 0.8, 0.9]), made([0.7, 0.8], "rsf")) is None
    told_only_the_mean = Cell("support", "rsf", "ctd", 1, 0.25, 0.0, "fixed", 0.7, 0.01)
    assert paired(made([0.7, 0.8]), told_only_the_mean) is None


def test_folds_without_a_number_do_not_count_and_are_told():
    gap = paired(made([0.7, np.nan, 0.9, 0.8]), made([0.6, 0.7, 0.7, 0.75], "rsf"))
    assert (gap.folds, gap.value) == (3, pytest.approx((0.1 + 0.2 + 0.05) / 3))


@pytest.mark.parametrize(("mean", "significant"), [(0.8399, False), (0.8401, True), (0.7601, False), (0.7599, True)])
def test_against_the_paper_two_errors_of_both_are_the_limit(mean, significant):
    ours = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "paper", mean, 0.012)
    theirs = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "published", 0.8, 0.016)  # together 0.020
    assert against(ours, theirs).significant == significant
    assert against(ours, theirs).better == (mean > 0.8)


def test_an_error_that_is_not_known_makes_nothing_significant():
    ours = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "paper", 0.1, math.nan)
    assert not against(ours, Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "published", 0.9, 0.01)).significant


@pytest.mark.parametrize(("data", "cells"), [("support", 18), ("synthetic", 8), ("transfer", 1)])
def test_the_paper_agrees_with_itself(data, cells):
    paper = paper_of([data])
    ours = [replace(one, selection="paper") for one in paper.values()]
    assert f"{cells} of {cells}** cells; beyond that, better in 0 and worse in 0" in findings(ours, paper)[0]


def test_counts_add_up():
    gaps = [
        against(made([0.8, 0.81]), made([0.5, 0.51])),
        against(made([0.5, 0.51]), made([0.8, 0.81])),
        against(made([0.5, 0.7]), made([0.5, 0.69])),
    ]
    assert count(gaps) == Count(total=3, ahead=2, significantly_ahead=1, significantly_behind=1)
    assert count(gaps).within == 1


def test_references_are_no_rivals():
    models = {gap.second.model for gap in against_rivals(table_cells("synthetic", 2, levels=(0.0,)))}
    assert models == {"dsm", "cs-cph", "cs-rsf", "fg", "deephit"}


def test_every_comparison_is_counted_once():
    # 9 rivals (two with two selections less the floor and lifemix), 3 horizons, 3 levels, C^td and one Brier score
    gaps = Counter((gap.second.model, gap.second.selection) for gap in against_rivals(table_cells()))
    assert set(gaps.values()) == {18}
    assert len(gaps) == 9
    assert rival_table(table_cells()).count("<tr>") == 10


def test_findings_say_what_the_cells_say():
    truth = published_cells("support")
    ahead = [
        Cell(c.data, "lifemix", c.measure, c.event, c.horizon, c.censoring, "fixed", c.mean + step, c.error)
        for c in truth
        if c.model == "dsm"
        for step in [0.05 if c.measure == "ctd" else -0.05]
    ]
    ours = [Cell(c.data, "dsm", *c.place[1:], "paper", c.mean, c.error) for c in truth if c.model == "dsm"]
    text = findings([*ahead, *ours], paper_of(["support"]))
    assert len(text) == 2
    assert "**18 of 18** cells; beyond that, better in 0 and worse in 0" in text[0]
    assert "ahead of the paper’s DSM in **18 of 18**" in text[1]
    assert "in 0." in text[1]


def test_a_cell_whose_error_is_not_known_is_no_agreement():
    paper = paper_of(["support"])
    ours = [replace(one, selection="paper", error=math.nan) for one in paper.values()]
    assert agreement(ours, paper) == []
    assert not any("DSM with the paper" in text for text in findings(ours, paper))


def test_differences_without_spread_are_significant_unless_they_are_none():
    same, other = made([0.5, 0.75]), made([0.25, 0.5], "rsf")
    assert (paired(same, other).p_value, paired(same, other).significant) == (0, True)
    assert (paired(same, same).p_value, paired(same, same).significant) == (1, False)


@pytest.mark.parametrize(
    ("mean", "error", "behind"), [(0.788, 0.012, True), (0.791, 0.012, False), (0.791, math.nan, True)]
)
def test_below_the_paper_by_more_than_one_error(mean, error, behind):
    theirs = Cell("support", "dsm", "ctd", 1, 0.25, 0.0, "published", 0.805, 0.009)  # together 0.015
    ours = Cell("support", "lifemix", "ctd", 1, 0.25, 0.0, "nested", mean, error)
    (gap,) = against_paper([ours], {("dsm", theirs.place): theirs}, "lifemix")
    assert gap.behind_by_an_error == behind
    assert f"of the difference in {int(behind)}." in findings([ours], {("dsm", theirs.place): theirs})[0]


def test_rivals_are_counted_one_by_one():
    ours, better = made([0.84, 0.841]), made([0.86, 0.862], "forest")
    worse = made([0.82, 0.83], "dsm", selection="paper")
    found = rival_counts([better, ours, worse])
    assert list(found) == [("dsm", "paper"), ("forest", "fixed")]
    assert (found["dsm", "paper"].ahead, found["forest", "fixed"].ahead) == (1, 0)
    assert found["forest", "fixed"].significantly_behind == 1
    assert (
        "ahead in **1 of 2** comparisons; significantly ahead in 0, significantly behind in 1"
        in findings([better, ours, worse], {})[0]
    )
