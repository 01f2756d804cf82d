"""Permutation importance, computed and drawn."""

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target, plots
from lifemix.errors import InputError, SettingError
from lifemix.metrics import brier_score, permutation_importance

RNG = np.random.default_rng(2)
N = 400
X = pd.DataFrame(
    {"noise": RNG.normal(size=N), "strong": RNG.normal(size=N), "weak": RNG.normal(size=N)}
)
RATE = np.exp(1.5 * X["strong"] + 0.4 * X["weak"]).to_numpy()
EVENT_TIME, CENSORED_AT = RNG.exponential(1 / RATE), RNG.uniform(0.5, 6, N)
Y = make_target(np.minimum(EVENT_TIME, CENSORED_AT), EVENT_TIME <= CENSORED_AT)
TIMES = np.array([0.3, 0.8, 1.5])


def predict(table):
    values = np.asarray(table, dtype=float)
    return np.exp(-np.outer(np.exp(1.5 * values[:, 1] + 0.4 * values[:, 2]), TIMES))


def test_what_the_law_uses_is_important_and_what_it_does_not_use_is_exactly_zero():
    result = permutation_importance(predict, X, Y, Y, TIMES, n_repeats=4, random_state=0)
    assert result.features == ("noise", "strong", "weak")
    assert result.replicates.shape == (4, 3, 3)
    np.testing.assert_array_equal(result.mean[0], 0)
    assert (result.mean[1] > 3 * result.mean[2]).all()
    assert (result.mean[2] > 0).all()
    np.testing.assert_allclose(result.score, brier_score(Y, Y, predict(X), TIMES))
    np.testing.assert_allclose(result.mean, result.replicates.mean(axis=0))
    np.testing.assert_allclose(result.std, result.replicates.std(axis=0))


def test_frames_and_arrays_give_the_same_and_a_seed_gives_it_again():
    frame = permutation_importance(predict, X, Y, Y, TIMES, n_repeats=2, random_state=3)
    array = permutation_importance(predict, X.to_numpy(), Y, Y, TIMES, n_repeats=2, random_state=3)
    again = permutation_importance(predict, X, Y, Y, TIMES, n_repeats=2, random_state=3)
    np.testing.assert_array_equal(frame.replicates, array.replicates)
    np.testing.assert_array_equal(frame.replicates, again.replicates)
    assert array.features == ("x0", "x1", "x2")


def test_shuffling_keeps_the_values_the_types_and_the_table_given():
    seen, before = (
        [],
        X.assign(label=pd.Categorical(["a", "b"] * (N // 2))).set_index(np.arange(N) * 7),
    )
    copy = before.copy()

    def look(table):
        seen.append(table)
        return predict(table.iloc[:, :3])

    permutation_importance(
        look, before, Y, Y, TIMES, features=["label", ("strong", "weak")], n_repeats=1
    )
    pd.testing.assert_frame_equal(before, copy)
    unshuffled, labels, both = seen
    pd.testing.assert_frame_equal(unshuffled, copy)
    assert labels["label"].dtype == copy["label"].dtype
    assert sorted(labels["label"]) == sorted(copy["label"])
    assert not labels["label"].equals(copy["label"])
    pd.testing.assert_frame_equal(labels.drop(columns="label"), copy.drop(columns="label"))
    pairs = set(zip(copy["strong"], copy["weak"], strict=True))
    assert set(zip(both["strong"], both["weak"], strict=True)) == pairs  # shuffled together
    assert not np.array_equal(both["strong"], copy["strong"])


def test_names_of_groups_and_bad_input():
    both = permutation_importance(
        predict, X, Y, Y, TIMES, features=[("strong", "weak")], n_repeats=1
    )
    assert both.features == ("strong + weak",)
    with pytest.raises(InputError, match=r"features must be columns of X; got \['age'\]"):
        permutation_importance(predict, X, Y, Y, TIMES, features=["age"])
    with pytest.raises(InputError, match="the rows of y_test, 400; got 10"):
        permutation_importance(predict, X[:10], Y, Y, TIMES)
    with pytest.raises(InputError, match="two dimensions"):
        permutation_importance(predict, X["weak"].to_numpy(), Y, Y, TIMES)
    with pytest.raises(SettingError, match="n_repeats must be a whole number of at least 1"):
        permutation_importance(predict, X, Y, Y, TIMES, n_repeats=0)


def test_lines_are_the_most_important_features_in_order():
    importance = np.array([[0.0, 0.0], [0.2, 0.3], [0.1, 0.1]])
    axes = plots.importance_over_time(
        [1, 2], importance, importance / 10, features=["a", "b", "c"], show=2
    )
    first, second, zero = axes.lines
    assert (first.get_label(), second.get_label()) == ("b", "c")
    np.testing.assert_array_equal(first.get_ydata(), [0.2, 0.3])
    assert set(zero.get_ydata()) == {0}
    assert len(axes.collections) == 2
