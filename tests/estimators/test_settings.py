"""What the options that are None come to, by the rows of the table."""

import re

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import SettingError
from lifemix.estimators import FleetSearchCV
from lifemix.estimators.settings import AUTOMATIC, automatic_settings

pytestmark = pytest.mark.automatic


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, make_target(rng.weibull(1.3, n) * np.exp(X[:, 0]) + 0.01, rng.integers(0, 2, n))


def told(settings):
    return settings | {"hidden": list(settings["hidden"])}


def test_small_tables_have_more_members_and_dropout_and_smaller_batches():
    chosen = [automatic_settings(n) for n in (100, 2_000, 2_001, 20_000, 60_000, 10**6)]
    for name, sign in (("n_members", -1), ("dropout", -1), ("batch_size", 1), ("patience", -1)):
        values = [settings[name] for settings in chosen]
        assert values == sorted(values, key=lambda value: sign * value), name
    assert chosen[0]["n_members"] == 16
    assert chosen[-1]["n_members"] == 1
    assert all(
        settings["hidden"] == (50, 50) and settings["activation"] == "tanh" for settings in chosen
    )
    assert automatic_settings(100, hidden=(100,))["activation"] == "relu6"
    assert (
        automatic_settings(100, hidden=())["dropout"]
        == automatic_settings(100, hidden=(100, 8))["dropout"]
        == 0
    )


def test_the_settings_that_were_chosen_are_told_and_give_the_same_model():
    X, y = table()
    model = DeepSurvivalMachines(max_epochs=3).fit(X, y)
    assert model.settings_ == told(automatic_settings(120))
    assert all(model.get_params()[name] is None for name in AUTOMATIC)
    assert len(model.best_epoch_) == 16
    written_out = DeepSurvivalMachines(max_epochs=3, **model.settings_).fit(X, y)
    np.testing.assert_array_equal(written_out.predict(X), model.predict(X))


def test_a_setting_that_is_given_is_kept():
    X, y = table()
    model = DeepSurvivalMachines(hidden=(32,), max_epochs=1, n_members=2, batch_size=64).fit(X, y)
    given = {"n_members": 2, "batch_size": 64, "learning_rate": 1e-3}
    assert model.settings_ == told(automatic_settings(120, (32,)) | given)


def test_an_encoder_of_ones_own_has_one_member_and_no_dropout():
    X, y = table()
    model = DeepSurvivalMachines(encoder=nn.Linear(3, 4), max_epochs=1).fit(X, y)
    assert (model.settings_["n_members"], model.settings_["dropout"]) == (1, 0.0)
    assert len(model.best_epoch_) == 1


def test_settings_survive_a_file(tmp_path):
    X, y = table()
    model = DeepSurvivalMachines(max_epochs=1).fit(X, y)
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.settings_ == model.settings_
    assert again.hidden is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_search_resolves_every_candidate():
    X, y = table()
    search = FleetSearchCV(
        DeepSurvivalMachines(hidden=(32,), max_epochs=1), {"dropout": [None, 0.0]}, cv=2
    ).fit(X, y)
    assert search.best_estimator_.settings_["n_members"] == 16
    assert len(search.cv_results_["params"]) == 2


@pytest.mark.parametrize("make", [DeepSurvivalMachines.paper, DeepSurvivalMachines.tuned])
def test_named_settings_leave_nothing_to_the_table(make):
    assert all(getattr(make(), name) is not None for name in AUTOMATIC)


@pytest.mark.parametrize("optimizer", ["adamw", 3, torch.optim.Adam])
def test_other_optimizers_are_refused(optimizer):
    with pytest.raises(
        SettingError, match="optimizer must be one of 'adam', 'rmsprop', 'sgd'; got"
    ):
        DeepSurvivalMachines(optimizer=optimizer).fit([[0.0], [1.0]], None)


def test_what_is_neither_a_number_nor_none_is_refused():
    with pytest.raises(
        SettingError, match="n_members must be a whole number of at least 1 or None; got 0"
    ):
        DeepSurvivalMachines(n_members=0).fit(*table())


@pytest.mark.parametrize("far", [1e3, 1e9, 1e25])
def test_no_row_is_too_far_away(far):
    X, y = table()
    model = DeepSurvivalMachines(max_epochs=5, n_members=2).fit(X, y)
    rows = np.vstack([X[:1], far * np.eye(3), -far * np.eye(3)])
    curves = model.predict_survival_function(rows, [0.1, 1.0, 5.0])
    assert np.isfinite(curves).all()
    assert (np.diff(curves, axis=1) <= 0).all()
    np.testing.assert_allclose(
        curves[0], model.predict_survival_function(X[:1], [0.1, 1.0, 5.0])[0], rtol=1e-5
    )
    assert np.isfinite(model.predict(rows)).all()


def shown_settings(model):
    """Return the notes of ``repr``, by name of the setting."""
    first, *notes = repr(model).split("\n# ")
    assert "Chosen from the data" in model._repr_mimebundle_()["text/html"]
    assert first == repr(clone(model))
    return {name: note for note in notes for name in re.findall(r"(\w+)=", note)}


def test_a_fitted_model_shows_what_was_chosen_and_why():
    X, y = table(300)
    model = DeepSurvivalMachines(max_epochs=1)
    assert repr(model) == "DeepSurvivalMachines(max_epochs=1)"
    assert "Chosen from the data" not in model._repr_mimebundle_()["text/html"]
    notes = shown_settings(model.fit(X, y))
    assert set(notes) == set(AUTOMATIC)
    for name, note in notes.items():
        assert f"{name}={model.settings_[name]!r}" in note
    assert "for 300 training rows" in notes["n_members"]
    assert "not coarse" in notes["rounding"]
    html = model._repr_mimebundle_()["text/html"]
    assert "n_members=16, dropout=0.3" in html


def test_settings_of_the_user_are_not_shown_as_chosen(tmp_path):
    X, y = table(3000)
    y["time"] = np.clip(np.ceil(y["time"]), 1, 8)
    model = DeepSurvivalMachines(hidden=(8,), batch_size=500, max_epochs=1, n_members=2).fit(X, y)
    notes = shown_settings(model)
    assert set(notes) == {"activation", "dropout", "learning_rate", "patience", "rounding"}
    assert "the layers are narrow" in notes["dropout"]
    assert "with a batch size of your own" in notes["learning_rate"]
    assert "rounding=1.0: the step of the training times" in notes["rounding"]
    save(model, tmp_path / "model")
    assert repr(load(tmp_path / "model")) == repr(model)
    nested = repr(make_pipeline(StandardScaler(), model))
    assert "batch_size=500" in nested
    assert "# " not in nested


def test_long_displays_are_broken_into_lines():
    model = DeepSurvivalMachines(batch_size=20, hidden=(8,), learning_rate=0.001, max_epochs=1, k=3)
    lines = repr(model).splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith(" " * len("DeepSurvivalMachines("))
