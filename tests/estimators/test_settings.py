"""What the options that are None come to, and what a fitted model shows of them."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.estimators import FleetSearchCV
from lifemix.estimators.settings import AUTOMATIC, automatic_settings, common_step, detect_rounding
from lifemix.target import as_target

pytestmark = pytest.mark.automatic


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, make_target(rng.weibull(1.3, n) * np.exp(X[:, 0]) + 0.01, rng.integers(0, 2, n))


def in_lists(settings):
    return settings | {"hidden": list(settings["hidden"])}


def test_small_tables_have_more_members_and_dropout_and_smaller_batches():
    by_rows = [automatic_settings(n) for n in (100, 2_000, 2_001, 20_000, 60_000, 10**6)]
    for name, sign in (("n_members", -1), ("dropout", -1), ("batch_size", 1), ("patience", -1)):
        values = [settings[name] for settings in by_rows]
        assert values == sorted(values, key=lambda value: sign * value), name
    assert (by_rows[0]["n_members"], by_rows[-1]["n_members"]) == (16, 1)
    for settings in by_rows:
        assert (settings["hidden"], settings["activation"]) == ((50, 50), "tanh")
    assert automatic_settings(100, hidden=(100,))["activation"] == "relu6"
    for hidden in ((), (100, 8)):
        assert automatic_settings(100, hidden=hidden)["dropout"] == 0


def test_chosen_settings_give_the_same_model_when_written_out(tmp_path):
    X, y = table()
    model = DeepSurvivalMachines(max_epochs=2).fit(X, y)
    assert model.settings_ == in_lists(automatic_settings(120))
    assert all(model.get_params()[name] is None for name in AUTOMATIC)
    assert len(model.best_epoch_) == 16
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert (again.settings_, again.hidden) == (model.settings_, None)
    written_out = DeepSurvivalMachines(max_epochs=2, **model.settings_).fit(X, y)
    for other in (again, written_out):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"hidden": (32,), "n_members": 2, "batch_size": 64},
            {"n_members": 2, "batch_size": 64, "learning_rate": 1e-3},
        ),
        ({"encoder": nn.Linear(3, 4)}, {"n_members": 1, "dropout": 0.0}),
    ],
)
def test_settings_of_the_user_are_used(options, expected):
    model = DeepSurvivalMachines(max_epochs=1, **options).fit(*table())
    assert expected.items() <= model.settings_.items()
    assert len(model.best_epoch_) == expected["n_members"]


def test_a_search_chooses_for_every_candidate():
    estimator = DeepSurvivalMachines(hidden=(32,), max_epochs=1)
    search = FleetSearchCV(estimator, {"dropout": [None, 0.0]}, cv=2).fit(*table())
    assert search.best_estimator_.settings_["n_members"] == 16


@pytest.mark.parametrize("make", [DeepSurvivalMachines.paper, DeepSurvivalMachines.tuned])
def test_named_settings_leave_nothing_to_the_table(make):
    assert all(getattr(make(), name) is not None for name in AUTOMATIC)


def test_no_row_is_too_far_away():
    X, y = table()
    model = DeepSurvivalMachines(max_epochs=3, n_members=2).fit(X, y)
    directions = np.vstack([np.eye(3), -np.eye(3)])
    rows = np.vstack([X[:1], *(far * directions for far in (1e3, 1e9, 1e25))])
    curves = model.predict_survival_function(rows, [0.1, 1.0, 5.0])
    assert np.isfinite(curves).all()
    assert (np.diff(curves, axis=1) <= 0).all()
    alone = model.predict_survival_function(X[:1], [0.1, 1.0, 5.0])
    np.testing.assert_allclose(curves[:1], alone, rtol=1e-5)
    assert np.isfinite(model.predict(rows)).all()


# Rounded times.


def rounded(n=2000, step=1.0):
    rng = np.random.default_rng(0)
    time = np.clip(np.round(4 * rng.weibull(1.4, n)), 1, 8)
    return time * step, rng.integers(0, 2, n)


@pytest.mark.parametrize("step", [1.0, 1 / 12, 365.25 / 7, 1e-9, 1e12])
def test_the_step_of_coarse_times_is_found_in_any_unit(step):
    assert detect_rounding(as_target(rounded(step=step))) == pytest.approx(step, rel=1e-9)


@pytest.mark.parametrize(
    ("times", "tolerance", "step"),
    [
        ([4.0, 6.0, 10.0], 0.1, 2),
        ([6.0, 10.0, 15.0], 0.1, 1),
        ([0.0, 3.0, 4.5], 0.1, 1.5),
        ([6.0, 10.0, 15.0], 1.5, 0),
        ([1.0, np.e, np.pi], 1e-2, 0),
    ],
)
def test_the_step_is_the_largest_that_divides_all_times(times, tolerance, step):
    assert common_step(np.array(times), tolerance) == step


def test_other_times_have_no_step():
    time, event = rounded()
    exact = time * np.random.default_rng(1).uniform(0.9, 1.1, len(time))
    fine = np.repeat(np.ceil(300 * exact), 9)
    causes = event * (1 + np.arange(len(time)) % 2)
    upper = np.where((event > 0) & (np.arange(len(time)) % 2 == 0), time + 1, np.nan)
    targets = [
        make_target(exact, event),
        make_target(np.ceil(100 * exact), event),
        make_target(fine, np.repeat(event, 9)),
        make_target(time, causes),
        make_target(time, event, upper=upper),
        make_target(np.full(len(time), 3.0), event),
    ]
    assert [detect_rounding(as_target(target)) for target in targets] == [0] * 6


# What a model shows.


def shown_settings(model):
    """Return the notes of ``repr``, by name of the setting."""
    first, *notes = repr(model).split("\n# ")
    assert "Chosen from the data" in model._repr_mimebundle_()["text/html"]
    assert first == repr(clone(model))
    return {name: note for note in notes for name in re.findall(r"(\w+)=", note)}


def test_a_fitted_model_shows_what_was_chosen_and_why():
    model = DeepSurvivalMachines(max_epochs=1)
    assert repr(model) == "DeepSurvivalMachines(max_epochs=1)"
    assert "Chosen from the data" not in model._repr_mimebundle_()["text/html"]
    notes = shown_settings(model.fit(*table(300)))
    assert set(notes) == set(AUTOMATIC)
    for name, note in notes.items():
        assert f"{name}={model.settings_[name]!r}" in note
    assert "for 300 training rows" in notes["n_members"]
    assert "not coarse" in notes["rounding"]
    assert "n_members=16, dropout=0.3" in model._repr_mimebundle_()["text/html"]


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
