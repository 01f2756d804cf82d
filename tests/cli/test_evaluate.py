"""``lifemix evaluate``: the figures of the metrics, without naming the columns again."""

import pytest

from helpers.commands import make_table, values_of
from lifemix import DeepSurvivalMachines, load, make_target, metrics, save


def test_figures_are_those_of_the_metrics(run, run_json, write):
    table, times = make_table(150, 7), [100, 300]
    write(table)
    result = run_json("evaluate model.safetensors data.csv --times 100,300")["quality"]
    saved = load("model.safetensors")
    X, y = table[["age", "dose", "stage"]], make_target(table["days"], table["died"])
    train = saved.training_target_.to_array()
    survival = saved.predict_survival_function(X, times)
    expected = metrics.brier_score(train, y, survival, times)
    assert values_of(result, "brier") == pytest.approx(expected)
    expected = [metrics.concordance_td(train, y, 1 - survival[:, i], times[i]) for i in (0, 1)]
    assert values_of(result, "concordance_td") == pytest.approx(expected)
    ratios = (1 - metrics.kaplan_meier(y).at(times)) / (1 - survival.mean(axis=0))
    assert values_of(result, "observed_expected") == pytest.approx(ratios)
    likelihood = saved.log_likelihood(X, y) / 150
    assert values_of(result, "log_likelihood", event=None) == pytest.approx([likelihood])
    rows = [row for row in result if row["metric"] == "concordance_td" and row["lower"]]
    assert len(rows) == 2
    assert all(row["lower"] < row["value"] < row["upper"] for row in rows)
    assert values_of(result, "concordance_td", "no covariates") == [0.5, 0.5]
    assert "training rows of the model" not in run("evaluate model.safetensors data.csv").err


def test_the_training_table_is_recognised(run):
    assert "training rows of the model" in run("evaluate model.safetensors patients.csv").err


def test_competing_risks_have_their_names(run, refused, write):
    out = run("evaluate causes.safetensors causes.csv").out
    for name in ("cancer", "other cause", "all events"):
        assert f"\n{name}\n" in out
    table = make_table(300, 1, n_events=2)
    write(table.assign(died=table["died"].map({0: "alive", 1: "cancer", 2: "moved"})))
    message = refused("evaluate causes.safetensors data.csv")
    assert "not in the training data: 'moved'" in message


def test_a_model_made_in_python_needs_the_columns(run, refused, frame):
    y = make_target(frame["days"], frame["died"])
    save(DeepSurvivalMachines(hidden=(), max_epochs=1).fit(frame[["age"]], y), "m.safetensors")
    assert "--time and --event" in refused("evaluate m.safetensors patients.csv")
    run("evaluate m.safetensors patients.csv --time days --event died")
    assert "age" in run("describe m.safetensors").out
    run("predict m.safetensors patients.csv --json")
