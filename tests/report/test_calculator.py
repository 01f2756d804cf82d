"""The file of a calculator: what it holds, what is refused, and that it is written whole or not at all."""

import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from torch import nn

from helpers.custom_primitives import Exponential
from lifemix import DeepSurvivalMachines, FleetSearchCV, datasets, make_target
from lifemix.errors import CovariateError, InputError, SettingError
from lifemix.preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor
from lifemix.report.calculator import write_calculator
from lifemix.splits import default_horizons


def quick(**settings):
    return DeepSurvivalMachines(**({"hidden": (4,), "k": 2, "max_epochs": 1} | settings))


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.integers(30, 90, n), "dose": rng.standard_normal(n) * 3})


def target(n=60, n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    return make_target(rng.weibull(1.5, n) * 30, rng.integers(0, n_events + 1, n))


def content_of(path):
    match = re.search(
        r'<script type="application/json" id="content">(.*?)</script>',
        path.read_text("utf-8"),
        re.S,
    )
    return json.loads(match.group(1))


def fields_of(path):
    return {field["name"]: field for field in content_of(path)["fields"]}


@pytest.fixture(scope="module")
def model():
    return quick().fit(table(), target())


def test_the_same_arguments_give_the_same_bytes_and_no_other_file(model, tmp_path):
    first = write_calculator(model, tmp_path / "one.html", title="Ärzte & co", time_unit="days")
    second = write_calculator(
        model, str(tmp_path / "new folder" / "other.html"), title="Ärzte & co", time_unit="days"
    )
    assert first.read_bytes() == second.read_bytes()
    assert "<title>Ärzte &amp; co</title>" in first.read_text("utf-8")
    assert sorted(os.listdir(tmp_path)) == ["new folder", "one.html"]
    assert os.listdir(tmp_path / "new folder") == ["other.html"]


def test_nothing_in_the_file_points_elsewhere(model, tmp_path):
    text = write_calculator(model, tmp_path / "page.html").read_text("utf-8")
    assert not re.findall(
        r"(?:src|href|action)\s*=|@import|url\(|fetch\(|XMLHttp|WebSocket|sendBeacon|import\(", text
    )
    assert re.findall(r"https?://[^\"' ]+", text) == [
        "http://www.w3.org/2000/svg"
    ]  # a name, not an address
    assert text.count("<script") == text.count("</script") == 2


def test_a_failed_write_leaves_the_old_page(model, tmp_path, monkeypatch):
    path = write_calculator(model, tmp_path / "page.html")
    old_bytes = path.read_bytes()

    def fails(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(InputError, match="cannot be written: no space left"):
        write_calculator(model, path, title="another")
    assert path.read_bytes() == old_bytes
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_folder_that_is_a_file_is_refused(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_calculator(model, tmp_path / "file" / "page.html")


def test_default_model_on_support_is_far_below_a_megabyte(tmp_path):
    data = datasets.load_support()
    model = DeepSurvivalMachines(
        max_epochs=1, preprocessor=TabularPreprocessor(SUPPORT_NORMAL_VALUES)
    )
    path = write_calculator(
        model.fit(data.X, data.y), tmp_path / "page.html", features=data.features
    )
    assert path.stat().st_size < 150_000
    fields = fields_of(path)
    low, middle, high = data.X["age"].quantile([0.01, 0.5, 0.99])
    usual = {
        "low": np.floor(low),
        "middle": np.round(middle),
        "high": np.ceil(high),
        "step": 1.0,
        "digits": 0,
    }
    assert fields["age"] | usual == fields["age"]
    assert fields["age"]["typical"] == 65.0
    assert fields["adlp"]["typical"] is None  # 62 % have no value
    assert fields["adlp"]["middle"] == 0.0
    assert (fields["adlp"]["low"], fields["adlp"]["high"]) == (0.0, 7.0)
    assert fields["bili"]["fill"] == 1.01
    assert fields["sex"]["levels"] == ["female", "male"]
    assert fields["hday"]["description"] == "day in hospital at study entry"
    assert content_of(path)["training"] == {"rows": 9105, "events": [6201]}


def test_extreme_values_of_training_do_not_enter_the_page(tmp_path):
    X = table(600).assign(
        age=lambda t: np.where(t.index == 0, 107, t["age"]), dose=np.linspace(0, 1, 600) ** 2
    )
    X.loc[0, "dose"] = 93.123456
    fields = fields_of(write_calculator(quick().fit(X, target(600)), tmp_path / "page.html"))
    assert fields["age"]["high"] == 89
    assert 0.9 < fields["dose"]["high"] < 1
    assert fields["dose"]["step"] == 0.01
    assert "107" not in json.dumps(fields["age"])
    assert "93.12" not in json.dumps(fields["dose"])


def test_arrays_get_numbered_names(tmp_path):
    model = quick().fit(table().to_numpy(), target())
    names = list(
        fields_of(write_calculator(model, tmp_path / "page.html", units={"feature 2": "mg"}))
    )
    assert names == ["feature 1", "feature 2"]


def test_without_a_preprocessor_the_table_tells_the_ranges(tmp_path):
    model = quick(preprocessor=None).fit(table(), target())
    with pytest.raises(
        SettingError, match="does not know which values its column 'age' has.*data=X"
    ):
        write_calculator(model, tmp_path / "page.html")
    field = fields_of(write_calculator(model, tmp_path / "page.html", data=table()))["age"]
    assert (field["unknown"], field["mean"], field["scale"]) == (False, 0.0, 1.0)
    assert field["typical"] == sorted(table()["age"])[round(0.5 * 59)]


def test_data_gives_the_ranges_of_numbers(model, tmp_path):
    younger = table().assign(age=lambda t: t["age"] - 20)
    usual, younger_range = (
        fields_of(write_calculator(model, tmp_path / "p.html", data=d))["age"]
        for d in (None, younger)
    )
    assert younger_range["low"] == usual["low"] - 20
    assert younger_range["mean"] == usual["mean"]
    with pytest.raises(CovariateError, match="values in column 'age'; got none"):
        write_calculator(model, tmp_path / "p.html", data=table().assign(age=np.nan))


def test_horizons_are_sorted_and_by_default_those_of_every_page(model, tmp_path):
    path = write_calculator(model, tmp_path / "page.html", horizons=[20, 5, 5.0])
    assert content_of(path)["horizons"] == [5.0, 20.0]
    default = content_of(write_calculator(model, tmp_path / "page.html"))["horizons"]
    assert default == default_horizons(target()).tolist()


@pytest.mark.parametrize(
    ("event_names", "labels"),
    [
        ({1: "relapse", 2: "death"}, ["relapse", "death"]),
        (["relapse", "death"], ["relapse", "death"]),
        (None, ["event 1", "event 2"]),
    ],
)
def test_event_names_are_a_mapping_or_a_sequence(event_names, labels, tmp_path):
    model = quick().fit(table(), target(n_events=2))
    assert (
        content_of(write_calculator(model, tmp_path / "page.html", event_names=event_names))[
            "events"
        ]
        == labels
    )


def test_observed_incidences_are_aalen_johansen(tmp_path):
    model = quick().fit(table(), target(n_events=2))
    observed = content_of(write_calculator(model, tmp_path / "page.html"))["observed"]
    y = target(n_events=2)
    assert observed["end"] == y["time"].max()
    assert [len(curve) for curve in observed["risks"]] == [401, 401]
    total = 1 - sum(curve[200] for curve in observed["risks"])
    at_risk = np.array([(y["time"] >= t).sum() for t in y["time"]])
    early = (y["event"] > 0) & (y["time"] <= observed["end"] / 2)
    assert total == pytest.approx(
        np.prod(1 - 1 / at_risk[early]), abs=1e-4
    )  # Kaplan-Meier of any event


def test_intervals_have_no_observed_curve(tmp_path):
    y = target()
    upper = np.where(y["event"] > 0, y["time"] + 1, np.nan)
    model = quick().fit(table(), make_target(y["time"], y["event"], upper=upper))
    assert content_of(write_calculator(model, tmp_path / "page.html"))["observed"] is None


REFUSED = {
    "own encoder": (
        lambda: quick(encoder=nn.Linear(2, 3)).fit(table(), target()),
        "encoder of your own; got Linear",
    ),
    "own activation": (
        lambda: quick(activation=nn.functional.softplus).fit(table(), target()),
        "cannot run a function of Python; got the activation softplus",
    ),
    "gamma": (
        lambda: quick(primitive=["weibull", "gamma"]).fit(table(), target()),
        "cannot compute the primitive 'gamma'.*one of .*'weibull'",
    ),
    "own primitive": (
        lambda: quick(primitive=Exponential).fit(table(), target()),
        "cannot compute the primitive 'ownexponential'",
    ),
    "own transformer": (
        lambda: quick(preprocessor=StandardScaler()).fit(table(), target()),
        "cannot run a StandardScaler.*preprocessor='auto'",
    ),
    "not fitted": (lambda: quick(), "needs a fitted model.*Call fit first"),
    "a search": (lambda: FleetSearchCV(quick(), {"k": [1]}), "got FleetSearchCV. Fit one for it"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_models_that_a_browser_cannot_run_are_refused(make, message, tmp_path):
    with pytest.raises(SettingError, match=message):
        write_calculator(make(), tmp_path / "page.html")
    assert not os.listdir(tmp_path)


WRONG = {
    "horizon 0": ({"horizons": [0, 1]}, "positive; got 0"),
    "horizon not finite": ({"horizons": [np.inf]}, "finite"),
    "event names": ({"event_names": {2: "x"}}, r"event types 1..1.*got \{2: 'x'\}"),
    "features": ({"features": {"agee": "x"}}, r"\['agee'\]; it has \['age', 'dose'\]"),
    "units": ({"units": {"agee": "x"}}, r"units names columns.*\['agee'\]"),
    "data": ({"data": table()[["age"]]}, r"missing \['dose'\]"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_options_are_refused(options, message, model, tmp_path):
    with pytest.raises(InputError, match=message):
        write_calculator(model, tmp_path / "page.html", **options)
    assert not os.listdir(tmp_path)
