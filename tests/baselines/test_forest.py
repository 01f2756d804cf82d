import pickle
import sys

import numpy as np
import pytest
from sksurv.ensemble import RandomSurvivalForest as Original

from lifemix import make_target
from lifemix.baselines import RandomSurvivalForest
from lifemix.errors import MissingExtraError, SettingError
from lifemix.target import as_target

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
TIME = np.ceil(RNG.exponential(np.exp(-X[:, 0])) * 20) / 20  # ties
EVENT = RNG.random(300) < 0.7
Y = make_target(TIME, EVENT)


@pytest.mark.parametrize(
    "options", [{}, {"max_depth": 4}, {"min_samples_leaf": 1, "min_samples_split": 2}], ids=str
)
def test_curves_are_exactly_those_of_scikit_survival(options):
    model = RandomSurvivalForest(n_trees=10, preprocessor=None, **options).fit(X, Y)
    seed = int(np.random.default_rng(0).integers(2**31))
    y = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("event", "?"), ("time", "f8")])
    original = Original(n_estimators=10, random_state=seed, **options).fit(X, y)
    expected = original.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(
        model.predict_survival_function(X, original.unique_times_), expected
    )
    between = (original.unique_times_[:-1] + original.unique_times_[1:]) / 2
    np.testing.assert_array_equal(model.predict_survival_function(X, between), expected[:, :-1])
    np.testing.assert_array_equal(model.predict(X), original.predict(X))


def depth(trees):
    """Return the most splits between a root and a leaf."""
    nodes, count = trees.roots, 0
    while not trees.is_leaf[nodes].all():
        nodes, count = np.unique(trees.children[nodes]), count + 1
    return count


def test_the_papers_forest_has_depth_four():
    model = RandomSurvivalForest.paper(n_trees=10, preprocessor=None).fit(X, Y)
    assert model.max_depth == 4
    assert depth(model._trees) == 4
    deeper = RandomSurvivalForest(n_trees=10, preprocessor=None).fit(X, Y)
    assert depth(deeper._trees) > 4


def test_coarse_times_of_the_splits_leave_the_curves_of_the_leaves_alone():
    coarse = RandomSurvivalForest(n_trees=10, split_times=5, preprocessor=None).fit(X, Y)
    fine = RandomSurvivalForest(n_trees=10, preprocessor=None).fit(X, Y)
    seen = [len(np.unique(model._times_of_splits(as_target(Y)))) for model in (coarse, fine)]
    assert seen[0] <= 6  # five intervals and what comes after the last event
    assert seen[1] > 20
    stump = [
        RandomSurvivalForest(1, min_samples_split=10_000, split_times=n, preprocessor=None).fit(
            X, Y
        )
        for n in (None, 5)
    ]  # no split: one leaf with the rows of the same bootstrap sample
    a, b = (model.predict_survival_function(X[:1], np.unique(TIME)) for model in stump)
    np.testing.assert_array_equal(a, b)


def test_as_many_times_of_the_splits_as_there_are_change_nothing():
    models = [
        RandomSurvivalForest(n_trees=5, split_times=n, preprocessor=None).fit(X, Y)
        for n in (None, 10_000)
    ]
    a, b = (model.predict_survival_function(X, [0.5, 1.0]) for model in models)
    np.testing.assert_array_equal(a, b)


def test_the_curves_take_little_memory():
    model = RandomSurvivalForest(n_trees=10, preprocessor=None).fit(X, Y)
    assert len(model._steps) < 10 * 2 * len(
        X
    )  # scikit-survival keeps leaves * event times, many times more


def test_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksurv.ensemble", None)
    with pytest.raises(
        MissingExtraError, match=r"RandomSurvivalForest needs scikit-survival.*lifemix\[baselines\]"
    ):
        RandomSurvivalForest().fit(X, Y)


def test_a_fitted_forest_predicts_without_scikit_survival(monkeypatch):
    model = RandomSurvivalForest(n_trees=5, preprocessor=None).fit(X, Y)
    expected = model.predict_survival_function(X, [0.5, 1.0]), model.predict(X)
    kept = pickle.dumps(model)
    for name in [name for name in sys.modules if name.split(".")[0] == "sksurv"]:
        monkeypatch.setitem(sys.modules, name, None)
    again = pickle.loads(kept)
    np.testing.assert_array_equal(again.predict_survival_function(X, [0.5, 1.0]), expected[0])
    np.testing.assert_array_equal(again.predict(X), expected[1])


def test_numbers_beyond_single_precision_go_where_large_numbers_go():
    model = RandomSurvivalForest(n_trees=5, preprocessor=None).fit(X, Y)
    np.testing.assert_array_equal(
        model.predict(np.full((1, 4), 1e300)), model.predict(np.full((1, 4), 1e30))
    )


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="n_trees must be a whole number of at least 1; got 0"):
        RandomSurvivalForest(n_trees=0).fit(X, Y)


def test_no_times_of_the_splits_are_refused():
    with pytest.raises(
        SettingError, match="split_times must be a whole number of at least 1 or None; got 0"
    ):
        RandomSurvivalForest(split_times=0).fit(X, Y)
