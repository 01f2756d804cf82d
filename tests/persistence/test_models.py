"""Every model of ours: one file, the same predictions bit for bit, a model like any other after loading."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, load, save
from lifemix.errors import ModelFileError
from lifemix.state import registered_models
from lifemix.target import Target
from lifemix.target_summary import TargetSummary
from saved_models import DSM, MODELS, data, fitted, parts, predictions

over_models = pytest.mark.parametrize("name", MODELS)


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(other[name], one[name], err_msg=name)


def assert_same_rows(one, other):
    """Compare the rows of training, of which a file has counts."""
    if isinstance(one, Target):
        assert len(one) == len(other)
        np.testing.assert_array_equal(np.bincount(one.event), np.bincount(other.event))
        assert one.time.max() == other.time.max()
        return
    assert other.last_event_time == one.last_event_time
    np.testing.assert_array_equal(one.quartiles, other.quartiles)
    for name in ("left", "right", "counts", "last"):
        np.testing.assert_array_equal(getattr(one.times, name), getattr(other.times, name))


def assert_same_attributes(one, other):
    """Compare public fitted attributes, however nested."""
    if hasattr(one, "get_params"):
        asked_for = {"event_times_", "training_target_", "training_summary_"}
        names = {name for name in vars(one) if name.endswith("_")} | asked_for
        assert names == {name for name in vars(other) if name.endswith("_")} | asked_for
        if one.most_event_times == 0:  # predictions do not depend on them, and the file has the ends of cells
            names.remove("event_times_")
            assert other.event_times_[-1] == one.event_times_[-1]
        for name in names - {"network_", "preprocessor_"}:
            assert_same_attributes(getattr(one, name), getattr(other, name))
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same_attributes(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same_attributes(a, b)
    elif isinstance(one, (Target, TargetSummary)):
        assert_same_rows(one, other)
    else:
        assert type(one) is type(other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@over_models
def test_predictions_are_the_same_bit_for_bit(name, path):
    model = fitted(name)
    X, y = data(model.n_events_)
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    assert_same(predictions(model, X), predictions(again, X))
    assert again.score(X, y) == pytest.approx(model.score(X, y), abs=3e-3)  # by some ten cells of training times
    assert_same_attributes(model, again)
    assert os.listdir(path.parent) == [path.name]


@over_models
def test_a_loaded_model_is_saved_to_the_same_bytes(name, path, tmp_path):
    save(fitted(name), path)
    save(load(path), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@over_models
def test_a_loaded_model_can_be_cloned_and_fitted_again(name, path):
    model = fitted(name)
    X, y = data(model.n_events_)
    save(model, path)
    again = load(path)
    assert repr(clone(again)) == repr(clone(model))
    expected = predictions(model, X)
    assert_same(expected, predictions(clone(again).fit(X, y), X))
    assert_same(expected, predictions(again.fit(X, y), X))


@over_models
def test_a_loaded_model_owns_its_numbers(name, path):
    model = fitted(name)
    X, _ = data(model.n_events_)
    save(model, path)
    again = load(path)
    path.write_bytes(bytes(path.stat().st_size))
    path.unlink()
    assert_same(predictions(model, X), predictions(again, X))
    assert all(array.flags.writeable for array in vars(again).values() if isinstance(array, np.ndarray))


def test_every_model_of_ours_is_registered_and_has_a_case():
    models = {
        value
        for name in baselines.__all__
        if hasattr(value := getattr(baselines, name), "predict_survival_function") and isinstance(value, type)
    } | {DeepSurvivalMachines, LifeMix}
    assert models <= set(registered_models())
    assert {type(model) for model, _ in MODELS.values()} == models


def test_equal_arrays_are_in_the_file_once(path):
    model = fitted("CauseSpecific CoxPH")
    save(model, path)
    _, arrays = parts(path)
    assert [name for name in arrays if name.endswith("times.left")] == ["training_summary_.times.left"]
    assert "estimators_.2.coef_" in arrays


def test_a_loaded_forest_and_networks_need_no_optional_package(path, tmp_path):
    for name in ("RandomSurvivalForest", "DeepSurv", "DeepHit"):
        save(fitted(name), tmp_path / name)
    code = f"""
        import sys
        for name in ("sksurv", "pycox", "torchtuples", "lifelines"):
            sys.modules[name] = None
        import numpy as np
        from lifemix import load
        X = __import__("pandas").read_pickle(r"{tmp_path / "table"}")
        for name in ("RandomSurvivalForest", "DeepSurv", "DeepHit"):
            print(float(load(r"{tmp_path}/" + name).predict(X).sum()))
    """
    X, _ = data(1)
    X.to_pickle(tmp_path / "table")
    told = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    expected = [float(fitted(name).predict(X).sum()) for name in ("RandomSurvivalForest", "DeepSurv", "DeepHit")]
    assert [float(line) for line in told.stdout.split()] == expected


def test_a_model_without_a_network_is_loaded_without_torch(path):
    save(fitted("ModelAverage of averages"), path)
    code = f"""
        import sys
        from lifemix import load
        load(r"{path}")
        assert "torch" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_loading_leaves_the_random_numbers_alone(path):
    import torch

    for name in ("DeepSurv", "DeepHit", "DeepSurvivalMachines"):
        save(fitted(name), path)
        before = torch.random.get_rng_state(), np.random.get_state()[1]
        load(path)
        assert torch.equal(before[0], torch.random.get_rng_state())
        assert (before[1] == np.random.get_state()[1]).all()


