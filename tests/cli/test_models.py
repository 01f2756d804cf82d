"""``fit`` and ``compare`` by the name of a model: LifeMix where nothing is said, and all that follows a fit."""

import numpy as np
import pytest

from commands import COLUMNS, make_table
from lifemix import DeepSurvivalMachines, LifeMix, load
from lifemix.cli.compare import _chosen as default_models
from lifemix.cli.model_choice import ModelChoice
from lifemix.cli.output import Screen
from lifemix.cli.reference_models import MODEL_NAMES
from lifemix.errors import SettingError
from lifemix.estimators.life_mix import default_parts
from lifemix.progress import report_progress


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, run, data):
    """Fit what is fitted where nothing is said, once."""
    path = tmp_path_factory.mktemp("mixed") / "model.safetensors"
    done = run("fit", data, *COLUMNS, "--unit", "days", "--no-refit", "-o", path)
    assert done.code == 0, done.err
    return path, done


def test_where_nothing_is_said_lifemix_is_fitted_and_tells_its_parts(mixed):
    path, done = mixed
    model = load(path)
    assert isinstance(model, LifeMix)
    shares = sorted(model.weights_.items(), key=lambda part: -part[1])
    first, second = done.out[done.out.index("LifeMix is an average") :].splitlines()[:2]
    assert (
        first
        == f"LifeMix is an average of {len(model.models_)} fitted models of {len(shares)} kinds, "
        + ("weighed on rows they had not seen:")
    )
    assert second.strip().startswith(", ".join(f"{name} {share:.0%}" for name, share in shares))
    names = [one["model"] for one in model.metadata_["held_out"]["quality"]]
    assert names == ["LifeMix", "Cox regression", "Kaplan-Meier"]


def test_the_first_answer_comes_before_lifemix(mixed):
    out = mixed[1].out
    assert (
        out.index("First answer, by one network")
        < out.index("C^td 0.")
        < out.index("Fitting LifeMix to 160 rows")
    )
    assert "model.safetensors holds it until the better model is ready" in out


@pytest.mark.parametrize("there", [False, True])
def test_whoever_stops_lifemix_keeps_the_first_answer_or_the_file_of_before(
    there, run, write, frame, monkeypatch
):
    path = write(frame)
    output = path.with_name("m.safetensors")
    if there:
        output.write_bytes(b"an older model")

    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(LifeMix, "fit", stopped)
    done = run("fit", path, *COLUMNS, "-o", output)
    assert done.code == 130
    if there:
        assert output.read_bytes() == b"an older model"
    else:
        assert len(load(output).network_) == 1
        assert run("predict", output, path, "--json").code == 0


