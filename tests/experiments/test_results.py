"""Selection of settings, and cells."""

import numpy as np
import pandas as pd
import pytest

from experiments.results import horizon_cells, select_settings

# By setting: C^td of two folds on the test rows, and on the inner validation rows.
SCORES = {4: ([0.8, 0.6], [0.7, 0.5]), 6: ([0.7, 0.9], [0.6, 0.8]), 8: ([0.5, 0.5], [None, 0.1])}


def records(model="dsm", measure="ctd", settings=SCORES):
    rows = []
    for k, (test, inner) in settings.items():
        for fold in range(len(test)):
            rows.append(
                {
                    "data": "support",
                    "model": model,
                    "censoring": 0.0,
                    "fold": fold,
                    "setting": {"k": k},
                    "test": {measure: [[test[fold]]]},
                    "inner": {measure: [[inner[fold]]]},
                }
            )
    return pd.DataFrame(rows)


def means(selected):
    cells = horizon_cells(selected, (0.5,))
    return dict(zip(cells["selection"], cells["mean"], strict=True))


def test_paper_selects_by_the_test_rows_and_nested_by_the_inner_ones():
    selected = select_settings(records())
    assert means(selected) == pytest.approx({"paper": 0.8, "nested": 0.85})
    assert set(selected["candidates"]) == {3}


def test_settings_that_lack_a_fold_are_no_candidates():
    settings = SCORES | {2: ([0.99], [0.99])}
    assert means(select_settings(records(settings=settings))) == pytest.approx(
        {"paper": 0.8, "nested": 0.85}
    )


def test_one_setting_is_fixed():
    assert means(select_settings(records(settings={4: SCORES[4]}))) == pytest.approx({"fixed": 0.7})


def test_models_that_are_not_in_the_paper_are_selected_by_the_brier_score_alone():
    selected = select_settings(records("tuned-trees", "brier"))
    assert means(selected) == pytest.approx({"nested": np.mean([0.7, 0.5])})


def test_cells_have_mean_and_standard_error_of_the_folds():
    (cell,) = horizon_cells(select_settings(records(settings={4: SCORES[4]})), (0.5,)).to_dict(
        "records"
    )
    assert cell["values"] == (0.8, 0.6)
    assert cell["error"] == pytest.approx(np.std([0.8, 0.6], ddof=1) / np.sqrt(2))
    assert (cell["event"], cell["horizon"], cell["measure"]) == (1, 0.5, "ctd")