# What cannot be written.


def test_a_model_that_is_not_fitted_is_refused(path):
    for model, _ in MODELS.values():
        with pytest.raises(ModelFileError, match="Call fit first"):
            save(clone(model), path)
    assert not path.exists()


class Foreign(baselines.CoxPH):
    """A subclass that nobody registered."""


UNWRITABLE = {
    "not registered": (lambda: Foreign(), 1, "got Foreign. Pickle it with joblib"),
    "not registered, inside": (
        lambda: baselines.CauseSpecific(Foreign()),
        2,
        "got Foreign. Pickle it with joblib",
    ),
    "transformer of the user's": (
        lambda: baselines.CoxPH(preprocessor=make_pipeline(StandardScaler())),
        1,
        "Pipeline cannot be written without pickle.*preprocessor=None",
    ),
}


@pytest.mark.parametrize(("make", "n_events", "message"), UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_what_cannot_be_written_says_what_to_do_instead(make, n_events, message, path):
    X, y = data(n_events)
    model = make().fit(X[["a", "b"]].fillna(0), y)
    with pytest.raises(ModelFileError, match=message):
        save(model, path)
    assert not path.exists()


@pytest.mark.parametrize("thing", [DeepSurvivalMachines, "model", None, 3, np.zeros(3)], ids=repr)
def test_what_is_no_model_is_refused(thing, path):
    with pytest.raises(ModelFileError, match="Pickle it with joblib instead"):
        save(thing, path)


def test_a_generator_has_moved_on_and_is_not_saved(path):
    X, y = data(1)
    model = clone(MODELS["DeepSurv"][0]).set_params(random_state=np.random.default_rng(3)).fit(X, y)
    save(model, path)
    again = load(path)
    assert again.random_state is None
    assert_same(predictions(model, X), predictions(again, X))


def test_a_model_that_could_not_be_loaded_again_is_not_written(path):
    model = pickle.loads(pickle.dumps(fitted("CoxPH")))
    model.coef_[0] = np.nan
    with pytest.raises(ModelFileError, match="could not be loaded again, so none was written: coef_ must be numbers"):
        save(model, path)
    model = pickle.loads(pickle.dumps(fitted("CoxPH")))
    model.log_likelihood_ = np.nan
    with pytest.raises(ModelFileError, match="could not be loaded again"):
        save(model, path)
    assert not path.exists()


def test_arrays_as_options_of_several_models_inside_stay_apart(path):
    X, y = data(1)
    pairs = [np.array([1.0, 3.0]), np.array([5.0, 2.0]), np.array([5.0, 2.0])]
    inner = [baselines.ModelAverage([baselines.KaplanMeier(), baselines.CoxPH()], weights=pair) for pair in pairs]
    model = baselines.ModelAverage(inner).fit(X, y)
    save(model, path)
    again = load(path)
    for one, pair in zip(again.estimators, pairs, strict=True):
        np.testing.assert_array_equal(one.weights, pair)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_equal_edges_of_bins_can_be_saved(path):
    _, y = data(1)
    step = np.finfo(np.float64).eps  # both means of neighbours are rounded to the number between
    x = np.resize([1 + step, 1 + 2 * step, 1 + 3 * step, 5.0], len(y))[:, None]
    model = baselines.GradientBoosting(preprocessor=None, max_iter=10, min_samples_leaf=5).fit(x, y)
    assert (np.diff(model._cuts[0]) == 0).any()
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(x), model.predict(x))


# Searches.


def test_of_a_search_the_best_model_is_saved(path):
    X, y = data(1)
    ours = FleetSearchCV(clone(DSM), {"k": [1, 2]}, cv=2).fit(X, y)
    theirs = GridSearchCV(baselines.CoxPH(), {"penalty": [0.1, 1.0]}, cv=2).fit(X, y)
    for search in (ours, theirs):
        save(search, path)
        again = load(path)
        assert type(again) is type(search.best_estimator_)
        assert_same(predictions(search.best_estimator_, X), predictions(again, X))


def test_a_search_without_a_refitted_model_is_refused(path):
    X, y = data(1)
    with pytest.raises(ModelFileError, match="without best_estimator_. Call fit first, with refit=True"):
        save(FleetSearchCV(clone(DSM), {"k": [1, 2]}, cv=2, refit=False).fit(X, y), path)
    with pytest.raises(ModelFileError, match="got a FleetSearchCV without best_estimator_. Call fit first"):
        save(FleetSearchCV(clone(DSM), {"k": [1, 2]}), path)
