"""The file of a calculator: what it holds, what is refused, and that it is written completely or not at all."""

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

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.integers(30, 90, 60), "dose": RNG.standard_normal(60) * 3})
TIME, EVENT = RNG.weibull(1.5, 60) * 30, RNG.integers(0, 3, 60)
Y = make_target(TIME, EVENT > 0)


def quick(**settings):
    return DeepSurvivalMachines(**({"hidden": (4,), "k": 2, "max_epochs": 1} | settings))


@pytest.fixture(scope="module")
def model():
    return quick().fit(X, Y)


@pytest.fixture(scope="module")
def competing():
    return quick().fit(X, make_target(TIME, EVENT))


@pytest.fixture
def content_of(tmp_path):
    """Return a function that writes a calculator and returns the JSON in it, and its fields by name."""

    def content(model, **options):
        text = write_calculator(model, tmp_path / "page.html", **options).read_text("utf-8")
        pattern = r'<script type="application/json" id="content">(.*?)</script>'
        data = json.loads(re.search(pattern, text, re.DOTALL)[1])
        return data, {field["name"]: field for field in data["fields"]}

    return content


def test_the_same_arguments_give_the_same_bytes_that_point_nowhere(model, tmp_path):
    options = {"title": "Ärzte & co", "time_unit": "days"}
    first = write_calculator(model, tmp_path / "a.html", **options)
    second = write_calculator(model, str(tmp_path / "new folder" / "b.html"), **options)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a.html", "new folder"]
    assert os.listdir(tmp_path / "new folder") == ["b.html"]
    text = first.read_text("utf-8")
    assert "<title>Ärzte &amp; co</title>" in text
    links = r"(?:src|href|action)\s*=|@import|url\(|fetch\(|XMLHttp|WebSocket|sendBeacon|import\("
    assert not re.findall(links, text)
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]  # a name
    assert text.count("<script") == text.count("</script") == 2


def test_a_failed_write_leaves_the_old_page(model, tmp_path, monkeypatch):
    path = write_calculator(model, tmp_path / "page.html")
    content = path.read_bytes()
    with pytest.raises(InputError, match="cannot be written"):
        write_calculator(model, path / "page.html")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="cannot be written: no space left"):
        write_calculator(model, path, title="another")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["page.html"]


def test_default_model_on_support_is_far_below_a_megabyte(content_of, tmp_path):
    data = datasets.load_support()
    rules = TabularPreprocessor(SUPPORT_NORMAL_VALUES)
    model = DeepSurvivalMachines(max_epochs=1, preprocessor=rules).fit(data.X, data.y)
    content, fields = content_of(model, features=data.features)
    assert (tmp_path / "page.html").stat().st_size < 150_000
    assert content["training"] == {"rows": 9105, "events": [6201]}
    low, middle, high = data.X["age"].quantile([0.01, 0.5, 0.99])
    expected = {"low": np.floor(low), "middle": np.round(middle), "high": np.ceil(high)}
    expected |= {"step": 1.0, "digits": 0, "typical": 65.0}
    assert fields["age"] | expected == fields["age"]
    expected = {"typical": None, "middle": 0.0, "low": 0.0, "high": 7.0}  # 62 % have no value
    assert fields["adlp"] | expected == fields["adlp"]
    assert fields["bili"]["fill"] == 1.01
    assert fields["sex"]["levels"] == ["female", "male"]
    assert fields["hday"]["description"] == "day in hospital at study entry"


def test_extreme_values_of_training_do_not_enter_the_page(content_of):
    rows = np.arange(600)
    table = pd.DataFrame({"age": 30 + rows % 60, "dose": np.linspace(0, 1, 600) ** 2})
    table.loc[0] = [107, 93.123456]
    _, fields = content_of(quick().fit(table, make_target(rows + 1.0, rows % 2)))
    assert fields["age"]["high"] == 89
    assert 0.9 < fields["dose"]["high"] < 1
    assert fields["dose"]["step"] == 0.01
    assert not re.search(r"107|93\.12", json.dumps(fields))


def test_arrays_get_numbered_names(content_of):
    _, fields = content_of(quick().fit(X.to_numpy(), Y), units={"feature 2": "mg"})
    assert list(fields) == ["feature 1", "feature 2"]


