"""Selection of settings, and cells."""

import numpy as np
import pandas as pd
import pytest

from experiments.results import horizon_cells, select_settings

# By setting: scores of two folds on the test rows, and on the inner validation rows.
SCORES = {4: ([0.8, 0.6], [0.7, 0.5]), 6: ([0.7, 0.9], [0.6, 0.8]), 8: ([0.5, 0.5], [None, 0.1])}


def cells_of(scores, model="dsm", measure="ctd"):
    identity = {"data": "support", "model": model, "censoring": 0.0}
    records = [
        identity
        | {"fold": fold, "setting": {"k": k}}
        | {"test": {measure: [[test[fold]]]}, "inner": {measure: [[inner[fold]]]}}
        for k, (test, inner) in scores.items()
        for fold in range(len(test))
    ]
    return horizon_cells(select_settings(pd.DataFrame(records)), (0.5,)).set_index("selection")


@pytest.mark.parametrize(
    ("scores", "options", "means"),
    [
        # by the test rows, and in every fold by the inner ones
        (SCORES, {}, {"paper": 0.8, "nested": 0.85}),
        # a setting that lacks a fold is no candidate
        (SCORES | {2: ([0.99], [0.99])}, {}, {"paper": 0.8, "nested": 0.85}),
        ({4: SCORES[4]}, {}, {"fixed": 0.7}),
        # models that are not in the paper: by the Brier score alone
        (SCORES, {"model": "tuned-trees", "measure": "brier"}, {"nested": 0.6}),
    ],
)
def test_settings_are_selected(scores, options, means):
    assert cells_of(scores, **options)["mean"].to_dict() == pytest.approx(means)


def test_cells_have_mean_and_standard_error_of_the_folds():
    (cell,) = cells_of({4: SCORES[4]}).to_dict("records")
    assert cell["values"] == (0.8, 0.6)
    assert cell["error"] == pytest.approx(np.std([0.8, 0.6], ddof=1) / np.sqrt(2))
    assert (cell["event"], cell["horizon"], cell["measure"]) == (1, 0.5, "ctd")
