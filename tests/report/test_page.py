"""The page: every section, for every kind of model, with nothing of the user's text taken as HTML."""

import re
import sys

import numpy as np
import pandas as pd
import pytest

from lifemix import metrics, save
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import InputError, MissingExtraError, ModelFileError, SettingError
from lifemix.report import page, write_report
from lifemix.report.page import gather
from lifemix.splits import default_horizons

pytest.importorskip("matplotlib", reason="the report draws with matplotlib")
DESCRIPTION = "data checks model settings training limits provenance".split()
SECTIONS = (
    "result quality calibration accuracy subjects importance components".split() + DESCRIPTION
)
SECTION = r'<section id="(\w+)">'


def report_of(model, X, y, **options):
    settings = dict.fromkeys(["time_unit", "event_names", "horizons"])
    settings |= {"n_bootstrap": 5, "max_rows": 10_000, "random_state": 0}
    return gather(model, X, y, **(settings | options))


def write(folder, *arguments, **options):
    path = folder / "report.html"
    return write_report(*arguments, path, **({"n_bootstrap": 5} | options)).read_text()


@pytest.fixture
def small(single):
    """Return a Cox model, and rows that are too few for its quality to be measured."""
    _, X, (times, event) = single
    model = CoxPH().fit(X[["age"]], (times, event))
    return model, X[["age"]][:20], (times[:20], event[:20])


@pytest.mark.parametrize("name", ["single_file", "competing_file"])
def test_the_page_begins_with_the_result_and_has_every_section(name, request):
    text = request.getfixturevalue(name).read_text()
    assert re.findall(SECTION, text) == SECTIONS
    assert re.findall(r'<li><a href="#(\w+)">', text) == SECTIONS
    n_events = 1 + (name == "competing_file")
    result = text.split('<section id="quality">')[0]
    assert result.count("<img ") == 2 * n_events
    assert len(re.findall(r"<small>\[[\d.−]+, [\d.]+\]</small>", result)) == 3 * n_events
    images = re.findall(r"<img ([^>]*)>", text)
    assert len(images) >= 10
    assert all('alt="' in image and 'src="data:image/svg+xml' in image for image in images)


def test_texts_of_the_user_are_text_with_units_and_names(single_file, competing_file):
    single, competing = single_file.read_text(), competing_file.read_text()
    assert "A &lt;b&gt;title&lt;/b&gt;" in single
    assert "<b>" not in single
    assert " years</th>" in single
    assert "cumulative incidence of relapse" in competing
    assert "Quality of the predicted risk of death at the horizons" in competing
    assert "A model of the time to relapse and death" in competing
    assert not re.search(r"\bevent [12]\b", competing, re.IGNORECASE)
    assert re.search(r"batch_size</th>\n<td[^>]*>None<small[^>]*>from the training rows", single)


def test_no_row_of_the_table_is_printed(single, single_file):
    _, X, (times, _) = single
    text, values = single_file.read_text(), [*np.sort(X["age"])[5:-5], *np.sort(times)[:-1]]
    assert not any(repr(float(value)) in text for value in values)


def test_horizons_are_the_default_ones_of_the_training_data(single, single_file):
    times = default_horizons(single[0].training_target_)
    labels = re.findall(r'<th scope="col">(by [^<]*)</th>', single_file.read_text())
    assert labels == [f"by {time:.4g} years" for time in times]
    assert report_of(*single).horizons.tolist() == times.tolist()
    assert report_of(*single, horizons=[0.5, 99.0]).horizons.tolist() == [0.5]


@pytest.mark.parametrize(
    ("kind", "name", "as_input"),
    [
        (CoxPH, "single", pd.DataFrame),
        (CoxPH, "single", pd.DataFrame.to_numpy),
        (FineGray, "competing", pd.DataFrame),
    ],
)
def test_other_models_and_columns_of_any_name(kind, name, as_input, request, tmp_path):
    from matplotlib import pyplot as plt

    _, X, y = request.getfixturevalue(name)
    X = as_input(X[["age"]].assign(**{"<script>alert(1)</script>": np.arange(len(X)) % 7}))
    model = kind().fit(X, y)
    text = write(tmp_path, model, X, y)
    assert re.findall(SECTION, text) == SECTIONS
    assert f"Left out: {kind.__name__} is not a mixture of components." in text
    assert f"Left out: {kind.__name__} has no training history." in text
    assert "<script>" not in text
    assert ("&lt;script&gt;alert" in text) == (as_input is pd.DataFrame)
    if as_input is not pd.DataFrame:
        assert write(tmp_path, model, X, y) == text
    assert plt.get_fignums() == []


def test_too_few_rows_leave_quality_out(small, tmp_path):
    save(small[0], tmp_path / "m.safetensors")
    text = write(tmp_path, *small, model_file=tmp_path / "m.safetensors")
    assert "Quality is left out: of the 20 rows 20 have exact times" in text
    assert re.findall(SECTION, text) == ["result", *DESCRIPTION]
    assert re.search(r"m\.safetensors, SHA-256 [0-9a-f]{64}", text)
    assert str(tmp_path) not in text
    with pytest.raises(ModelFileError, match="cannot be read"):
        write(tmp_path, *small, model_file=tmp_path / "none")


def test_warnings_of_the_computations_are_on_the_page(single, tmp_path):
    model, X, (times, event) = single
    X = X.assign(arm=X["arm"].replace("a", "new"))[:60]
    text = write(tmp_path, model, X, (times[:60], event[:60]))
    assert "has levels that training did not have: &#39;new&#39;" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstrap": 1}, "n_bootstrap must be a whole number of at least 2"),
        ({"max_rows": 5}, "max_rows"),
        ({"event_names": ["a", "b"]}, "event_names must name each of the event types 1..1"),
        ({"event_names": "death"}, "event_names must name each of the event types 1..1"),
        ({"horizons": [1e6]}, "horizons must lie within the follow-up"),
    ],
)
def test_bad_options_are_refused(single, options, message, tmp_path):
    with pytest.raises(SettingError, match=message):
        write(tmp_path, *single, **options)
    assert list(tmp_path.iterdir()) == []


def test_bad_rows_are_refused(single):
    model, X, (times, event) = single
    for rows, codes, message in (
        (X[:5], event, "same rows; got 5 in X and 120 in y"),
        (X, event * 2, "y has event code 2; the model has event types 1..1 only"),
    ):
        with pytest.raises(InputError, match=message):
            report_of(model, rows, (times, codes))


def test_rows_that_measures_cannot_use_are_described_only(single):
    model, X, (times, event) = single
    entry = np.where(np.arange(len(X)) < 50, times / 2, 0.0)
    y = pd.DataFrame({"time": times, "event": event, "entry": entry})
    report = report_of(model, X, y)
    assert (len(report.target), len(report.y), len(report.X)) == (120, 70, 70)
    assert report_of(model, X, y, max_rows=60).risks.shape[1] == 60


def test_risks_are_those_of_the_model(competing):
    model, X, y = competing
    report = report_of(model, X, y)
    for times, risks in ((report.horizons, report.risks), (report.grid, report.curves)):
        np.testing.assert_allclose(risks, metrics.predicted_risks(model, X, times, 2), atol=1e-5)


def test_pages_that_cannot_be_drawn_or_written_are_refused(small, tmp_path, monkeypatch):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path, *small)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(page, "gather", lambda *arguments, **options: pytest.fail("measured"))
    with pytest.raises(MissingExtraError, match=r"pip install 'lifemix\[plots\]'"):
        write(tmp_path, *small)
