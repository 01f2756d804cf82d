"""Classes of the user in model files."""

import numpy as np
import pytest

from helpers.small_models import numbers
from lifemix import baselines, load, registry, save
from lifemix.errors import ModelFileError
from lifemix.registry import register_model
from lifemix.survival_model import SurvivalModel
from lifemix.target import as_target


@pytest.fixture
def exponential(monkeypatch):
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))

    class Exponential(SurvivalModel):
        """A model as a user would write it."""

        _saved = ("_secret",)

        def __init__(self, unit=1.0):
            self.unit = unit

        def fit(self, X, y, sample_weight=None):
            target = as_target(y)
            self._learn_columns(X)
            self._learn_target(target)
            self.rates_ = {1: float((target.event > 0).sum() / target.time.sum() / self.unit)}
            self._secret, self._cache = "saved", object()
            return self

        def preprocess(self, X):
            return X

        def _survival(self, x, times):
            return np.tile(np.exp(-self.rates_[1] * self.unit * times), (len(x), 1))

        def _risk(self, x):
            return np.zeros(len(x))

    return Exponential


def test_a_registered_class_is_saved_alone_and_inside_another_model(exponential, tmp_path):
    X, y = numbers()
    path = tmp_path / "model"
    assert register_model(exponential) is exponential
    model = exponential(unit=2.0).fit(X, y)
    save(model, path)
    again = load(path)
    assert type(again) is exponential
    assert (again.unit, again.rates_, again._secret) == (2.0, model.rates_, "saved")
    assert not hasattr(again, "_cache")
    cox = baselines.CoxPH(preprocessor=None, penalty=1.0)
    average = baselines.ModelAverage([exponential(), cox]).fit(X, y)
    save(average, path)
    np.testing.assert_array_equal(load(path).predict(X), average.predict(X))
    del registry._CLASSES["Exponential"]
    with pytest.raises(ModelFileError, match="no class called 'Exponential' is registered. Import"):
        load(path)


def test_another_class_of_the_same_name_is_refused(exponential):
    register_model(exponential)
    register_model(exponential)  # a notebook cell that runs again
    with pytest.raises(ModelFileError, match="a class called Exponential is registered.*Rename it"):
        register_model(type("Exponential", (SurvivalModel,), {}))
