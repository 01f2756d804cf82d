"""Selection, means, errors and verdicts on records whose answers are known."""

import math

import numpy as np
import pytest
from scipy import stats

from lifemix.errors import SettingError
from lifemix.experiments.cells import Cell
from lifemix.experiments.comparison import against_rivals
from lifemix.experiments.records import Record
from lifemix.experiments.summary import choices, summarise
from lifemix.experiments.verdicts import verdicts

TEST = {"a": [0.9, 0.5, 0.7], "b": [0.6, 0.9, 0.3], "c": [math.nan, 0.99, 0.99]}  # a has the best mean
INNER = {"a": [0.1, 0.2, 0.9], "b": [0.5, 0.6, 0.1], "c": [math.nan, 0.0, 0.0]}  # b, b, a


def record(setting, fold, model="dsm", test=None, inner=None):
    value = TEST[setting][fold] if test is None else test
    chosen = {} if inner is None else {"ctd": [[inner]]}
    return Record("d", model, {"s": setting}, 0.0, fold, 0, "full", {"ctd": [[value]], "brier": [[1 - value]]}, chosen)


RECORDS = [record(s, fold, inner=INNER[s][fold]) for s in TEST for fold in range(3)]


def test_paper_selection_is_the_best_mean_over_folds_on_the_test_rows():
    (choice,) = choices(RECORDS, "paper")
    assert [setting["s"] for setting in choice.settings] == ["a", "a", "a"]


def test_nested_selection_looks_at_the_inner_part_only():
    (choice,) = choices(RECORDS, "nested")
    assert [setting["s"] for setting in choice.settings] == ["b", "b", "a"]


def test_our_best_is_chosen_by_the_brier_score_of_the_inner_part():
    inner = {"a": [0.3, 0.1, 0.2], "b": [0.2, 0.2, math.nan]}
    records = [
        Record("d", "lifemix", {"s": s}, 0.0, fold, 0, "full", {"ctd": [[0.5]]}, {"ctd": [[0.5]], "brier": [[value]]})
        for s, values in inner.items()
        for fold, value in enumerate(values)
    ]
    (choice,) = choices(records, "both")
    assert (choice.selection, [setting["s"] for setting in choice.settings]) == ("nested", ["b", "a", "a"])


def test_our_best_is_chosen_by_concordance_where_there_is_no_brier_score():
    inner = {"a": [0.3, 0.1], "b": [0.2, 0.2]}
    records = [
        Record("d", "lifemix", {"s": s}, 0.0, fold, 0, "full", {"concordance": [[0.5]]}, {"concordance": [[value]]})
        for s, values in inner.items()
        for fold, value in enumerate(values)
    ]
    (choice,) = choices(records, "both")
    assert (choice.selection, [setting["s"] for setting in choice.settings]) == ("nested", ["a", "b"])


def test_mean_and_standard_error():
    cells, chosen = summarise(RECORDS, [0.25])
    cell = next(cell for cell in cells if cell.selection == "paper" and cell.measure == "ctd")
    assert cell.mean == pytest.approx(0.7)
    assert cell.error == pytest.approx(stats.sem([0.9, 0.5, 0.7]))
    assert [one["candidates"] for one in chosen] == [3, 3]


def test_a_setting_that_lacks_a_fold_is_not_chosen():
    records = [one for one in RECORDS if not (one.setting["s"] == "a" and one.fold == 2)]
    (choice,) = choices(records, "paper")
    assert choice.settings[0]["s"] == "b"


def test_one_setting_is_fixed():
    (choice,) = choices([record("a", fold, model="cph") for fold in range(3)])
    assert choice.selection == "fixed"


def test_unknown_selection_is_refused():
    with pytest.raises(SettingError, match="selection must be one of"):
        choices([], "best")


def cell(model, values, measure="ctd", selection="fixed", error=None):
    mean = float(np.mean(values))
    return Cell("d", model, measure, 1, 0.5, 0.0, selection, mean, error or float(stats.sem(values)), tuple(values))


def test_paired_differences_have_the_p_value_of_the_t_test_and_the_sign_of_better():
    ours, theirs = [0.80, 0.82, 0.85, 0.81], [0.79, 0.80, 0.82, 0.80]
    (one,) = against_rivals([cell("lifemix", ours), cell("rsf", theirs)])
    assert one.p_value == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert one.gain > 0
    (brier,) = against_rivals([cell("lifemix", ours, "brier"), cell("rsf", theirs, "brier")])
    assert brier.gain == pytest.approx(-one.gain)


def test_verdicts_count_cells():
    published = [Cell("d", "dsm", "ctd", 1, 0.5, 0.0, "published", 0.80, 0.01)]
    dsm = cell("dsm", [0.82, 0.83], selection="paper", error=0.005)  # 0.025 away, twice the error is 0.0224
    best = cell("lifemix", [0.84, 0.841])
    worse = cell("forest", [0.86, 0.862])
    found = verdicts([dsm, best, worse], published)
    assert (found["dsm"]["cells"], found["dsm"]["holds"]) == (1, 0)
    assert found["lifemix_paper"]["share"] == 1
    assert found["lifemix_rivals"]["dsm (paper)"]["holds"] == 1
    behind = found["lifemix_rivals"]["forest (fixed)"]
    assert behind["holds"] == 0
    assert len(behind["significantly_behind"]) == 1
