"""Files that version 0.1.0 wrote still load, and the models in them predict what they predicted then.

The files and what they predict were made by the code of that version: see ``references/model_files/make.py``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from lifemix import load, make_target
from references.model_files.make import (
    COMMAND,
    describe,
    encoder,
    patients,
    predicted_by_command,
    read_rows,
    run,
    settings,
)
from saved_models import data, predictions

FOLDER = Path(__file__).parent / "references" / "model_files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
CASES = EXPECTED["cases"]
LATER_FOLDER = Path(__file__).parent / "references" / "model_files_0_2_0"
LATER = json.loads((LATER_FOLDER / "expected.json").read_text())


def assert_same(found, expected, where=""):
    """Compare numbers closely and everything else exactly, however nested."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for name, value in expected.items():
            assert_same(found[name], value, f"{where}/{name}")
    elif isinstance(expected, list) and expected and not isinstance(expected[0], (str, dict)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7, err_msg=where)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}/{number}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5), where
    else:
        assert found == expected, where


def loaded(name):
    return load(FOLDER / f"{name}.safetensors", encoder=encoder() if name == "own_encoder" else None)


def test_every_file_has_a_test():
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == {*CASES, Path(COMMAND).stem}
    assert EXPECTED["version"] == "0.1.0"


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_version_0_1_0_predicts_what_it_predicted(name):
    case = dict(CASES[name])
    X = read_rows(case.pop("rows"))
    y = {field: np.array(values, dtype=float) for field, values in case.pop("y").items()}
    found, times = describe(loaded(name), X, make_target(**y)), case.pop("event_times")
    kept = found.pop("event_times")
    assert_same(found, case)
    assert kept[-1] == times[-1]  # the file holds every time, of which cells of ten rows are counted
    assert kept == sorted(kept)
    assert times[0] <= kept[0]
    assert len(kept) <= len(times)


@pytest.mark.parametrize("name", LATER["cases"])
def test_a_file_of_version_0_2_0_predicts_what_it_predicted(name):
    expected = dict(LATER["cases"][name])
    model = load(LATER_FOLDER / f"{name}.safetensors".replace(" ", "_"))
    X, y = data(model.n_events_)
    assert model.score(X, y) == pytest.approx(expected.pop("score"), abs=3e-3)
    assert model.last_event_time_ == model.event_times_[-1] == expected.pop("last_event_time")
    assert len(model.training_target_) == expected.pop("rows")
    assert_same(predictions(model, X.iloc[:4]), expected)


@pytest.mark.parametrize("name", ["single_risk_table", "competing_members", "lognormal_piecewise"])
def test_a_model_of_version_0_1_0_can_be_fitted_again_with_its_settings(name):
    model = loaded(name)
    X = read_rows(CASES[name]["rows"])
    rows = np.arange(48) % len(X)
    y = make_target(1.0 + np.arange(48), np.arange(48) % (model.n_events_ + 1))
    again = model.fit(X.iloc[rows], y)
    assert settings(again) == CASES[name]["settings"]
    assert again.last_event_time_ == y["time"][y["event"] > 0].max()


def test_the_commands_read_a_file_that_the_command_line_of_version_0_1_0_wrote(tmp_path):
    expected = EXPECTED["command"]
    assert_same(predicted_by_command(FOLDER / COMMAND, read_rows(expected["rows"])), expected["predicted"])
    patients().to_csv(tmp_path / "patients.csv", index=False)
    measured = run("evaluate", FOLDER / COMMAND, tmp_path / "patients.csv", "--json").stdout
    assert json.loads(measured)["quality"][0]["rows"] == 70
