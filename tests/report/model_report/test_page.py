"""The page: every section, for every kind of model, with nothing of the user's text taken as HTML."""

import re
import sys

import numpy as np
import pytest

from lifemix import save
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import InputError, MissingExtraError, ModelFileError, SettingError
from lifemix.report.model_report import page, write_report
from lifemix.splits import default_horizons

pytest.importorskip("matplotlib", reason="the report draws with matplotlib")
TITLES = [
    "Summary",
    "The model and its use",
    "Data",
    "Doctor",
    "Settings",
    "Training",
    "Quality on the evaluated rows",
    "Calibration",
    "Accuracy over time",
    "Risk groups",
    "Typical subjects",
    "Importance of the covariates",
    "Components",
    "Limits",
    "Checklist",
    "How to reproduce",
]


def written(path, *arguments, **options):
    return write_report(
        *arguments, path / "report.html", **({"n_bootstrap": 5} | options)
    ).read_text()


def titles(page):
    return re.findall(r"<h2>([^<]*)</h2>", page)[1:]  # the first is that of the contents


def test_the_page_has_every_section(single_page, competing_page):
    assert titles(single_page) == TITLES
    assert titles(competing_page) == TITLES


def test_text_of_the_user_is_text(single_page):
    assert "A &lt;b&gt;title&lt;/b&gt;" in single_page
    assert "<b>" not in single_page


def test_units_and_names_are_used(single_page, competing_page):
    assert " years</th>" in single_page
    assert "cumulative incidence of relapse" in competing_page
    assert "Quality of the predicted risk of death at the horizons" in competing_page
    assert "A model of the time to relapse and death" in competing_page
    assert not re.search(r"\bevent [12]\b", competing_page, re.IGNORECASE)


def test_horizons_are_the_default_ones_of_the_training_data(single, single_page):
    shown = [f"by {time:.4g} years" for time in default_horizons(single[0].training_target_)]
    assert re.findall(r"<th scope=\"col\">(by [^<]*)</th>", single_page) == shown


def test_pictures_have_alternative_texts(single_page):
    images = re.findall(r"<img ([^>]*)>", single_page)
    assert len(images) >= 10
    assert all('alt="' in image and 'src="data:image/svg+xml' in image for image in images)


def test_the_same_rows_give_the_same_page(single, tmp_path):
    model, X, (times, event) = single
    rows = X[["age"]][:100], (times[:100], event[:100])
    model = CoxPH().fit(*rows)
    assert written(tmp_path, model, *rows) == written(tmp_path, model, *rows)


def test_without_matplotlib_it_is_refused_before_anything_is_measured(
    single, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(
        page, "gather", lambda *arguments, **options: pytest.fail("it began to measure")
    )
    with pytest.raises(MissingExtraError, match=r"pip install 'lifemix\[plots\]'"):
        written(tmp_path, *single)


def test_no_row_of_the_table_is_printed(single, single_page):
    _, X, (times, _) = single
    inner = np.sort(X["age"])[5:-5]
    assert not any(repr(float(value)) in single_page for value in [*inner, *np.sort(times)[:-1]])


@pytest.mark.parametrize(("kind", "which"), [(CoxPH, "single"), (FineGray, "competing")])
def test_other_models_have_a_report_too(kind, which, request, tmp_path):
    _, X, y = request.getfixturevalue(which)
    page = written(tmp_path, kind().fit(X, y), X, y)
    assert titles(page) == TITLES
    assert f"Left out: {kind.__name__} is not a mixture of components." in page
    assert f"Left out: {kind.__name__} has no training history." in page
    assert "settings and weights (SHA-256)" not in page


def test_horizons_with_few_events_are_named(competing, competing_page, tmp_path):
    model, X, (times, event) = competing
    assert "says little" not in competing_page
    early = float(np.sort(times[event == 1])[2])
    page = written(tmp_path, model, X, (times, event), horizons=[early, float(np.median(times))])
    assert re.search(
        r"Only 3 events by [^<]* of event 1 in these rows: what is measured there says little", page
    )


def test_settings_by_the_number_of_rows_are_told(single_page):
    assert re.search(r"by the training rows: [^<]*batch_size = \d", single_page)
    assert "(100,)" not in single_page


def test_arrays_and_columns_with_odd_names(single, tmp_path):
    _, X, y = single
    numbers = X[["age"]].assign(**{"<script>alert(1)</script>": np.arange(len(X)) % 7})
    y = y[0][:100], y[1][:100]
    for table in (numbers[:100], numbers[:100].to_numpy()):
        page = written(tmp_path, CoxPH().fit(table, y), table, y)
        assert "<script>" not in page
    assert ">x1<" in page


def test_rows_that_cannot_be_measured_leave_quality_out(single, tmp_path):
    model, X, (times, event) = single
    page = written(tmp_path, model, X[:20], (times[:20], event[:20]))
    assert "Left out: of the 20 rows" in page
    assert "Calibration" not in titles(page)
    assert "How to reproduce" in titles(page)


def test_remarks_of_the_computations_are_on_the_page(single, tmp_path):
    model, X, y = single
    new = X.assign(arm=X["arm"].replace("a", "new"))[:100]
    page = written(tmp_path, model, new, (y[0][:100], y[1][:100]))
    assert "has levels that training did not have: &#x27;new&#x27;" in page


def test_the_file_of_the_model_is_named_with_its_hash(single, tmp_path):
    model, X, (times, event) = single
    X, y = X[:20], (times[:20], event[:20])
    save(model, tmp_path / "m.safetensors")
    page = written(tmp_path, model, X, y, model_file=tmp_path / "m.safetensors")
    assert re.search(r"m\.safetensors, SHA-256 [0-9a-f]{64}", page)
    assert str(tmp_path) not in page
    with pytest.raises(ModelFileError, match="cannot be read"):
        written(tmp_path, model, X, y, model_file=tmp_path / "none")


def test_bad_options_are_refused_before_any_work(single, tmp_path):
    model, X, y = single
    with pytest.raises(SettingError, match="n_bootstrap must be a whole number of at least 2"):
        written(tmp_path, model, X, y, n_bootstrap=1)
    with pytest.raises(SettingError, match="max_rows"):
        written(tmp_path, model, X, y, max_rows=5)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_says_so(single, tmp_path):
    model, X, y = single
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        written(tmp_path, model, X[:20], (y[0][:20], y[1][:20]))
