import pickle
import sys

import numpy as np
import pytest

from lifemix import make_target
from lifemix.baselines import MartingaleForest, RandomSurvivalForest
from lifemix.errors import MissingExtraError
from lifemix.target import as_target

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
TIME = np.ceil(RNG.exponential(np.exp(-X[:, 0])) * 20) / 20  # ties
EVENT = RNG.random(300) < 0.7
Y = make_target(TIME, EVENT)


def forest(**options):
    return RandomSurvivalForest(**{"n_trees": 10, "preprocessor": None, **options}).fit(X, Y)


@pytest.fixture(scope="module")
def model():
    return forest()


@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 1, "min_samples_split": 2}], ids=str)
def test_curves_are_exactly_those_of_scikit_survival(options):
    original_forest = pytest.importorskip("sksurv.ensemble").RandomSurvivalForest
    model = forest(max_depth=4, **options)
    seed = int(np.random.default_rng(0).integers(2**31))
    y = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("event", "?"), ("time", "f8")])
    original = original_forest(10, random_state=seed, max_depth=4, **options).fit(X, y)
    expected, times = (
        original.predict_survival_function(X, return_array=True),
        original.unique_times_,
    )
    np.testing.assert_array_equal(model.predict_survival_function(X, times), expected)
    between = (times[:-1] + times[1:]) / 2
    np.testing.assert_array_equal(model.predict_survival_function(X, between), expected[:, :-1])
    np.testing.assert_array_equal(model.predict(X), original.predict(X))


def test_the_forest_of_the_paper_has_depth_four(model):
    paper = RandomSurvivalForest.paper(n_trees=10, preprocessor=None).fit(X, Y)
    depths = []
    for trees in (paper._trees, model._trees):
        nodes, depth = trees.roots, 0
        while not trees.is_leaf[nodes].all():
            nodes, depth = np.unique(trees.children[nodes]), depth + 1
        depths.append(depth)
    assert paper.max_depth == depths[0] == 4 < depths[1]


def test_coarse_split_times_do_not_change_the_curves_of_the_leaves(model):
    coarse, fine = forest(split_times=5), forest(split_times=10_000)
    assert len(np.unique(coarse._times_of_splits(as_target(Y)))) <= 6  # 5 and after the last event
    assert len(np.unique(model._times_of_splits(as_target(Y)))) > 20
    np.testing.assert_array_equal(fine.predict(X), model.predict(X))
    # Without a split there is one leaf with the rows of the same bootstrap sample.
    stumps = [forest(n_trees=1, min_samples_split=10_000, split_times=n) for n in (None, 5)]
    first, second = (stump.predict_survival_function(X[:1], np.unique(TIME)) for stump in stumps)
    np.testing.assert_array_equal(first, second)


def test_the_curves_take_little_memory(model):
    # scikit-survival stores leaves * event times, many times more.
    assert len(model._steps) < 10 * 2 * len(X)


def test_fits_but_does_not_predict_with_scikit_survival(model, monkeypatch):
    content, expected = pickle.dumps(model), model.predict_survival_function(X, [0.5, 1.0])
    for name in [name for name in sys.modules if name.split(".")[0] == "sksurv"]:
        monkeypatch.setitem(sys.modules, name, None)
    again = pickle.loads(content)
    np.testing.assert_array_equal(again.predict_survival_function(X, [0.5, 1.0]), expected)
    monkeypatch.setitem(sys.modules, "sksurv.ensemble", None)
    message = r"RandomSurvivalForest needs scikit-survival.*lifemix\[baselines\]"
    with pytest.raises(MissingExtraError, match=message):
        RandomSurvivalForest().fit(X, Y)


@pytest.mark.parametrize("estimator", [RandomSurvivalForest, MartingaleForest])
def test_numbers_beyond_single_precision_go_where_large_numbers_go(estimator):
    model = estimator(n_trees=5, preprocessor=None).fit(X, Y)
    huge, large = (model.predict(np.full((1, 4), value)) for value in (1e300, 1e30))
    np.testing.assert_array_equal(huge, large)
