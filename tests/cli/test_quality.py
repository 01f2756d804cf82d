"""The quality of a model: every registered measure, at the same times and in the same numbers everywhere."""

import json

import numpy as np
import pytest

import lifemix.report
from commands import COLUMNS, QUICK
from lifemix import load, metrics
from lifemix.cli.output import plain
from lifemix.cli.quality import ModelQuality
from lifemix.metrics import evaluation
from lifemix.splits import default_horizons


@pytest.fixture
def own_measure(monkeypatch):
    """Register a measure as a file in lifemix.metrics would."""
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))

    def largest_risk(y_train, y_test, risk, horizons, event):
        return risk.max(axis=0)

    return metrics.register_measure(
        metrics.Measure(
            "largest_risk", "largest risk", "lower", "horizon", largest_risk, percent=True
        )
    )


@pytest.mark.usefixtures("own_measure")
def test_a_registered_measure_appears_in_evaluate_compare_and_fit(run, model, data, tmp_path):
    calls = {
        "evaluate": [model, data],
        "compare": [data, *COLUMNS, "--models", "cox,curve", "--folds", "2"],
        "fit": [data, *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors"],
    }
    for command, options in calls.items():
        outcome = run(command, *options)
        assert outcome.code == 0, outcome.err
        assert "largest risk" in outcome.out
        line = next(line for line in outcome.out.splitlines() if "largest risk" in line)
        assert "%" in line
    found = run("evaluate", model, data, "--times", "100,300", "--json").json["quality"]
    for quality in found:
        assert len(quality["values"]["largest_risk"]["1"]) == 2
    assert "largest_risk" in run("describe", tmp_path / "m.safetensors", "--json").out


def test_a_measure_that_is_no_longer_registered_is_shown_by_its_name(
    run, data, tmp_path, own_measure
):
    path = tmp_path / "m.safetensors"
    run("fit", data, *COLUMNS, *QUICK, "-o", path)
    evaluation._MEASURES.pop(own_measure.name)
    assert "largest_risk" in run("describe", path).out


def test_every_standard_measure_is_shown(run, model, data):
    out = run("evaluate", model, data).out
    for measure in metrics.registered_measures():
        assert not measure.standard or measure.label in out


def test_one_model_is_measured_at_the_same_times_everywhere(
    run, model, data, tmp_path, monkeypatch
):
    expected = default_horizons(load(model).training_target_).tolist()
    asked = {}
    for name in ("write_report", "write_calculator"):

        def write(*arguments, name=name, **options):
            asked[name] = list(options["horizons"])
            next(each for each in arguments if hasattr(each, "write_text")).write_text("page")

        monkeypatch.setattr(lifemix.report, name, write, raising=False)
    assert run("report", model, data, "-o", tmp_path / "r.html").code == 0
    assert run("calculator", model, "-o", tmp_path / "c.html").code == 0
    asked["fit"] = load(model).metadata_["held_out"]["quality"][0]["horizons"]
    asked["evaluate"] = run("evaluate", model, data, "--json").json["quality"][0]["horizons"]
    predicted = run("predict", model, data, "--json").json[0]
    asked["predict"] = [
        float(name.removeprefix("survival_")) for name in predicted if name.startswith("survival_")
    ]
    assert asked == dict.fromkeys(asked, expected)


def test_measures_survive_json():
    values = {"brier": {1: [0.1, np.nan], 2: [0.3, 0.4]}}
    intervals = {"brier": {1: [[0.0, 0.2], [np.nan, np.nan]]}}
    quality = ModelQuality("a", 10, [1.0, 2.0], values, intervals, {1: [[0.1, 0.2]]})
    back = ModelQuality.from_state(json.loads(json.dumps(plain(quality.to_state()))))
    assert back.values["brier"][1][0] == 0.1
    assert np.isnan(back.values["brier"][1][1])
    assert back.intervals["brier"][1][0] == [0.0, 0.2]
    assert back.mean("brier", 2) == pytest.approx(0.35)
    assert np.isnan(back.mean("auc"))


def test_measures_of_version_0_1_0_are_read():
    state = {
        "model": "a",
        "rows": 10,
        "horizons": [1.0],
        "values": {"concordance": {"1": [0.6]}},
        "interval": {"1": [0.5, 0.7]},
        "calibration": {"1": [[0.1, None]]},
        "d_calibration_p": 0.4,
        "antolini": None,
        "log_likelihood": -1.0,
        "log_likelihood_without": -1.1,
        "without": "",
    }
    quality = ModelQuality.from_state(state)
    assert quality.mean("d_calibration_p") == 0.4
    assert quality.log_likelihood == -1.0


def test_report_and_calculator_have_the_times_names_and_numbers_of_evaluate(
    run, competing, tmp_path
):
    pytest.importorskip("matplotlib")
    data, model = competing
    report, calculator = tmp_path / "r.html", tmp_path / "c.html"
    assert run("report", model, data, "-o", report).code == 0
    assert run("calculator", model, "-o", calculator).code == 0
    found = run("evaluate", model, data, "--json").json["quality"][0]
    shown, form = report.read_text(), calculator.read_text()
    for name in ("cancer", "other cause"):
        assert name in shown
        assert name in form
    for number in [*found["values"]["concordance"]["1"], *found["values"]["brier"]["2"]]:
        assert f"{number:.3f}" in shown
    for time in found["horizons"]:
        assert f"by {time:g}" in shown
    assert f'"horizons":{json.dumps(found["horizons"], separators=(",", ":"))}' in form
