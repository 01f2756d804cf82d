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
@pytest.mark.parametrize("cells", [10, 1 << 16])
@pytest.mark.parametrize("rows", [0, 11, 700])
def test_leaves_are_those_of_scikit_learn(options, cells, rows, monkeypatch):
    monkeypatch.setattr(trees_module, "_CELLS", cells)
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
@pytest.mark.parametrize("leaves", [2, 16])
def test_probabilities_are_bit_for_bit_those_of_scikit_learn(classes, leaves):
    label = (np.abs(Y) * 3).astype(int) % classes
    booster = HistGradientBoostingClassifier(
        max_iter=12, max_leaf_nodes=leaves, min_samples_leaf=5, early_stopping=False, random_state=0
    ).fit(X, label, RNG.random(700))
    ours = BoostedClassifier.of(booster)
    assert ours.classes.tolist() == list(range(classes))
    new = RNG.integers(-5, 40, (501, 5)).astype(np.float64)
    for rows in (new, new[:1], X):
        np.testing.assert_array_equal(
            ours.predict_proba(rows, classes), booster.predict_proba(rows)
        )


def test_a_single_class_has_probability_one():
    booster = HistGradientBoostingClassifier(max_iter=2, early_stopping=False)
    ours = BoostedClassifier.of(booster.fit(X, np.ones(700, int)))
    np.testing.assert_array_equal(ours.predict_proba(X, 3), np.tile([0.0, 1.0, 0.0], (700, 1)))


def altered(array, index, value):
    array = array.copy()
    array[index] = value
    return array


TREES = joined(grown(max_depth=3))
MALFORMED = {
    "no tree": {"roots": TREES.roots[:0]},
    "no root at the start": {"roots": TREES.roots + 1},
    "two roots at one node": {"roots": np.repeat(TREES.roots, 2)},
    "root beyond the end": {"roots": altered(TREES.roots, -1, 10**6)},
    "negative root": {"roots": altered(TREES.roots, -1, -1)},
    "root inside a tree": {"roots": altered(TREES.roots, 1, TREES.roots[1] - 1)},
    "cycle": {"children": altered(TREES.children, 1, 0)},
    "node with two parents": {
        "children": altered(TREES.children, 0, np.repeat(TREES.children[0, 0], 2))
    },
    "cycle apart from the root": {  # 0 -> 3, and 1 -> 2 -> 1
        "children": altered(altered(TREES.children, (0, 0), 3), (2, 0), 1)
    },
    "child in another tree": {"children": altered(TREES.children, (0, 1), TREES.roots[1] + 1)},
    "child beyond the end": {"children": altered(TREES.children, (0, 1), 10**6)},
    "negative child": {"children": altered(TREES.children, (0, 1), -1)},
    "half a leaf": {"children": altered(TREES.children, (0, 0), 0)},
    "negative feature": {"feature": altered(TREES.feature, 0, -1)},
    "threshold is no number": {"threshold": altered(TREES.threshold, 0, np.nan)},
    "value is infinite": {"value": altered(TREES.value, 3, np.inf)},
    "children are no numbers of nodes": {"children": TREES.children.astype(np.uint8)},
    "values missing": {"value": TREES.value[:-1]},
    "children in one column": {"children": TREES.children[:, 0]},
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_trees_are_refused(change):
    with pytest.raises(ValueError, match="the trees are malformed"):
        replace(TREES, **change)


def test_trees_that_read_more_columns_than_there_are_are_refused():
    TREES.check_columns(1 + TREES.feature.max())
    with pytest.raises(ValueError, match="the trees read more columns than there are"):
        TREES.check_columns(TREES.feature.max())
