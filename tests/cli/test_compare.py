"""``lifemix compare``: every model on the same folds."""

import numpy as np
import pytest

from helpers.commands import COLUMNS, make_table, values_of
from lifemix import baselines, make_target, metrics
from lifemix.splits import EventStratifiedKFold, default_horizons

COMPARE = f"compare patients.csv {COLUMNS}"


def test_figures_are_those_of_python(run_json, frame):
    result = run_json(f"{COMPARE} --models cox,curve --folds 3")
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
    means = values_of(result["quality"], "brier", "Cox regression")
    np.testing.assert_allclose(means, np.mean(scores, axis=0))
    assert len(values_of(result["folds"], "seconds", "no covariates", None)) == 3


@pytest.mark.slow
def test_processes_do_not_change_the_figures(run_json):
    tables = [
        run_json(f"{COMPARE} --models cox --folds 2 --jobs {jobs}")["folds"] for jobs in (1, 2)
    ]
    for metric in ("brier", "concordance_td", "auc"):
        assert values_of(tables[0], metric) == values_of(tables[1], metric)


def test_competing_risks_and_networks(run):
    models = "--models dsm,cox,fine-gray --folds 2 --members 1"
    out = run(f"compare causes.csv {COLUMNS} {models}").out
    for name in ("\ncancer\n", "\nother cause\n", "Fine-Gray", "Deep Survival Machines", "±"):
        assert name in out


def test_a_model_that_cannot_take_the_data_is_left_out_or_refused(run, write, frame, refused):
    write(frame.assign(start=frame["days"] / 2))
    command = f"compare data.csv {COLUMNS} --entry start --folds 2 --fast"
    assert "forest is left out" in run(command).err
    assert "late entry" in refused(f"{command} --models forest")


def test_long_tables_are_sampled(run):
    assert "100 of 200 rows" in run(f"{COMPARE} --models curve --folds 2 --rows 100").err


@pytest.mark.parametrize(
    ("options", "message"),
    [("--models svm", "got 'svm'"), ("--times x", "--times must be numbers")],
)
def test_refused_options(options, message, refused):
    assert message in refused(f"{COMPARE} {options}")


def test_lifemix_is_compared_unless_it_must_be_fast(run, write, monkeypatch):
    names = []
    monkeypatch.setattr(
        "lifemix.cli.compare.ModelChoice", lambda name, *_: names.append(name) or 1 / 0
    )
    write(make_table(120))
    for option in ("--fast", ""):
        run(f"compare data.csv {COLUMNS} {option}", code=1)
    assert names == ["dsm", "lifemix"]
