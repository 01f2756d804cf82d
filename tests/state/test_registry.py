"""A class of one's own is saved and loaded once it is registered."""

from typing import ClassVar

import numpy as np
import pytest

from lifemix import load, make_target, save
from lifemix.baselines import CoxPH, ModelAverage
from lifemix.errors import ModelFileError
from lifemix.state import ByEvent, FloatValue, IntArray, ListOf, ObjectOf, TextValue, register_model, registered_models
from lifemix.state import registry as registry_module
from lifemix.survival_model import SurvivalModel
from lifemix.target import as_target

X = np.arange(12.0).reshape(6, 2)
Y = make_target([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 0, 1, 1, 0, 1])


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    monkeypatch.setattr(registry_module, "_MODELS", dict(registry_module._MODELS))


def make_class():
    class Exponential(SurvivalModel):
        """A model as a user would write it."""

        _state: ClassVar = {"rates_": ByEvent(FloatValue(least=0.0))}

        def __init__(self, unit=1.0):
            self.unit = unit

        def fit(self, X, y, sample_weight=None):
            target = as_target(y)
            self._learn_columns(X)
            self._learn_target(target)
            self.rates_ = {1: float((target.event > 0).sum() / target.time.sum() / self.unit)}
            return self

        def preprocess(self, X):
            return X

        def _survival(self, x, times):
            return np.tile(np.exp(-self.rates_[1] * self.unit * times), (len(x), 1))

        def _risk(self, x):
            return np.zeros(len(x))

    return Exponential


def test_a_registered_class_is_saved_and_loaded(tmp_path):
    own = register_model(make_class())
    assert own in registered_models()
    model = own(unit=2.0).fit(X, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is own
    assert (again.unit, again.rates_) == (2.0, model.rates_)
    np.testing.assert_array_equal(
        again.predict_survival_function(X, [1.0, 2.0]), model.predict_survival_function(X, [1.0, 2.0])
    )


def test_a_registered_class_goes_into_a_wrapper_of_ours(tmp_path):
    own = register_model(make_class())
    model = ModelAverage([own(), CoxPH(preprocessor=None, penalty=1.0)]).fit(X, Y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_a_class_that_is_not_known_when_loading_is_named(tmp_path):
    save(register_model(make_class())().fit(X, Y), tmp_path / "model")
    del registry_module._MODELS["Exponential"]
    with pytest.raises(ModelFileError, match="no model called 'Exponential' is known. Import the module"):
        load(tmp_path / "model")


def test_a_class_that_is_not_registered_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="got Exponential. Pickle it"):
        save(make_class()().fit(X, Y), tmp_path / "model")


def test_another_class_of_the_same_name_is_refused():
    class CoxPH(SurvivalModel):
        _state: ClassVar = {}

    with pytest.raises(ModelFileError, match="a model called CoxPH is registered already.*Rename it"):
        register_model(CoxPH)


def test_a_class_that_a_notebook_defines_again_takes_the_place_of_the_old():
    register_model(make_class())
    again = register_model(make_class())
    assert registry_module._MODELS["Exponential"] is again


def test_an_attribute_that_was_declared_and_never_set_says_so(tmp_path):
    own = register_model(make_class())
    model = own().fit(X, Y)
    del model.rates_
    with pytest.raises(ModelFileError, match="Exponential declares rates_ in _state, but has no such attribute"):
        save(model, tmp_path / "model")


def test_objects_lists_and_texts_come_back(tmp_path):
    own = make_class()
    own._state = {
        **own._state,
        "names_": ListOf(TextValue()),
        "complex_": ObjectOf(complex, real=FloatValue(), imag=FloatValue()),
        "counts_": IntArray(None, 2),
    }
    model = register_model(own)().fit(X, Y)
    model.names_, model.complex_, model.counts_ = ["a", "b"], 1 + 2j, np.array([[1, 2**40]])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.names_, again.complex_, again.counts_.tolist()) == (["a", "b"], 1 + 2j, [[1, 2**40]])
