"""``lifemix compare``: every model on the same folds."""

import numpy as np
import pytest

from helpers.commands import COLUMNS, make_table, values_of
from lifemix import baselines, make_target, metrics
from lifemix.splits import EventStratifiedKFold, default_horizons

SMALL = ["--folds", "2", "--members", "1"]


def test_figures_are_those_of_python_in_any_number_of_processes(run_json, data, frame):
    options = [*COLUMNS, "--models", "cox,curve", "--folds", "3"]
    result = run_json("compare", data, *options)
    X, y = frame[["age", "dose", "stage"]], make_target(frame["days"], frame["died"])
    horizons = result["horizons"]
    assert horizons == default_horizons(y).tolist()
    scores = []
    for fold, (train, test) in enumerate(EventStratifiedKFold(3).split(X, y)):
        model = baselines.CoxPH().fit(X.iloc[train], y[train])
        survival = model.predict_survival_function(X.iloc[test], horizons)
        scores.append(metrics.brier_score(y[train], y[test], survival, horizons))
        rows = [row for row in result["folds"] if row["fold"] == fold]
        np.testing.assert_allclose(values_of(rows, "brier", "Cox regression"), scores[-1])
    np.testing.assert_allclose(
        values_of(result["quality"], "brier", "Cox regression"), np.mean(scores, axis=0)
    )
    assert len(values_of(result["folds"], "seconds", "no covariates", None)) == 3
    parallel = run_json("compare", data, *options, "--jobs", 2)
    for metric in ("brier", "concordance_td", "auc"):
        expected = values_of(result["folds"], metric)
        assert values_of(parallel["folds"], metric) == expected


def test_competing_risks_and_networks(run, competing):
    out = run("compare", competing[0], *COLUMNS, "--models", "dsm,cox,fine-gray", *SMALL).out
    for name in ("\ncancer\n", "\nother cause\n", "Fine-Gray", "Deep Survival Machines"):
        assert name in out
    assert "±" in out


def test_a_model_that_cannot_take_the_data_is_left_out_or_refused(run, write, frame, refused):
    path = write(frame.assign(start=frame["days"] / 2))
    call = ["compare", path, *COLUMNS, "--entry", "start", *SMALL, "--fast"]
    assert "forest is left out" in run(*call).err
    assert "late entry" in refused(*call, "--models", "forest")


def test_long_tables_are_sampled(run, data):
    options = ["--models", "curve", "--folds", "2", "--rows", "100"]
    assert "100 of 200 rows" in run("compare", data, *COLUMNS, *options).err


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--models", "svm"], "got 'svm'"), (["--times", "x"], "--times must be numbers")],
)
def test_refused_options(options, message, data, refused):
    assert message in refused("compare", data, *COLUMNS, *options)


def test_lifemix_is_compared_unless_it_must_be_fast(run, write, monkeypatch):
    names = []
    monkeypatch.setattr(
        "lifemix.cli.compare.ModelChoice", lambda name, *_: names.append(name) or 1 / 0
    )
    for options in (["--fast"], []):
        run("compare", write(make_table(120)), *COLUMNS, *options, code=1)
    assert names == ["dsm", "lifemix"]
