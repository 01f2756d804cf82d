"""``lifemix compare``: every model on the same folds."""

import numpy as np
import pytest

from commands import COLUMNS
from lifemix import baselines, make_target, metrics
from lifemix.splits import EventStratifiedKFold, default_horizons


def test_cox_has_the_figures_of_python(run, data, frame):
    result = run("compare", data, *COLUMNS, "--models", "cox,curve", "--folds", "3", "--json").json
    X, y = frame[["age", "dose", "stage"]], make_target(frame["days"], frame["died"])
    assert result["horizons"] == default_horizons(y).tolist()
    for (train, test), found in zip(
        EventStratifiedKFold(3).split(X, y), result["models"]["cox"]["folds"], strict=True
    ):
        model = baselines.CoxPH().fit(X.iloc[train], y[train])
        survival = model.predict_survival_function(X.iloc[test], result["horizons"])
        expected = metrics.brier_score(y[train], y[test], survival, result["horizons"])
        np.testing.assert_allclose(found["values"]["brier"]["1"], expected)
    assert len(result["models"]["curve"]["seconds"]) == 3


def test_competing_risks_and_our_own_model(run, competing):
    data, _ = competing
    columns = [
        *COLUMNS,
        "--models",
        "dsm,cox,fine-gray",
        "--folds",
        "2",
        "--no-search",
        "--members",
        "1",
    ]
    out = run("compare", data, *columns).out
    assert "cancer: mean over" in out
    assert "other cause: mean over" in out
    assert "Fine-Gray" in out
    assert "Deep Survival Machines" in out


def test_a_model_that_cannot_take_the_data_is_left_out_or_refused(run, write, frame, refused):
    path = write(frame.assign(start=frame["days"] / 2))
    columns = [
        "compare",
        path,
        *COLUMNS,
        "--entry",
        "start",
        "--folds",
        "2",
        "--no-search",
        "--members",
        "1",
    ]
    outcome = run(*columns)
    assert outcome.code == 0
    assert "forest is left out" in outcome.err
    assert "late entry" in refused(*columns, "--models", "forest")


def test_long_tables_are_sampled_and_say_so(run, data):
    outcome = run(
        "compare", data, *COLUMNS, "--models", "curve", "--folds", "2", "--rows", "100", "--json"
    )
    assert sum(fold["rows"] for fold in outcome.json["models"]["curve"]["folds"]) == 100
    assert "100 of 200 rows" in outcome.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--models", "svm"], "got 'svm'"), (["--times", "x"], "--times must be numbers")],
)
def test_refused_options(options, expected, data, refused):
    assert expected in refused("compare", data, *COLUMNS, *options)
