"""``lifemix evaluate`` and ``describe``: the figures of the metrics, without naming the columns again."""

import pytest

from helpers.commands import make_table, values_of
from lifemix import DeepSurvivalMachines, load, make_target, metrics, save


def test_figures_are_those_of_the_metrics(run_json, model, write):
    table, times = make_table(150, 7), [100, 300]
    quality = run_json("evaluate", model, write(table), "--times", "100,300")["quality"]
    saved = load(model)
    X, y = table[["age", "dose", "stage"]], make_target(table["days"], table["died"])
    train = saved.training_target_.to_array()
    survival = saved.predict_survival_function(X, times)
    expected = metrics.brier_score(train, y, survival, times)
    assert values_of(quality, "brier") == pytest.approx(expected)
    expected = [
        metrics.concordance_td(train, y, 1 - survival[:, i], t) for i, t in enumerate(times)
    ]
    assert values_of(quality, "concordance_td") == pytest.approx(expected)
    observed = 1 - metrics.kaplan_meier(y).at(times)
    ratios = observed / (1 - survival.mean(axis=0))
    assert values_of(quality, "observed_expected") == pytest.approx(ratios)
    likelihood = saved.log_likelihood(X, y) / 150
    assert values_of(quality, "log_likelihood", event=None) == pytest.approx([likelihood])
    rows = [
        row for row in quality if row["metric"] == "concordance_td" and row["lower"] is not None
    ]
    assert len(rows) == 2
    assert all(row["lower"] < row["value"] < row["upper"] for row in rows)
    assert values_of(quality, "concordance_td", "no covariates") == [0.5, 0.5]


def test_competing_risks_have_their_names(run, competing):
    data, model = competing
    out = run("evaluate", model, data).out
    assert "\ncancer\n" in out
    assert "\nother cause\n" in out
    assert "\nall events\n" in out


def test_the_training_table_is_recognised(run, model, data, write):
    note = "training rows of the model"
    assert note in run("evaluate", model, data).err
    assert note not in run("evaluate", model, write(make_table(150, 7))).err


def test_events_that_training_did_not_have(competing, write, refused):
    table = make_table(300, 1, 2)
    labels = {0: "alive", 1: "cancer", 2: "moved"}
    path = write(table.assign(died=table["died"].map(labels)))
    assert "not in the training data: 'moved'" in refused("evaluate", competing[1], path)


def test_a_model_made_in_python_needs_the_columns(run, refused, data, frame, tmp_path):
    path = tmp_path / "python.safetensors"
    y = make_target(frame["days"], frame["died"])
    save(DeepSurvivalMachines(hidden=(), max_epochs=1).fit(frame[["age"]], y), path)
    assert "--time and --event" in refused("evaluate", path, data)
    run("evaluate", path, data, "--time", "days", "--event", "died")
    assert "age" in run("describe", path).out
    run("predict", path, data, "--json")


def test_describe_shows_what_the_model_needs(run, run_json, model):
    out = run("describe", model).out
    assert "time = days, event = died" in out
    assert "III 35%, II 34%, I 31%" in out
    assert "Quality on 40 rows held out" in out
    facts = run_json("describe", model)
    assert [column["name"] for column in facts["columns"]] == ["age", "dose", "stage"]
    assert facts["rows"] == 200
    assert facts["settings"]["hidden"] == [4]
