"""Selection, means and errors on records whose answers are known."""

import math

import pytest
from scipy import stats

from experiments.records import Record
from experiments.selection import representative_records, select, summarise
from lifemix.errors import SettingError

TEST = {
    "a": [0.9, 0.5, 0.7],
    "b": [0.6, 0.9, 0.3],
    "c": [math.nan, 0.99, 0.99],
}  # a has the best mean
INNER = {"a": [0.1, 0.2, 0.9], "b": [0.5, 0.6, 0.1], "c": [math.nan, 0.0, 0.0]}  # b, b, a


def record(setting, fold, model="dsm", test=None, inner=None):
    value = TEST[setting][fold] if test is None else test
    chosen = {} if inner is None else {"ctd": [[inner]]}
    return Record(
        "d",
        model,
        {"s": setting},
        0.0,
        fold,
        0,
        "full",
        {"ctd": [[value]], "brier": [[1 - value]]},
        chosen,
    )


RECORDS = [record(s, fold, inner=INNER[s][fold]) for s in TEST for fold in range(3)]


def test_paper_selection_is_the_best_mean_over_folds_on_the_test_rows():
    (one,) = select(RECORDS, "paper")
    assert [setting["s"] for setting in one.settings] == ["a", "a", "a"]


def test_nested_selection_looks_at_the_inner_part_only():
    (one,) = select(RECORDS, "nested")
    assert [setting["s"] for setting in one.settings] == ["b", "b", "a"]


def test_our_best_is_chosen_by_the_brier_score_of_the_inner_part():
    inner = {"a": [0.3, 0.1, 0.2], "b": [0.2, 0.2, math.nan]}
    records = [
        Record(
            "d",
            "tuned-trees",
            {"s": s},
            0.0,
            fold,
            0,
            "full",
            {"ctd": [[0.5]]},
            {"ctd": [[0.5]], "brier": [[value]]},
        )
        for s, values in inner.items()
        for fold, value in enumerate(values)
    ]
    (one,) = select(records, "both")
    assert (one.selection, [setting["s"] for setting in one.settings]) == (
        "nested",
        ["b", "a", "a"],
    )


def test_mean_and_standard_error():
    cells, selected = summarise(RECORDS, [0.25])
    cell = next(cell for cell in cells if cell.selection == "paper" and cell.measure == "ctd")
    assert cell.mean == pytest.approx(0.7)
    assert cell.error == pytest.approx(stats.sem([0.9, 0.5, 0.7]))
    assert [one.candidates for one in selected] == [3, 3]


def test_a_setting_that_lacks_a_fold_is_not_chosen():
    records = [each for each in RECORDS if not (each.setting["s"] == "a" and each.fold == 2)]
    (one,) = select(records, "paper")
    assert one.settings[0]["s"] == "b"


def test_one_setting_is_fixed():
    (one,) = select([record("a", fold, model="cph") for fold in range(3)])
    assert one.selection == "fixed"


def test_unknown_selection_is_refused():
    with pytest.raises(SettingError, match="selection must be one of"):
        select([], "best")


def test_one_record_per_model_and_fold_stands_for_a_model():
    fixed = [record("a", fold, model="cph") for fold in range(3)]
    found = representative_records(select([*RECORDS, *fixed], "both"))
    assert [(one.model, one.fold, one.setting["s"]) for one in found] == [
        *(("dsm", fold, setting) for fold, setting in enumerate("bba")),
        *(("cph", fold, "a") for fold in range(3)),
    ]
    assert {one.setting["s"] for one in representative_records(select(RECORDS, "paper"))} == {"a"}
