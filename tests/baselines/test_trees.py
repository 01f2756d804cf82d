"""Our walk through flat trees reaches the leaves that scikit-learn reaches; malformed trees are refused."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from lifemix.baselines import trees as trees_module
from lifemix.baselines.boosting import BoostedClassifier
from lifemix.baselines.trees import Trees

RNG = np.random.default_rng(0)
X = RNG.integers(0, 30, (700, 5)).astype(np.float64)
Y = X[:, 0] * np.sin(X[:, 1]) + RNG.normal(size=700)


def grown(**options):
    return [
        DecisionTreeRegressor(random_state=seed, max_features=2, **options).fit(X, Y)
        for seed in range(7)
    ]


def joined(trees):
    return Trees.of(tree.tree_ for tree in trees)


@pytest.mark.parametrize(
    "options", [{}, {"max_depth": 1}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 400}], ids=str
)
@pytest.mark.parametrize("at_once", [1, 10, 1 << 16])
@pytest.mark.parametrize("rows", [0, 1, 11, 700])
def test_leaves_are_those_of_scikit_learn(options, at_once, rows, monkeypatch):
    monkeypatch.setattr(trees_module, "_CELLS", at_once)
    trees = grown(**options)
    flat = joined(trees)
    leaves = flat.leaves(X[:rows].astype(np.float32))
    assert leaves.shape == (7, rows)
    if rows:
        expected = np.stack([tree.apply(X[:rows]) for tree in trees])
        np.testing.assert_array_equal(leaves - flat.roots[:, None], expected)
        np.testing.assert_array_equal(
            flat.value[leaves], [tree.predict(X[:rows]) for tree in trees]
        )


@pytest.mark.parametrize("classes", [2, 3, 11])
@pytest.mark.parametrize("leaves", [2, 16, 100])
def test_probabilities_are_bit_for_bit_those_of_scikit_learn(classes, leaves):
    label = (np.abs(Y) * 3).astype(int) % classes
    booster = HistGradientBoostingClassifier(
        max_iter=12, max_leaf_nodes=leaves, min_samples_leaf=5, early_stopping=False, random_state=0
    ).fit(X, label, RNG.random(700))
    ours = BoostedClassifier.of(booster)
    new = RNG.integers(-5, 40, (501, 5)).astype(np.float64)
    for rows in (new, new[:1], X):
        np.testing.assert_array_equal(
            ours.predict_proba(rows, classes), booster.predict_proba(rows)
        )


def test_one_class_has_probability_one():
    booster = HistGradientBoostingClassifier(max_iter=2, early_stopping=False).fit(
        X, np.ones(700, int)
    )
    ours = BoostedClassifier.of(booster)
    assert ours.classes.tolist() == [1]
    np.testing.assert_array_equal(ours.predict_proba(X, 3), np.tile([0.0, 1.0, 0.0], (700, 1)))


def altered(array, place, value):
    array = array.copy()
    array[place] = value
    return array


WHOLE = joined(grown(max_depth=3))
MALFORMED = {
    "no tree": {"roots": WHOLE.roots[:0]},
    "no root at the start": {"roots": WHOLE.roots + 1},
    "two roots at one node": {"roots": np.repeat(WHOLE.roots, 2)},
    "root beyond the end": {"roots": altered(WHOLE.roots, -1, 10**6)},
    "negative root": {"roots": altered(WHOLE.roots, -1, -1)},
    "root inside a tree": {"roots": altered(WHOLE.roots, 1, WHOLE.roots[1] - 1)},
    "cycle": {"children": altered(WHOLE.children, 1, 0)},
    "node with two parents": {
        "children": altered(WHOLE.children, 0, np.repeat(WHOLE.children[0, 0], 2))
    },
    "cycle apart from the root": {  # 0 -> 3, and 1 -> 2 -> 1
        "children": altered(altered(WHOLE.children, (0, 0), 3), (2, 0), 1)
    },
    "child in another tree": {"children": altered(WHOLE.children, (0, 1), WHOLE.roots[1] + 1)},
    "child beyond the end": {"children": altered(WHOLE.children, (0, 1), 10**6)},
    "negative child": {"children": altered(WHOLE.children, (0, 1), -1)},
    "half a leaf": {"children": altered(WHOLE.children, (0, 0), 0)},
    "negative feature": {"feature": altered(WHOLE.feature, 0, -1)},
    "threshold is no number": {"threshold": altered(WHOLE.threshold, 0, np.nan)},
    "value is infinite": {"value": altered(WHOLE.value, 3, np.inf)},
    "children are no numbers of nodes": {"children": WHOLE.children.astype(np.uint8)},
    "values missing": {"value": WHOLE.value[:-1]},
    "children in one column": {"children": WHOLE.children[:, 0]},
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_trees_are_refused(change):
    with pytest.raises(ValueError, match="the trees are malformed"):
        replace(WHOLE, **change)


def test_trees_that_read_more_columns_than_there_are_are_refused():
    WHOLE.check_columns(1 + WHOLE.feature.max())
    with pytest.raises(ValueError, match="the trees read more columns than there are"):
        WHOLE.check_columns(WHOLE.feature.max())
