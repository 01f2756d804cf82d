"""Models by their names, with the defaults of Python."""

import numpy as np
import pytest

from helpers.commands import COLUMNS
from lifemix import DeepSurvivalMachines, LifeMix, load, make_target
from lifemix.cli.models import LABELS, ModelChoice

Y = make_target([1.0, 2.0, 3.0], [0, 1, 1])
FIT = f"fit patients.csv {COLUMNS} -o m.safetensors"


@pytest.mark.parametrize("name", [name for name in LABELS if name != "lifemix"])
def test_every_model_is_fitted_by_its_name_and_predicts(name, run_json, run):
    if name == "forest":
        pytest.importorskip("sksurv")
    quick = "--epochs 2" if name == "dsm" else ""
    result = run_json(f"{FIT} --model {name} {quick} --no-refit")
    assert result["model"] == name
    models = dict.fromkeys(row["model"] for row in result["held_out"]["quality"])
    references = {"cox": "Cox regression", "curve": "no covariates"}
    references.pop(name, None)
    assert list(models) == [LABELS[name], *references.values()]
    rows = run_json("predict m.safetensors patients.csv --times 100")
    assert all(0 < row["survival_100"] < 1 for row in rows)
    run("describe m.safetensors")


def test_defaults_are_those_of_python():
    assert ModelChoice("dsm").make(Y).get_params() == DeepSurvivalMachines().get_params()
    assert ModelChoice("lifemix").make(Y).get_params() == LifeMix(n_jobs=1).get_params()
    assert ModelChoice("lifemix", jobs=2).make(Y).n_jobs == 2


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("", "lifemix"),
        ("--k 2", "dsm"),
        ("--fast", "dsm"),
        ("--epochs 1", "dsm"),
        ("--upper end", "dsm"),
        ("--start s --id i", "dsm"),
    ],
)
def test_settings_of_networks_ask_for_networks(options, name, run, monkeypatch):
    names = []
    monkeypatch.setattr("lifemix.cli.training_table.open_training_table", lambda *_: 1 / 0)
    monkeypatch.setattr("lifemix.cli.fit.ModelChoice", lambda name, *_: names.append(name))
    run(f"fit patients.csv {options} -o m.safetensors", code=1)
    assert names == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--model svm", "must be one of lifemix, dsm, cox"),
        ("--model cox --k 2", "need --model dsm; got 'cox'"),
        ("--model forest --fast", "need --model dsm; got 'forest'"),
    ],
)
def test_contradicting_options_are_refused(options, message, refused):
    assert message in refused(f"{FIT} {options}")


def test_a_search_keeps_the_settings_of_the_user_and_compares_the_rest(run_json):
    result = run_json(f"{FIT} --members 1 --epochs 1 --primitive loglogistic --search --holdout 0")
    assert len(result["candidates"]) == 3
    fixed = {"primitive": "loglogistic", "max_epochs": 1}
    assert result["settings"] | fixed == result["settings"]
    scores = [candidate["log_likelihood"] for candidate in result["candidates"]]
    assert scores == sorted(scores, reverse=True)
    best = result["candidates"][0]["settings"]
    assert all(np.array_equal(result["settings"][name], best[name]) for name in best)
    options = "--hidden 4 --dropout 0.1 --learning-rate 0.01 --search --holdout 0"
    candidates = run_json(f"{FIT} --epochs 1 {options}")["candidates"]
    primitives = [candidate["settings"] for candidate in candidates]
    assert sorted(primitives, key=str) == [{"primitive": "lognormal"}, {"primitive": "weibull"}]


@pytest.fixture(scope="module")
def mixed(run, inputs, tmp_path_factory):
    """Return the file of a LifeMix, and the words of the command that fitted it."""
    path = tmp_path_factory.mktemp("mixed") / "m.safetensors"
    fit = f"fit {inputs}/patients.csv {COLUMNS} --unit days --no-refit"
    return path, run(f"{fit} -o {path}").words


def test_lifemix_is_the_default_and_shows_its_parts(mixed):
    path, words = mixed
    model = load(path)
    assert isinstance(model, LifeMix)
    assert model.n_jobs is None
    name, weight = max(model.weights_.items(), key=lambda item: item[1])
    assert f"LifeMix is {name} {weight:.0%}, " in words
    names = dict.fromkeys(row["model"] for row in model.metadata_["held_out"]["quality"])
    assert list(names) == ["LifeMix", "Cox regression", "no covariates"]


def test_all_commands_take_a_lifemix_file(mixed, run, run_json, refused, write, frame):
    path, _ = mixed
    assert "networks" in run(f"describe {path}").out
    assert sum(run_json(f"describe {path}")["parts"].values()) == pytest.approx(1)
    rows = run_json(f"predict {path} patients.csv --times 100,300 --quantiles 0.1")
    assert all(1 > row["survival_100"] > row["survival_300"] > 0 for row in rows)
    assert all(0 < row["quantile_0.1"] < row["median"] for row in rows)
    assert "this model" in run(f"evaluate {path} patients.csv").out
    assert "--model dsm" in refused(f"calculator {path} -o c.html")
    write(frame.assign(age=frame["age"] * 100, stage="IV"))
    words = run(f"doctor data.csv --model {path}").words
    assert "age (200 rows)" in words
    assert "stage = IV" in words


@pytest.mark.slow
def test_a_report_of_a_lifemix_file(mixed, run):
    run(f"report {mixed[0]} patients.csv -o r.html")
