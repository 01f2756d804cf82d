import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target
from lifemix.errors import LifemixWarning, SettingError
from lifemix.estimators import search as search_module
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold

BASE = DeepSurvivalMachines(
    hidden=(6,), k=2, max_epochs=4, batch_size=64, learning_rate=1e-2, n_members=1, dropout=0.0
)  # in other processes too
GRID = {
    "learning_rate": [1e-2, 1e-3],
    "discount": [0.5, 1.0],
    "dropout": [0.0, 0.3],
    "hidden": [(6,), (5, 4)],
}


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
        np.testing.assert_allclose(
            searched.cv_results_[name], reference.cv_results_[name], atol=5e-3
        )
    assert searched.n_splits_ == 3


def test_best_estimator_is_the_best_candidate_fitted_on_all_rows(data, searched):
    X, y = data
    best = clone(BASE).set_params(**searched.best_params_).fit(X, y)
    times = [0.5, 1.0]
    np.testing.assert_array_equal(
        searched.predict_survival_function(X, times), best.predict_survival_function(X, times)
    )
    assert searched.score(X, y) == best.score(X, y)
    assert searched.best_score_ == searched.cv_results_["mean_test_score"].max()
    assert searched.transform(X).shape == (240, searched.best_params_["hidden"][-1])


def test_models_of_one_shape_train_together(data, monkeypatch):
    sizes = []
    fit_fleet = search_module.fit_fleet

    def counted(fleet):
        sizes.append(len(fleet))
        return fit_fleet(fleet)

    monkeypatch.setattr(search_module, "fit_fleet", counted)
    FleetSearchCV(BASE, GRID, cv=3, refit=False, max_fleet=10).fit(*data)
    assert sum(sizes) == 16 * 3
    assert max(sizes) <= 10
    assert len(sizes) < 16


def test_ensembles_and_likelihood(data):
    X, y = data
    found = FleetSearchCV(
        BASE, {"n_members": [1, 3]}, cv=2, scoring="log_likelihood", refit=False, max_fleet=4
    ).fit(X, y)
    (train, test), *_ = EventStratifiedKFold(2).split(X, y)
    for number, members in enumerate((1, 3)):
        alone = clone(BASE).set_params(n_members=members).fit(X.iloc[train], y[train])
        expected = alone.log_likelihood(X.iloc[test], y[test]) / len(test)
        np.testing.assert_allclose(
            found.cv_results_["split0_test_score"][number], expected, rtol=1e-4
        )
    with pytest.raises(SettingError, match="refit=False"):
        found.predict(X)


EVERY_KIND = [
    {"primitive": ["weibull", "lognormal"]},
    {"preprocessor": [None, TabularPreprocessor(numbers="piecewise", bins=4)]},
    {"random_state": [1, 2]},
    {"validation_fraction": [0.0, 0.3]},
    {"objective": ["elbo"], "discount": [0.5]},
    {"dropout": [0.3], "weight_decay": [0.5]},
]


def test_what_candidates_share_is_only_what_they_have_in_common(data):
    """Candidates of all kinds, on the same folds and weights, score as each does when it is fitted alone."""
    X, y = data[0][["a", "c"]].to_numpy(), data[1]
    weight = np.random.default_rng(5).uniform(0.1, 4.0, len(y))
    base = clone(BASE).set_params(max_epochs=3, learning_rate=0.02)
    found = FleetSearchCV(base, EVERY_KIND, cv=2, scoring="log_likelihood").fit(X, y, weight)
    scores = np.array([found.cv_results_[f"split{fold}_test_score"] for fold in range(2)])
    assert len({round(score, 4) for score in scores[0]}) == scores.shape[1]
    for fold, (train, test) in enumerate(EventStratifiedKFold(2).split(X, y)):
        for number, candidate in enumerate(found.cv_results_["params"]):
            alone = clone(base).set_params(**candidate).fit(X[train], y[train], weight[train])
            expected = alone.log_likelihood(X[test], y[test]) / len(test)
            assert scores[fold, number] == pytest.approx(expected, abs=2e-5), candidate
    best = clone(base).set_params(**found.best_params_).fit(X, y, weight)
    np.testing.assert_array_equal(found.predict(X), best.predict(X))


