import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target
from lifemix.errors import FolderInUseError, LifemixWarning, SettingError
from lifemix.estimators import search as search_module
from lifemix.files import own_folder
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
        np.testing.assert_allclose(searched.cv_results_[name], reference.cv_results_[name], atol=5e-3)
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
    train_fleet = search_module.train_fleet

    def counted(plans):
        sizes.append(len(plans))
        return train_fleet(plans)

    monkeypatch.setattr(search_module, "train_fleet", counted)
    FleetSearchCV(BASE, GRID, cv=3, refit=False, max_fleet=10).fit(*data)
    assert sum(sizes) == 16 * 3
    assert max(sizes) <= 10
    assert len(sizes) < 16


def test_ensembles_and_likelihood(data):
    X, y = data
    found = FleetSearchCV(BASE, {"n_members": [1, 3]}, cv=2, scoring="log_likelihood", refit=False, max_fleet=4).fit(
        X, y
    )
    (train, test), *_ = EventStratifiedKFold(2).split(X, y)
    for number, members in enumerate((1, 3)):
        alone = clone(BASE).set_params(n_members=members).fit(X.iloc[train], y[train])
        expected = alone.log_likelihood(X.iloc[test], y[test]) / len(test)
        np.testing.assert_allclose(found.cv_results_["split0_test_score"][number], expected, rtol=1e-4)
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
        FleetSearchCV(BASE, space, n_iter=3, cv=2, refit=False, random_state=seed).fit(X, y) for seed in (1, 1, 2)
    )
    assert len(first.cv_results_["params"]) == 3
    assert first.cv_results_["params"] == second.cv_results_["params"] != other.cv_results_["params"]
    np.testing.assert_array_equal(first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"])


CALLS = []


def counted_score(model, X, y):
    CALLS.append(1)
    if CALLS[0] != "forever" and len(CALLS) > 20:
        raise KeyboardInterrupt
    return model.score(X, y)


def other_score(model, X, y):
    return -7.0


def test_a_search_that_was_cut_off_goes_on_where_it_was(data, tmp_path, searched):
    X, y = data
    arguments = {"cv": EventStratifiedKFold(3), "refit": False, "folder": tmp_path, "max_fleet": 8}
    CALLS[:] = []
    with pytest.raises(KeyboardInterrupt):
        FleetSearchCV(BASE, GRID, scoring=counted_score, **arguments).fit(X, y)
    lines = (tmp_path / "scores.jsonl").read_text().splitlines()
    assert 0 < len(lines) <= 20
    with (tmp_path / "scores.jsonl").open("a") as file:
        file.write('{"key": "cut o')
    CALLS[:] = ["forever"]
    resumed = FleetSearchCV(BASE, GRID, scoring=counted_score, **arguments).fit(X, y)
    assert len(CALLS) - 1 == 48 - len(lines)
    np.testing.assert_allclose(
        resumed.cv_results_["mean_test_score"], searched.cv_results_["mean_test_score"], atol=5e-3
    )
    another = FleetSearchCV(BASE, {"k": [1]}, scoring=other_score, **arguments).fit(X, y)
    assert another.best_score_ == -7.0
    with pytest.raises(SettingError, match="a scorer that the next run can recognise"):
        FleetSearchCV(BASE, GRID, scoring=lambda m, X, y: 1.0, **arguments).fit(X, y)


def test_stored_scores_serve_the_same_search_and_no_other(data, tmp_path):
    X, y = data[0][:120], data[1][:120]
    weight = np.linspace(0.5, 2.0, 120)
    later = make_target(y["time"] * 2, y["event"])
    searches = {
        "first": (BASE, 2, (X, y, None)),
        "other rows": (BASE, 2, (X.assign(a=-X["a"]), y, None)),
        "other times": (BASE, 2, (X, later, None)),
        "weights": (BASE, 2, (X, y, weight)),
        "other folds": (BASE, EventStratifiedKFold(2, random_state=7), (X, y, None)),
        "other settings": (clone(BASE).set_params(random_state=9), 2, (X, y, None)),
    }
    for expected in (4, 0):  # two candidates on two folds; the second time all is known
        for name, (base, cv, rows) in searches.items():
            CALLS[:] = ["forever"]
            FleetSearchCV(base, {"k": [1, 2]}, cv=cv, scoring=counted_score, refit=False, folder=tmp_path).fit(*rows)
            assert len(CALLS) - 1 == expected, name


def test_damaged_scores_are_computed_anew(data, tmp_path):
    X, y = data[0][:120], data[1][:120]

    def search():
        CALLS[:] = ["forever"]
        search = FleetSearchCV(BASE, {"k": [1, 2]}, cv=2, scoring=counted_score, refit=False, folder=tmp_path).fit(X, y)
        return search.cv_results_["mean_test_score"].tolist(), len(CALLS) - 1

    scores, calls = search()
    assert calls == 4
    lines = (tmp_path / "scores.jsonl").read_text().splitlines()
    lines[1] = re.sub(r'"test_score":0\.\d', '"test_score":0.9', lines[1])
    (tmp_path / "scores.jsonl").write_text("\n".join([*lines, "[]", "{}", '{"key":1,"result":2}']) + "\n")
    with pytest.warns(LifemixWarning, match="4 lines of .*scores.jsonl are damaged.*computed anew"):
        assert search() == (scores, 1)
    assert search() == (scores, 0)


def test_without_space_for_scores_the_search_goes_on_with_one_warning(data, tmp_path):
    X, y = data[0][:120], data[1][:120]
    (tmp_path / "file").touch()
    with pytest.warns(LifemixWarning, match="scores are not kept, the search goes on without: .*cannot be") as warned:
        FleetSearchCV(BASE, {"k": [1, 2]}, cv=2, refit=False, folder=tmp_path / "file" / "below").fit(X, y)
    assert len(warned) == 1


def test_two_searches_at_a_time_cannot_share_a_folder(data, tmp_path):
    with own_folder(tmp_path, "search"), pytest.raises(FolderInUseError, match="purpose: search.*another folder"):
        FleetSearchCV(BASE, {"k": [1]}, cv=2, folder=tmp_path).fit(*data)


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
    base = clone(BASE).set_params(preprocessor=None, hidden=(), validation_fraction=0, learning_rate=10)
    with pytest.warns(LifemixWarning, match="a candidate scores NaN: training diverged: .* 1 of 1 models"):
        found = FleetSearchCV(base, {"max_epochs": [3, 0]}, cv=2, scoring=other_score, refit=False).fit(huge, y)
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
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], searched.cv_results_["mean_test_score"], atol=5e-3)


def test_competing_risks(data):
    X, y = data
    both = make_target(y["time"], np.arange(240) % 3)
    found = FleetSearchCV(BASE, {"k": [1, 2]}, cv=2).fit(X, both)
    assert found.predict_cumulative_incidence(X, [1.0], event=2).shape == (240, 1)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (FleetSearchCV(BASE, {"k": [0]}), "k must be a whole number of at least 1; got 0"),
        (FleetSearchCV(BASE, {"k": [1]}, scoring="auc"), "scoring must be one of"),
        (FleetSearchCV(RandomForestClassifier(), {"max_depth": [1]}), "searches over DeepSurvivalMachines"),
    ],
)
def test_bad_settings_are_refused_before_any_work(data, search, message):
    with pytest.raises(SettingError, match=message):
        search.fit(*data)
