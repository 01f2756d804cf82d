"""``lifemix evaluate`` and ``describe``: the figures of the metrics, without naming the columns again."""

import numpy as np
import pytest

from commands import make_table
from lifemix import DeepSurvivalMachines, load, make_target, metrics, save


def test_figures_are_those_of_the_metrics(run, model, write):
    new = make_table(150, 7)
    result = run("evaluate", model, write(new), "--times", "100,300", "--json").json
    saved = load(model)
    X, y = new[["age", "dose", "stage"]], make_target(new["days"], new["died"])
    train = saved.training_target_.to_array()
    survival = saved.predict_survival_function(X, [100, 300])
    mine, floor = result["quality"]
    assert mine["values"]["brier"]["1"] == pytest.approx(
        metrics.brier_score(train, y, survival, [100, 300])
    )
    expected = [
        metrics.concordance_td(train, y, 1 - survival[:, i], t) for i, t in enumerate((100, 300))
    ]
    assert mine["values"]["concordance"]["1"] == pytest.approx(expected)
    assert mine["log_likelihood"] == pytest.approx(saved.log_likelihood(X, y) / 150)
    observed = 1 - metrics.kaplan_meier(y).at([100, 300])
    np.testing.assert_allclose(
        mine["calibration"]["1"], np.c_[1 - survival.mean(0)[:, None], observed[:, None]]
    )
    for (low, high), value in zip(mine["intervals"]["concordance"]["1"], expected, strict=True):
        assert low < value < high
    assert floor["model"] == "Kaplan-Meier"
    assert floor["values"]["concordance"]["1"] == [0.5, 0.5]


def test_competing_risks_have_their_names(run, competing):
    data, model = competing
    outcome = run("evaluate", model, data)
    assert outcome.code == 0, outcome.err
    assert "\ncancer\n" in outcome.out
    assert "Other cause: mean predicted risk" in outcome.out


def test_the_training_table_is_recognised(run, model, data, write):
    assert "training rows of the model" in run("evaluate", model, data).err
    assert "training rows of the model" not in run("evaluate", model, write(make_table(150, 7))).err


def test_events_that_training_did_not_have(competing, write, refused):
    _, model = competing
    frame = make_table(300, 1, 2)
    path = write(frame.assign(died=frame["died"].map({0: "alive", 1: "cancer", 2: "moved"})))
    assert "not in the training data: 'moved'" in refused("evaluate", model, path)


def test_a_model_made_in_python_needs_the_columns(run, refused, data, frame, tmp_path):
    path = tmp_path / "python.safetensors"
    y = make_target(frame["days"], frame["died"])
    save(DeepSurvivalMachines(hidden=(), max_epochs=1).fit(frame[["age"]], y), path)
    assert "--time and --event" in refused("evaluate", path, data)
    assert run("evaluate", path, data, "--time", "days", "--event", "died").code == 0
    assert run("describe", path).code == 0
    assert run("predict", path, data, "--json").code == 0


def test_describe_tells_what_the_model_needs(run, model):
    out = run("describe", model).out
    assert "time = days, event = died" in out
    assert "I, II, III" in out
    assert "Quality on 40 rows held out" in out
    facts = run("describe", model, "--json").json
    assert [column["name"] for column in facts["columns"]] == ["age", "dose", "stage"]
    assert facts["rows"] == 200
    assert facts["settings"]["hidden"] == [4]
