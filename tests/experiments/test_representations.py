import random

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import decomposition
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from experiments.representations import NNMF, KernelPCA
from experiments.vae import VAE
from lifemix.errors import CovariateError, SettingError

LEARNERS = {
    "KernelPCA": KernelPCA(n_components=4, max_rows=100),
    "NNMF": NNMF(n_components=3),
    "VAE": VAE(n_components=3, hidden=(16,), max_epochs=5),
}
over_learners = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.exponential(size=n), "c": rng.choice(["u", "v", "w"], n)}
    )
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    return X


@over_learners
def test_a_table_becomes_numbers_the_same_by_the_same_seed(learner):
    X = table()
    before = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())
    one, again = (clone(learner).fit(X).transform(X) for _ in range(2))
    assert one.shape == (150, learner.n_components)
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, again)
    assert before == (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
    )
    assert clone(learner).fit(X).transform(table(7, seed=1)).shape == (7, learner.n_components)


@over_learners
def test_bad_input_is_refused(learner):
    X = table()
    with pytest.raises(NotFittedError):
        clone(learner).transform(X)
    with pytest.raises(CovariateError):
        clone(learner).fit(X).transform(X[["a", "b"]])
    with pytest.raises(CovariateError, match="two dimensions"):
        clone(learner).fit(X["a"])
    with pytest.raises(SettingError, match="n_components must be at least 1; got 0"):
        clone(learner).set_params(n_components=0).fit(X)


def test_kernel_pca_is_that_of_scikit_learn_where_all_rows_are_used():
    x = np.random.default_rng(0).normal(size=(60, 3))
    expected = decomposition.KernelPCA(4, kernel="rbf").fit(x).transform(x)
    got = KernelPCA(n_components=4, preprocessor=None).fit(x).transform(x)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-8)


def test_kernel_pca_needs_as_many_rows_as_components():
    with pytest.raises(
        SettingError, match="n_components must be at most the rows that it learns from, 20; got 30"
    ):
        KernelPCA(n_components=30, max_rows=20).fit(table())


def test_nnmf_is_not_negative_also_beyond_the_training_range():
    learner = NNMF(n_components=2, preprocessor=None).fit(
        np.random.default_rng(0).normal(size=(80, 4))
    )
    far = np.vstack([np.full(4, -100.0), np.full(4, 100.0)])
    assert (learner.transform(far) >= 0).all()
    np.testing.assert_allclose(
        learner.transform(far)[0], 0, atol=1e-6
    )  # the smallest values count as 0


def test_vae_finds_the_plane_that_the_data_lie_on():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1000, 2))
    x = hidden @ rng.normal(size=(2, 8)) + 0.05 * rng.normal(size=(1000, 8))
    learner = VAE(n_components=2, hidden=(32,), max_epochs=40).fit(x)
    found = learner.transform(x)
    assert LinearRegression().fit(found, hidden).score(found, hidden) > 0.9
    assert min(learner.history_) < 0.8 * learner.history_[0]


def test_vae_needs_rows_in_both_parts():
    with pytest.raises(
        SettingError, match="validation_fraction must leave rows in both parts; got 0 of 150"
    ):
        VAE(validation_fraction=0.001).fit(table())