def test_everything_downstream_takes_a_lifemix_file(mixed, run, data, refused, tmp_path):
    pytest.importorskip("matplotlib")
    path, _ = mixed
    described = run("describe", path)
    assert "networks" in described.out
    assert "% " in described.out or "%\n" in described.out
    assert "I, II, III" in described.out
    assert sum(run("describe", path, "--json").json["parts"].values()) == pytest.approx(1)
    predicted = run(
        "predict", path, data, "--times", "100,300", "--quantiles", "0.1", "--json"
    ).json
    assert all(1 > row["survival_100"] > row["survival_300"] > 0 for row in predicted)
    assert all(0 < row["quantile_0.1"] < row["median"] for row in predicted)
    assert "this model" in run("evaluate", path, data).out
    assert run("doctor", data, "--model", path).code == 0
    assert run("report", path, data, "-o", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "a weighted average of" in page
    assert "Left out: LifeMix is not a mixture of components." in page
    assert "--model dsm" in refused("calculator", path, "-o", tmp_path / "c.html")


def test_the_doctor_knows_the_columns_of_a_lifemix(mixed, run, write, frame):
    far = run(
        "doctor", write(frame.assign(age=frame["age"] * 100, stage="IV")), "--model", mixed[0]
    ).out
    assert "age (200 rows)" in far
    assert "stage" in far


@pytest.mark.parametrize("name", [name for name in MODEL_NAMES if name != "lifemix"])
def test_every_model_is_fitted_by_its_name_and_predicts(name, run, data, tmp_path):
    quick = ["--no-search", "--epochs", "2"] if name == "dsm" else []
    path = tmp_path / "m.safetensors"
    done = run("fit", data, *COLUMNS, "--model", name, *quick, "-o", path, "--no-refit", "--json")
    assert done.code == 0, done.err
    assert done.json["model"] == name
    assert done.json["held_out"]["quality"][0]["model"] == MODEL_NAMES[name]
    assert len({one["model"] for one in done.json["held_out"]["quality"]}) == len(
        done.json["held_out"]["quality"]
    )
    rows = run("predict", path, data, "--times", "100", "--json").json
    assert all(0 < row["survival_100"] < 1 for row in rows)
    assert run("describe", path).code == 0


def test_several_event_types_by_default(run, tmp_path):
    frame = make_table(150, 1, 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run(
        "fit",
        tmp_path / "t.csv",
        *COLUMNS,
        "--holdout",
        "0",
        "-o",
        tmp_path / "m.safetensors",
        "--json",
    )
    assert done.code == 0, done.err
    assert sum(done.json["parts"].values()) == pytest.approx(1)
    assert set(done.json["parts"]) <= set(default_parts(2, 150))


def test_fast_is_one_network_without_a_search(run, data, tmp_path):
    done = run(
        "fit", data, *COLUMNS, "--fast", "--no-refit", "-o", tmp_path / "m.safetensors", "--json"
    )
    assert done.code == 0, done.err
    model = load(tmp_path / "m.safetensors")
    assert isinstance(model, DeepSurvivalMachines)
    assert len(model.network_) == 1
    assert done.json["candidates"] == []


def test_what_is_said_about_networks_asks_for_networks():
    assert ModelChoice.of(None, {}).name == "lifemix"
    assert (
        ModelChoice.of(None, {}, intervals=True).name == "dsm"
    )  # the only part that learns from them
    for told in (
        {"members": 2},
        {"epochs": 3},
        {"search": True},
        {"search": False},
        {"fast": True},
    ):
        assert ModelChoice.of(None, {}, **told).name == "dsm"
    assert ModelChoice.of(None, {"k": 2}).search
    assert not ModelChoice.of(None, {"k": 2}, fast=True).search


REFUSED = {
    "unknown": (("svm", {}), {}, "--model must be one of lifemix, dsm, cox"),
    "a setting of networks": (("cox", {"k": 2}), {}, "--k is for networks; got --model cox"),
    "fast": (("forest", {}), {"fast": True}, "--fast is for networks; got --model forest"),
    "a fast search": ((None, {}), {"fast": True, "search": True}, "leave out --search"),
    "no processes": ((None, {}), {"jobs": 0}, "--jobs must be a number of processes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_choices_that_contradict_each_other_are_refused(case):
    given, options, expected = REFUSED[case]
    with pytest.raises(SettingError, match=expected):
        ModelChoice.of(*given, **options)


def test_more_processes_give_the_same_result(run, data):
    compare = ["compare", data, *COLUMNS, "--models", "cox,curve", "--folds", "2", "--json"]
    one, two = (run(*compare, "--jobs", jobs).json["models"] for jobs in (1, 2))
    assert [fold["values"] for fold in one["cox"]["folds"]] == [
        fold["values"] for fold in two["cox"]["folds"]
    ]


def test_lifemix_gets_the_processes_and_its_file_does_not_tell(mixed):
    assert ModelChoice.of(None, {}, jobs=2).make(load(mixed[0]).training_target_, {}).n_jobs == 2
    assert load(mixed[0]).n_jobs is None


def test_a_piped_search_tells_how_far_it_is(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("lifemix.cli.output._SECONDS_PER_LINE", 0.0)
    quick = ["--members", "1", "--epochs", "1", "--holdout", "0", "-o", tmp_path / "m.safetensors"]
    err = run("fit", data, *COLUMNS, *quick).err
    assert "cross-validation: 100%, about 0 s left" in err
    assert run("fit", data, *COLUMNS, *quick, "--quiet").err == ""


def test_a_terminal_has_a_bar_with_the_time_left(monkeypatch):
    from io import StringIO

    from rich.console import Console

    shown = StringIO()
    screen = Screen()
    monkeypatch.setattr(screen, "_err", Console(file=shown, force_terminal=True, width=100))
    with screen.follow():
        for done in (1, 2, 3):
            report_progress("fitting the parts", done, 4)
    assert "fitting the parts" in shown.getvalue()
    assert "75%" in shown.getvalue()
    assert "0:00:0" in shown.getvalue() or "-:--:--" in shown.getvalue()


def test_compare_takes_lifemix_unless_it_is_to_be_fast(run, write):
    assert default_models(None, fast=False) == ["lifemix", "dsm", "cox", "forest", "curve"]
    assert default_models(None, fast=True) == ["dsm", "cox", "forest", "curve"]
    columns = ["compare", write(make_table(120)), *COLUMNS, "--folds", "2", "--json"]
    assert set(run(*columns, "--fast", "--models", "dsm").json["models"]) == {"dsm"}
    found = run(*columns, "--models", "lifemix").json["models"]["lifemix"]
    assert len(found["folds"]) == 2
    assert np.isfinite(found["folds"][0]["values"]["integrated_brier"]["1"]).all()
