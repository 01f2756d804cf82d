"""Models by their names, with the defaults of Python."""

import numpy as np
import pytest

from helpers.commands import COLUMNS
from lifemix import DeepSurvivalMachines, LifeMix, load, make_target
from lifemix.cli.models import LABELS, ModelChoice

Y = make_target([1.0, 2.0, 3.0], [0, 1, 1])


@pytest.mark.parametrize("name", [name for name in LABELS if name != "lifemix"])
def test_every_model_is_fitted_by_its_name_and_predicts(name, run_json, run, data, tmp_path):
    if name == "forest":
        pytest.importorskip("sksurv")
    quick, path = ["--epochs", 2] if name == "dsm" else [], tmp_path / "m.safetensors"
    options = ["--model", name, *quick, "--no-refit", "-o", path]
    result = run_json("fit", data, *COLUMNS, *options)
    assert result["model"] == name
    models = list(dict.fromkeys(row["model"] for row in result["held_out"]["quality"]))
    assert models[0] == LABELS[name]
    references = ["Cox regression"] * (name != "cox") + ["no covariates"] * (name != "curve")
    assert models[1:] == references
    rows = run_json("predict", path, data, "--times", "100")
    assert all(0 < row["survival_100"] < 1 for row in rows)
    run("describe", path)


def test_defaults_are_those_of_python():
    assert ModelChoice("dsm").make(Y).get_params() == DeepSurvivalMachines().get_params()
    assert ModelChoice("lifemix").make(Y).get_params() == LifeMix(n_jobs=1).get_params()
    assert ModelChoice("lifemix", jobs=2).make(Y).n_jobs == 2


@pytest.mark.parametrize(
    ("options", "name"),
    [([], "lifemix"), (["--k", 2], "dsm"), (["--fast"], "dsm"), (["--epochs", 1], "dsm")]
    + [(["--upper", "end"], "dsm"), (["--start", "s", "--id", "i"], "dsm")],
)
def test_settings_of_networks_ask_for_networks(options, name, run, data, tmp_path, monkeypatch):
    choices = []
    monkeypatch.setattr(
        "lifemix.cli.training_table.open_training_table", lambda *_: 1 / 0, raising=True
    )
    monkeypatch.setattr(
        "lifemix.cli.fit.ModelChoice", lambda *arguments: choices.append(arguments[0])
    )
    run("fit", data, *options, "-o", tmp_path / "m.safetensors", code=1)
    assert choices == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "svm"], "must be one of lifemix, dsm, cox"),
        (["--model", "cox", "--k", "2"], "need --model dsm; got 'cox'"),
        (["--model", "forest", "--fast"], "need --model dsm; got 'forest'"),
    ],
)
def test_contradicting_options_are_refused(options, message, fit, data):
    assert message in fit(data, *options, quick=[], code=2).err


def test_the_search_keeps_the_settings_of_the_user(run_json, data, tmp_path):
    fixed = ["--members", 1, "--epochs", 2, "--primitive", "loglogistic", "--search"]
    result = run_json("fit", data, *COLUMNS, *fixed, "-o", tmp_path / "m.safetensors")
    assert len(result["candidates"]) == 3
    assert result["settings"]["primitive"] == "loglogistic"
    assert result["settings"]["max_epochs"] == 2
    scores = [candidate["log_likelihood"] for candidate in result["candidates"]]
    assert scores == sorted(scores, reverse=True)
    best = result["candidates"][0]["settings"]
    assert {name: tuple(np.ravel(value)) for name, value in best.items()} == {
        name: tuple(np.ravel(result["settings"][name])) for name in best
    }


def test_every_candidate_is_different(run_json, data, tmp_path):
    fixed = ["--epochs", 1, "--hidden", "4", "--dropout", 0.1, "--learning-rate", 0.01, "--search"]
    result = run_json("fit", data, *COLUMNS, *fixed, "-o", tmp_path / "m.safetensors")
    candidates = [candidate["settings"] for candidate in result["candidates"]]
    assert sorted(candidates, key=str) == [{"primitive": "lognormal"}, {"primitive": "weibull"}]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, run, data):
    path = tmp_path_factory.mktemp("mixed") / "model.safetensors"
    return path, run("fit", data, *COLUMNS, "--unit", "days", "--no-refit", "-o", path)


def test_lifemix_is_the_default_and_shows_its_parts(mixed):
    path, result = mixed
    model = load(path)
    assert isinstance(model, LifeMix)
    assert model.n_jobs is None
    name, weight = max(model.weights_.items(), key=lambda item: item[1])
    assert f"LifeMix is {name} {weight:.0%}, " in result.words
    names = {row["model"]: None for row in model.metadata_["held_out"]["quality"]}
    assert list(names) == ["LifeMix", "Cox regression", "no covariates"]


def test_all_commands_take_a_lifemix_file(
    mixed, run, run_json, data, refused, tmp_path, write, frame
):
    pytest.importorskip("matplotlib")
    path, _ = mixed
    assert "networks" in run("describe", path).out
    assert sum(run_json("describe", path)["parts"].values()) == pytest.approx(1)
    rows = run_json("predict", path, data, "--times", "100,300", "--quantiles", "0.1")
    assert all(1 > row["survival_100"] > row["survival_300"] > 0 for row in rows)
    assert all(0 < row["quantile_0.1"] < row["median"] for row in rows)
    assert "this model" in run("evaluate", path, data).out
    run("report", path, data, "-o", tmp_path / "r.html")
    assert "--model dsm" in refused("calculator", path, "-o", tmp_path / "c.html")
    far = write(frame.assign(age=frame["age"] * 100, stage="IV"))
    words = run("doctor", far, "--model", path).words
    assert "age (200 rows)" in words
    assert "stage" in words
