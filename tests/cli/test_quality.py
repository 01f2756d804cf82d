"""The quality of models: every registered measure, at the same times and in the same numbers everywhere."""

import json

import numpy as np
import pytest

import lifemix.report
from helpers.commands import COLUMNS, QUICK, values_of
from lifemix import load, metrics
from lifemix.metrics import evaluation
from lifemix.splits import default_horizons


@pytest.fixture
def own_measure(monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))

    def largest_risk(y_train, y_test, risk, horizons, event):
        return risk.max(axis=0)

    options = {"function": largest_risk, "percent": True}
    measure = metrics.Measure("largest_risk", "largest risk", "lower", "horizon", **options)
    return metrics.register_measure(measure)


def test_a_registered_measure_appears_in_every_command(
    run, run_json, model, data, tmp_path, own_measure
):
    path = tmp_path / "m.safetensors"
    for call in (
        ["evaluate", model, data],
        ["compare", data, *COLUMNS, "--models", "cox,curve", "--folds", "2"],
        ["fit", data, *COLUMNS, *QUICK, "-o", path],
    ):
        line = next(line for line in run(*call).out.splitlines() if "largest risk" in line)
        assert "%" in line
    quality = run_json("evaluate", model, data, "--times", "100,300")["quality"]
    assert len(values_of(quality, "largest_risk")) == 2
    evaluation._MEASURES.pop(own_measure.name)
    assert "largest_risk" in run("describe", path).out


def test_every_standard_measure_is_shown(run, model, data):
    out = run("evaluate", model, data).out
    assert all(
        measure.label in out for measure in metrics.registered_measures() if measure.standard
    )


def test_all_commands_have_the_same_times(run, run_json, model, data, tmp_path, monkeypatch):
    expected = default_horizons(load(model).training_target_).tolist()
    horizons = {}
    for name in ("write_report", "write_calculator"):

        def write(*arguments, name=name, **options):
            horizons[name] = list(options["horizons"])
            next(each for each in arguments if hasattr(each, "write_text")).write_text("page")

        monkeypatch.setattr(lifemix.report, name, write, raising=False)
    run("report", model, data, "-o", tmp_path / "r.html")
    run("calculator", model, "-o", tmp_path / "c.html")
    for name, result in (
        ("fit", load(model).metadata_["held_out"]),
        ("evaluate", run_json("evaluate", model, data)),
    ):
        rows = [row for row in result["quality"] if row["metric"] == "brier"]
        horizons[name] = sorted({row["horizon"] for row in rows})
    names = [name for name in run_json("predict", model, data)[0] if name.startswith("survival_")]
    horizons["predict"] = [float(name.removeprefix("survival_")) for name in names]
    assert horizons == dict.fromkeys(horizons, expected)


def test_pages_have_the_times_names_and_numbers_of_evaluate(run, run_json, competing, tmp_path):
    pytest.importorskip("matplotlib")
    data, model = competing
    report, calculator = tmp_path / "r.html", tmp_path / "c.html"
    run("report", model, data, "-o", report)
    run("calculator", model, "-o", calculator)
    quality = run_json("evaluate", model, data)["quality"]
    page, form = report.read_text(), calculator.read_text()
    assert all(name in page and name in form for name in ("cancer", "other cause"))
    for number in values_of(quality, "concordance_td") + values_of(quality, "brier", event=2):
        assert f"{number:.3f}" in page
    times = sorted({row["horizon"] for row in quality if row["metric"] == "brier"})
    assert all(f"by {time:g}" in page for time in times)
    assert f'"horizons":{json.dumps(times, separators=(",", ":"))}' in form


def test_a_model_that_cannot_be_measured_is_a_note(fit, data, monkeypatch):
    def fail(*arguments, **options):
        raise np.linalg.LinAlgError("eigenvalues did not converge")

    message = "is not evaluated: LinAlgError: eigenvalues did not converge"
    for method in ("fit", "_survival"):
        with monkeypatch.context() as patch:
            patch.setattr(f"lifemix.baselines.CoxPH.{method}", fail)
            result = fit(data)
        assert result.err.count(f"Cox regression {message}") == 1
        assert "no covariates" in result.out
    monkeypatch.setattr("lifemix.cli.quality.measure", fail)
    assert f"Deep Survival Machines {message}" in fit(data).err
    held_out = load(fit.model).metadata_["held_out"]
    assert held_out == {"rows": 40, "refitted": True, "quality": []}
