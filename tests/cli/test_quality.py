"""The quality of models: every registered measure, at the same times and in the same numbers everywhere."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.commands import COLUMNS, QUICK, values_of
from lifemix import load, metrics
from lifemix.metrics import evaluation
from lifemix.splits import default_horizons


def test_a_registered_measure_appears_in_every_command(run, run_json, monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))

    def largest_risk(y_train, y_test, risk, horizons, event):
        return risk.max(axis=0)

    options = {"function": largest_risk, "percent": True}
    measure = metrics.Measure("largest_risk", "largest risk", "lower", "horizon", **options)
    metrics.register_measure(measure)
    for command in (
        "evaluate model.safetensors patients.csv",
        f"compare patients.csv {COLUMNS} --models curve --folds 2",
        f"fit patients.csv {COLUMNS} {QUICK} -o m.safetensors",
    ):
        line = next(line for line in run(command).out.splitlines() if "largest risk" in line)
        assert "%" in line
    quality = run_json("evaluate model.safetensors patients.csv --times 100,300")["quality"]
    assert len(values_of(quality, "largest_risk")) == 2
    evaluation._MEASURES.pop(measure.name)
    assert "largest_risk" in run("describe m.safetensors").out


def test_all_commands_have_every_measure_at_the_same_times(run, run_json):
    out = run("evaluate model.safetensors patients.csv").out
    labels = [measure.label for measure in metrics.registered_measures() if measure.standard]
    assert all(label in out for label in labels)
    model = load("model.safetensors")
    expected = default_horizons(model.training_target_).tolist()
    evaluated = run_json("evaluate model.safetensors patients.csv")
    for result in (model.metadata_["held_out"], evaluated):
        rows = [row for row in result["quality"] if row["metric"] == "brier"]
        assert sorted({row["horizon"] for row in rows}) == expected
    names = run_json("predict model.safetensors patients.csv")[0]
    times = [name.removeprefix("survival_") for name in names if "survival" in name]
    assert list(map(float, times)) == expected


@pytest.mark.slow
def test_pages_have_the_times_names_and_numbers_of_evaluate(run, run_json):
    pytest.importorskip("matplotlib")
    run("report causes.safetensors causes.csv -o r.html")
    run("calculator causes.safetensors -o c.html")
    quality = run_json("evaluate causes.safetensors causes.csv")["quality"]
    page, form = Path("r.html").read_text(), Path("c.html").read_text()
    assert all(name in page and name in form for name in ("cancer", "other cause"))
    for number in values_of(quality, "concordance_td") + values_of(quality, "brier", event=2):
        assert f"{number:.3f}" in page
    times = sorted({row["horizon"] for row in quality if row["metric"] == "brier"})
    assert all(f"by {time:g}" in page for time in times)
    assert f'"horizons":{json.dumps(times, separators=(",", ":"))}' in form


def test_a_model_that_cannot_be_measured_is_a_note(fit, monkeypatch):
    def fail(*arguments, **options):
        raise np.linalg.LinAlgError("eigenvalues did not converge")

    message = "is not evaluated: LinAlgError: eigenvalues did not converge"
    for method in ("fit", "_survival"):
        with monkeypatch.context() as patch:
            patch.setattr(f"lifemix.baselines.CoxPH.{method}", fail)
            result = fit("patients.csv")
        assert result.err.count(f"Cox regression {message}") == 1
        assert "no covariates" in result.out
    monkeypatch.setattr("lifemix.cli.quality.measure", fail)
    assert f"Deep Survival Machines {message}" in fit("patients.csv").err
    held_out = load("m.safetensors").metadata_["held_out"]
    assert held_out == {"rows": 40, "refitted": True, "quality": []}
