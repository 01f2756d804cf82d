import sys

import numpy as np
import pytest
from sksurv.ensemble import RandomSurvivalForest as Original

from lifemix import make_target
from lifemix.baselines import RandomSurvivalForest
from lifemix.errors import MissingExtraError, SettingError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
TIME = np.ceil(RNG.exponential(np.exp(-X[:, 0])) * 20) / 20  # ties
EVENT = RNG.random(300) < 0.7
Y = make_target(TIME, EVENT)


@pytest.mark.parametrize("options", [{}, {"max_depth": 4}, {"min_samples_leaf": 1, "min_samples_split": 2}], ids=str)
def test_curves_are_exactly_those_of_scikit_survival(options):
    model = RandomSurvivalForest(n_trees=10, preprocessor=None, **options).fit(X, Y)
    seed = int(np.random.default_rng(0).integers(2**31))
    y = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("event", "?"), ("time", "f8")])
    original = Original(n_estimators=10, random_state=seed, **options).fit(X, y)
    expected = original.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(model.predict_survival_function(X, original.unique_times_), expected)
    between = (original.unique_times_[:-1] + original.unique_times_[1:]) / 2
    np.testing.assert_array_equal(model.predict_survival_function(X, between), expected[:, :-1])
    np.testing.assert_array_equal(model.predict(X), original.predict(X))


def test_the_papers_forest_has_depth_four():
    model = RandomSurvivalForest.paper(n_trees=10, preprocessor=None).fit(X, Y)
    assert model.max_depth == 4
    assert max(tree.tree_.max_depth for tree in model._forest.estimators_) == 4
    deeper = RandomSurvivalForest(n_trees=10, preprocessor=None).fit(X, Y)
    assert max(tree.tree_.max_depth for tree in deeper._forest.estimators_) > 4


def test_the_curves_take_little_memory():
    model = RandomSurvivalForest(n_trees=10, preprocessor=None).fit(X, Y)
    steps = sum(len(tree.keys) for tree in model._trees)
    assert steps < 10 * 2 * len(X)  # scikit-survival keeps leaves * event times, many times more


def test_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksurv.ensemble", None)
    with pytest.raises(MissingExtraError, match=r"RandomSurvivalForest needs scikit-survival.*lifemix\[baselines\]"):
        RandomSurvivalForest().fit(X, Y)


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="n_trees must be at least 1; got 0"):
        RandomSurvivalForest(n_trees=0).fit(X, Y)
