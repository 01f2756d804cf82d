import numpy as np
import pandas as pd
import pytest

from lifemix import make_target
from lifemix.errors import InputError, SettingError
from lifemix.metrics import brier_score, permutation_importance

RNG = np.random.default_rng(2)
N = 400
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["noise", "strong", "weak"])
RATE = np.exp(1.5 * X["strong"] + 0.4 * X["weak"]).to_numpy()
EVENT_TIME, CENSORED_AT = RNG.exponential(1 / RATE), RNG.uniform(0.5, 6, N)
Y = make_target(np.minimum(EVENT_TIME, CENSORED_AT), EVENT_TIME <= CENSORED_AT)
TIMES = np.array([0.3, 0.8, 1.5])


def predict(table):
    values = np.asarray(table, dtype=float)
    return np.exp(-np.outer(np.exp(1.5 * values[:, 1] + 0.4 * values[:, 2]), TIMES))


def importance(table=X, function=predict, **options):
    return permutation_importance(function, table, Y, Y, TIMES, **{"random_state": 0, **options})


def test_covariates_of_the_true_model_are_important_and_others_exactly_zero():
    result = importance(n_repeats=4)
    assert result.features == ("noise", "strong", "weak")
    assert result.replicates.shape == (4, 3, 3)
    np.testing.assert_array_equal(result.mean[0], 0)
    assert (result.mean[1] > 3 * result.mean[2]).all()
    assert (result.mean[2] > 0).all()
    np.testing.assert_allclose(result.score, brier_score(Y, Y, predict(X), TIMES))
    np.testing.assert_allclose(result.mean, result.replicates.mean(axis=0))
    np.testing.assert_allclose(result.std, result.replicates.std(axis=0))


def test_frames_and_arrays_give_the_same_result_for_the_same_seed():
    frame, array = (importance(table, n_repeats=2) for table in (X, X.to_numpy()))
    np.testing.assert_array_equal(frame.replicates, array.replicates)
    assert array.features == ("x0", "x1", "x2")


def test_shuffling_keeps_values_types_and_the_original_table():
    table = X.assign(label=pd.Categorical(["a", "b"] * (N // 2))).set_index(np.arange(N) * 7)
    copy, tables = table.copy(), []

    def record(table):
        tables.append(table)
        return predict(table.iloc[:, :3])

    result = importance(table, record, features=["label", ("strong", "weak")], n_repeats=1)
    assert result.features == ("label", "strong + weak")
    pd.testing.assert_frame_equal(table, copy)
    unshuffled, labels, pairs = tables
    pd.testing.assert_frame_equal(unshuffled, copy)
    assert labels["label"].dtype == copy["label"].dtype
    assert sorted(labels["label"]) == sorted(copy["label"])
    assert not labels["label"].equals(copy["label"])
    pd.testing.assert_frame_equal(labels.drop(columns="label"), copy.drop(columns="label"))
    rows = [set(zip(t["strong"], t["weak"], strict=True)) for t in (pairs, copy)]
    assert rows[0] == rows[1]  # shuffled together
    assert not np.array_equal(pairs["strong"], copy["strong"])


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (X, {"features": ["age"]}, InputError, r"features must be columns of X; got \['age'\]"),
        (X[:10], {}, InputError, "the rows of y_test, 400; got 10"),
        (X["weak"].to_numpy(), {}, InputError, "two dimensions"),
        (X, {"n_repeats": 0}, SettingError, "n_repeats must be a whole number of at least 1"),
    ],
)
def test_unsuitable_arguments_are_refused(table, options, error, message):
    with pytest.raises(error, match=message):
        importance(table, **options)