def test_data_gives_the_ranges_of_numbers(model, content_of):
    usual = content_of(model)[1]["age"]
    younger = content_of(model, data=X.assign(age=X["age"] - 20))[1]["age"]
    assert younger["low"] == usual["low"] - 20
    assert younger["mean"] == usual["mean"]
    with pytest.raises(CovariateError, match="values in column 'age'; got none"):
        content_of(model, data=X.assign(age=np.nan))


def test_without_a_preprocessor_the_ranges_come_from_data(content_of):
    model = quick(preprocessor=None).fit(X, Y)
    with pytest.raises(SettingError, match="which values its column 'age' has.*data=X"):
        content_of(model)
    age = content_of(model, data=X)[1]["age"]
    assert (age["unknown"], age["mean"], age["scale"]) == (False, 0.0, 1.0)
    assert age["typical"] == sorted(X["age"])[round(0.5 * 59)]


def test_horizons_are_sorted_and_by_default_those_of_every_page(model, content_of):
    assert content_of(model, horizons=[20, 5, 5.0])[0]["horizons"] == [5.0, 20.0]
    assert content_of(model)[0]["horizons"] == default_horizons(Y).tolist()


@pytest.mark.parametrize("names", [{1: "relapse", 2: "death"}, ["relapse", "death"], None])
def test_event_names_are_a_mapping_or_a_sequence(names, competing, content_of):
    expected = ["relapse", "death"] if names else ["event 1", "event 2"]
    assert content_of(competing, event_names=names)[0]["events"] == expected


def test_observed_incidences_are_aalen_johansen(competing, content_of):
    observed = content_of(competing)[0]["observed"]
    assert observed["end"] == TIME.max()
    assert [len(curve) for curve in observed["risks"]] == [401, 401]
    n_at_risk = (TIME[:, None] >= TIME).sum(0)
    early = (EVENT > 0) & (TIME <= TIME.max() / 2)
    kaplan_meier = np.prod(1 - 1 / n_at_risk[early])
    total = sum(curve[200] for curve in observed["risks"])
    assert 1 - total == pytest.approx(kaplan_meier, abs=1e-4)
    upper = np.where(EVENT > 0, TIME + 1, np.nan)
    intervals = quick().fit(X, make_target(TIME, EVENT > 0, upper=upper))
    assert content_of(intervals)[0]["observed"] is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": nn.Linear(2, 3)}, "encoder of your own; got Linear"),
        ({"activation": nn.functional.softplus}, "function of Python; got the activation softplus"),
        ({"primitive": ["weibull", "gamma"]}, "the primitive 'gamma'.*one of .*'weibull'"),
        ({"primitive": Exponential}, "cannot compute the primitive 'ownexponential'"),
        ({"preprocessor": StandardScaler()}, "cannot run a StandardScaler.*preprocessor='auto'"),
    ],
)
def test_models_that_a_browser_cannot_run_are_refused(settings, message, tmp_path):
    model = quick(**settings).fit(X, Y)
    with pytest.raises(SettingError, match=message):
        write_calculator(model, tmp_path / "page.html")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizons": [0, 1]}, "positive; got 0"),
        ({"horizons": [np.inf]}, "finite"),
        ({"event_names": {2: "x"}}, r"event types 1..1.*got \{2: 'x'\}"),
        ({"features": {"agee": "x"}}, r"\['agee'\]; it has \['age', 'dose'\]"),
        ({"units": {"agee": "x"}}, r"units names columns.*\['agee'\]"),
        ({"data": X[["age"]]}, r"missing \['dose'\]"),
    ],
)
def test_wrong_options_are_refused(options, message, model, tmp_path):
    with pytest.raises(InputError, match=message):
        write_calculator(model, tmp_path / "page.html", **options)
    assert not os.listdir(tmp_path)


def test_models_that_are_not_fitted_are_refused(tmp_path):
    for model, message in (
        (quick(), "needs a fitted model.*Call fit first"),
        (FleetSearchCV(quick(), {"k": [1]}), "got FleetSearchCV. Fit one for it"),
    ):
        with pytest.raises(SettingError, match=message):
            write_calculator(model, tmp_path / "page.html")