def test_random_search_draws_from_distributions_by_seed(data):
    X, y = data
    space = {"learning_rate": loguniform(1e-4, 1e-1), "k": [1, 2]}
    first, second, other = (
        FleetSearchCV(BASE, space, n_iter=3, cv=2, refit=False, random_state=seed).fit(X, y)
        for seed in (1, 1, 2)
    )
    assert len(first.cv_results_["params"]) == 3
    assert (
        first.cv_results_["params"] == second.cv_results_["params"] != other.cv_results_["params"]
    )
    np.testing.assert_array_equal(
        first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"]
    )


def other_score(model, X, y):
    return -7.0


def test_one_bad_candidate_scores_nan_and_all_bad_are_refused(data):
    def fails_for_three(model, X, y):
        if model.k == 3:
            raise SettingError("three is too many.")
        return 1.0

    with pytest.warns(LifemixWarning, match="a candidate scores NaN: three is too many"):
        found = FleetSearchCV(BASE, {"k": [3, 2]}, cv=2, scoring=fails_for_three).fit(*data)
    assert found.best_params_ == {"k": 2}
    with (
        pytest.warns(LifemixWarning, match="a candidate scores NaN"),
        pytest.raises(SettingError, match="no candidate has a score"),
    ):
        FleetSearchCV(BASE, {"k": [3]}, cv=2, scoring=fails_for_three).fit(*data)


def test_a_candidate_that_diverges_scores_nan_and_the_others_are_scored(data):
    X, y = data
    huge = X[["a", "c"]].to_numpy() * 1e25
    base = clone(BASE).set_params(
        preprocessor=None, hidden=(), validation_fraction=0, learning_rate=10
    )
    with pytest.warns(
        LifemixWarning, match="a candidate scores NaN: training diverged: .* 1 of 1 models"
    ):
        found = FleetSearchCV(
            base, {"max_epochs": [3, 0]}, cv=2, scoring=other_score, refit=False
        ).fit(huge, y)
    scores = found.cv_results_["mean_test_score"]
    assert np.isnan(scores[0])
    assert scores[1] == -7.0
    assert found.best_params_ == {"max_epochs": 0}


def test_folds_without_some_kind_of_event_are_refused(data):
    X, y = data
    rare = make_target(y["time"], np.where(np.arange(240) < 5, 2, y["event"]))
    with pytest.raises(SettingError, match=r"fold 0 has none of \[2\]"):
        FleetSearchCV(BASE, {"k": [1]}, cv=[(np.arange(120, 240), np.arange(120))]).fit(X, rare)


def test_a_second_search_forgets_the_first(data):
    X, y = data
    search = FleetSearchCV(BASE, {"k": [1]}, cv=2).fit(X, y)
    search.set_params(refit=False).fit(X, y)
    with pytest.raises(SettingError, match="refit=False"):
        search.predict(X)


def test_processes_give_the_same_scores(data, searched):
    found = FleetSearchCV(BASE, GRID, cv=EventStratifiedKFold(3), refit=False, n_jobs=2).fit(*data)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], searched.cv_results_["mean_test_score"], atol=5e-3
    )


def test_processes_give_the_same_scores_of_larger_tables(data):
    y = make_target(np.tile(data[1]["time"], 50), np.tile(data[1]["event"], 50))
    X = (
        np.random.default_rng(1).normal(size=(len(y), 40)).astype(np.float32)
    )  # 1.9 MB: joblib maps larger arrays into memory
    base = clone(BASE).set_params(max_epochs=1, batch_size=1024)
    alone, parallel = (
        FleetSearchCV(base, {"k": [1, 2]}, cv=2, refit=False, max_fleet=1, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(
        alone.cv_results_["mean_test_score"], parallel.cv_results_["mean_test_score"]
    )


def test_competing_risks(data):
    X, y = data
    both = make_target(y["time"], np.arange(240) % 3)
    found = FleetSearchCV(BASE, {"k": [1, 2]}, cv=2).fit(X, both)
    assert found.predict_cumulative_incidence(X, [1.0], event=2).shape == (240, 1)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (FleetSearchCV(BASE, {"k": [0]}), "k must be a whole number from 1 to 1000; got 0"),
        (FleetSearchCV(BASE, {"k": [1]}, scoring="auc"), "scoring must be one of"),
        (
            FleetSearchCV(RandomForestClassifier(), {"max_depth": [1]}),
            "searches over DeepSurvivalMachines",
        ),
    ],
)
def test_bad_settings_are_refused_before_any_work(data, search, message):
    with pytest.raises(SettingError, match=message):
        search.fit(*data)
