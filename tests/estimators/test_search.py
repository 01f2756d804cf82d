"""``FleetSearchCV``: the scores of scikit-learn's search, with models that train together."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target
from lifemix.errors import LifemixWarning, SettingError
from lifemix.estimators import search as search_module
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold

BASE = DeepSurvivalMachines(
    hidden=(6,), k=2, max_epochs=3, batch_size=64, learning_rate=1e-2, n_members=1, dropout=0.0
)  # in other processes too
GRID = {"learning_rate": [1e-2, 1e-3], "dropout": [0.0, 0.3], "hidden": [(6,), (5, 4)]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 3)), columns=["a", "b", "c"])
    X["kind"] = rng.choice(["u", "v"], 240)
    X.loc[::17, "b"] = np.nan
    time = rng.weibull(1.5, 240) * np.exp(0.8 * X["a"]) + 0.01
    return X, make_target(time, rng.integers(0, 2, 240))


@pytest.fixture(scope="module")
def searched(data):
    return FleetSearchCV(BASE, GRID, cv=EventStratifiedKFold(3)).fit(*data)


def test_scores_equal_those_of_grid_search(data, searched):
    reference = GridSearchCV(BASE, GRID, cv=EventStratifiedKFold(3)).fit(*data)
    assert set(reference.cv_results_) == set(searched.cv_results_)
    assert searched.cv_results_["params"] == reference.cv_results_["params"]
    for name in ("split0_test_score", "split2_test_score", "mean_test_score", "std_test_score"):
        scores = searched.cv_results_[name]
        np.testing.assert_allclose(scores, reference.cv_results_[name], atol=5e-3)
    assert searched.n_splits_ == 3


def test_the_best_candidate_is_fitted_to_all_rows(data, searched):
    X, y = data
    best = clone(BASE).set_params(**searched.best_params_).fit(X, y)
    np.testing.assert_array_equal(
        searched.predict_survival_function(X, [0.5, 1.0]),
        best.predict_survival_function(X, [0.5, 1.0]),
    )
    assert searched.score(X, y) == best.score(X, y)
    assert searched.best_score_ == searched.cv_results_["mean_test_score"].max()
    assert searched.transform(X).shape == (240, searched.best_params_["hidden"][-1])


def test_models_of_one_shape_train_together(data, monkeypatch):
    sizes = []
    fit_fleet = search_module.fit_fleet

    def record_size(fleet):
        sizes.append(len(fleet))
        return fit_fleet(fleet)

    monkeypatch.setattr(search_module, "fit_fleet", record_size)
    FleetSearchCV(BASE, GRID, cv=3, refit=False, max_fleet=10).fit(*data)
    assert sum(sizes) == 8 * 3
    assert max(sizes) <= 10
    assert len(sizes) < 8


KINDS_OF_CANDIDATES = [
    {"primitive": ["weibull", "lognormal"]},
    {"preprocessor": [None, TabularPreprocessor(numbers="piecewise", bins=4)]},
    {"random_state": [1, 2]},
    {"validation_fraction": [0.0, 0.3]},
    {"objective": ["elbo"], "discount": [0.5]},
    {"dropout": [0.3], "weight_decay": [0.5]},
    {"n_members": [3]},
]


def test_every_candidate_scores_as_if_fitted_alone(data):
    X, y = data[0][["a", "c"]].to_numpy(), data[1]
    weight = np.random.default_rng(5).uniform(0.1, 4.0, len(y))
    base = clone(BASE).set_params(learning_rate=0.02)
    search = FleetSearchCV(base, KINDS_OF_CANDIDATES, cv=2, scoring="log_likelihood")
    search.fit(X, y, weight)
    scores = np.array([search.cv_results_[f"split{fold}_test_score"] for fold in range(2)])
    assert len({round(score, 4) for score in scores[0]}) == scores.shape[1]
    for fold, (train, test) in enumerate(EventStratifiedKFold(2).split(X, y)):
        for number, candidate in enumerate(search.cv_results_["params"]):
            alone = clone(base).set_params(**candidate).fit(X[train], y[train], weight[train])
            expected = alone.log_likelihood(X[test], y[test]) / len(test)
            assert scores[fold, number] == pytest.approx(expected, abs=2e-4), candidate
    best = clone(base).set_params(**search.best_params_).fit(X, y, weight)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_a_random_search_draws_from_distributions_by_seed(data):
    space = {"learning_rate": loguniform(1e-4, 1e-1), "k": [1, 2]}
    first, second, other = (
        FleetSearchCV(BASE, space, n_iter=3, cv=2, refit=False, random_state=seed)
        .fit(*data)
        .cv_results_
        for seed in (1, 1, 2)
    )
    assert len(first["params"]) == 3
    assert first["params"] == second["params"] != other["params"]
    np.testing.assert_array_equal(first["mean_test_score"], second["mean_test_score"])


def score_of_k(model, X, y):
    if model.k == 3:
        raise SettingError("three is too many.")
    return -7.0


def test_candidates_that_fail_score_nan(data):
    X, y = data
    message = "a candidate scores NaN: "
    with pytest.warns(LifemixWarning, match=message + "three is too many"):
        search = FleetSearchCV(BASE, {"k": [3, 2]}, cv=2, scoring=score_of_k).fit(X, y)
    assert search.best_params_ == {"k": 2}
    search.set_params(param_grid={"k": [3]})
    with (
        pytest.warns(LifemixWarning, match=message),
        pytest.raises(SettingError, match="no candidate has a score"),
    ):
        search.fit(X, y)
    wild = {"preprocessor": None, "hidden": (), "validation_fraction": 0, "learning_rate": 10}
    search.set_params(estimator=clone(BASE).set_params(**wild), param_grid={"max_epochs": [3, 0]})
    with pytest.warns(LifemixWarning, match=message + "training diverged: .* 1 of 1 models"):
        search.fit(X[["a", "c"]].to_numpy() * 1e25, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, False]
    assert search.best_params_ == {"max_epochs": 0}


def test_folds_without_an_event_type_are_refused(data):
    X, y = data
    rare = make_target(y["time"], np.where(np.arange(240) < 5, 2, y["event"]))
    folds = [(np.arange(120, 240), np.arange(120))]
    with pytest.raises(SettingError, match=r"fold 0 has none of \[2\]"):
        FleetSearchCV(BASE, {"k": [1]}, cv=folds).fit(X, rare)


def test_a_search_without_refit_does_not_predict(data):
    search = FleetSearchCV(BASE, {"k": [1]}, cv=2).fit(*data)
    search.set_params(refit=False).fit(*data)
    with pytest.raises(SettingError, match="refit=False"):
        search.predict(data[0])


def test_processes_give_the_same_scores(data):
    y = make_target(np.tile(data[1]["time"], 50), np.tile(data[1]["event"], 50))
    # 1.9 MB: joblib maps larger arrays into memory.
    X = np.random.default_rng(1).normal(size=(len(y), 40)).astype(np.float32)
    base = clone(BASE).set_params(max_epochs=1, batch_size=1024)
    scores = [
        FleetSearchCV(base, {"k": [1, 2]}, cv=2, refit=False, max_fleet=1, n_jobs=n_jobs)
        .fit(X, y)
        .cv_results_["mean_test_score"]
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


def test_competing_risks(data):
    X, y = data
    causes = make_target(y["time"], np.arange(240) % 3)
    search = FleetSearchCV(BASE, {"k": [1, 2]}, cv=2).fit(X, causes)
    assert search.predict_cumulative_incidence(X, [1.0], event=2).shape == (240, 1)
    curve = search.predict_survival_function(X[:3])[2]
    expected = search.predict_survival_function(X[:3], [0.5, 1.0])[2]
    np.testing.assert_array_equal(curve([0.5, 1.0]), expected)
