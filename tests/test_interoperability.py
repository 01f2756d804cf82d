"""Models inside scikit-survival's scorers and in lifelines' tables, and the examples that show more."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from lifemix import DeepSurvivalMachines, FleetSearchCV, make_target
from lifemix.baselines import CoxPH, KaplanMeier
from lifemix.errors import InputError

EXAMPLES = Path(__file__).parents[1] / "examples"
HORIZONS = np.array([5.0, 10.0, 15.0, 20.0])


def quick(**settings):
    return DeepSurvivalMachines(
        **({"hidden": (6,), "k": 2, "max_epochs": 3, "learning_rate": 0.01} | settings)
    )


def data(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.normal(60, 10, n), "dose": rng.standard_normal(n)},
        index=[f"p{i}" for i in range(n)],
    )
    time = rng.weibull(1.4, n) * 20 * np.exp(-0.04 * (X["age"].to_numpy() - 60))
    censored = np.minimum(rng.exponential(40, n), 35.0)
    return X, np.minimum(time, censored), time <= censored


@pytest.fixture(scope="module")
def sksurv():
    return pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")


@pytest.fixture(scope="module")
def fitted():
    X, time, event = data()
    return quick(n_members=2).fit(X, make_target(time, event))


def test_without_times_the_curves_are_functions(fitted):
    X = data(20, seed=1)[0]
    functions = fitted.predict_survival_function(X)
    assert functions.shape == (20,)
    expected = fitted.predict_survival_function(X, HORIZONS)
    np.testing.assert_array_equal([function(HORIZONS) for function in functions], expected)
    assert functions[3](10.0) == expected[3, 1]
    assert functions[3](0.0) == 1.0
    np.testing.assert_array_equal(functions[3](HORIZONS.reshape(2, 2)), expected[3].reshape(2, 2))
    np.testing.assert_array_equal(functions[5].x, fitted.event_times_)
    np.testing.assert_array_equal(
        functions[5].y, fitted.predict_survival_function(X, fitted.event_times_)[5]
    )
    assert functions[5].domain == (0.0, np.inf)
    with pytest.raises(InputError, match=r"finite and >= 0; got -1\.0"):
        functions[0]([-1.0])
    with pytest.raises(InputError, match="return_std needs times"):
        fitted.predict_survival_function(X, return_std=True)


def test_event_times_are_those_of_events(fitted):
    _, time, event = data()
    np.testing.assert_array_equal(fitted.event_times_, np.unique(time[event]))


@pytest.mark.parametrize("model", [CoxPH(), KaplanMeier()], ids=lambda model: type(model).__name__)
def test_baselines_give_functions_too(model):
    X, time, event = data()
    model.fit(X, make_target(time, event))
    functions = model.predict_survival_function(X)
    expected = model.predict_survival_function(X, HORIZONS)
    np.testing.assert_array_equal([function(HORIZONS) for function in functions], expected)


def test_searches_give_functions_too():
    X, time, event = data()
    search = FleetSearchCV(quick(), {"k": [1, 2]}, cv=2).fit(X, make_target(time, event))
    curve = search.predict_survival_function(X[:3])[2]
    np.testing.assert_array_equal(
        curve(HORIZONS), search.predict_survival_function(X[:3], HORIZONS)[2]
    )


def scikit_target(time, event):
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])


def test_scikit_survivals_scorers_take_our_models(sksurv):
    X, time, event = data()
    y = scikit_target(time, event)
    train, test = slice(0, 160), slice(160, None)
    direct = quick().fit(X[train], y[train])
    survival = direct.predict_survival_function(X[test], HORIZONS)
    brier = sksurv.as_integrated_brier_score_scorer(quick(), times=HORIZONS).fit(X[train], y[train])
    from_matrix = sksurv.integrated_brier_score(y[train], y[test], survival, HORIZONS)
    assert brier.score(X[test], y[test]) == pytest.approx(-from_matrix, abs=1e-12)
    risk = direct.predict(X[test])
    concordance = sksurv.as_concordance_index_ipcw_scorer(quick(), tau=20.0).fit(X[train], y[train])
    assert (
        concordance.score(X[test], y[test])
        == sksurv.concordance_index_ipcw(y[train], y[test], risk, tau=20.0)[0]
    )
    area = sksurv.as_cumulative_dynamic_auc_scorer(quick(), times=HORIZONS).fit(X[train], y[train])
    assert (
        area.score(X[test], y[test])
        == sksurv.cumulative_dynamic_auc(y[train], y[test], risk, HORIZONS)[1]
    )


def test_scikit_survivals_scorers_choose_settings_in_a_grid_search(sksurv):
    X, time, event = data()
    y = scikit_target(time, event)
    scorer = sksurv.as_integrated_brier_score_scorer(quick(), times=HORIZONS)
    search = GridSearchCV(
        clone(scorer), {"estimator__learning_rate": [1e-6, 0.03]}, cv=KFold(2), error_score="raise"
    )
    search.fit(X, y)
    assert search.best_params_ == {"estimator__learning_rate": 0.03}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict_survival_function(X[:2])[0](0.0) == 1.0


def test_example_of_shap_values(capsys):
    pytest.importorskip("shap", reason="shap is not installed")
    result = runpy.run_path(str(EXAMPLES / "shap_values.py"))["main"](
        n_background=8, n_rows=4, max_epochs=5
    )
    for what, (values, base, predicted) in result.items():
        np.testing.assert_allclose(values.sum(1) + base, predicted, atol=1e-6, err_msg=what)
        assert np.abs(values).max() > 0
    assert "age at diagnosis in years" in capsys.readouterr().out
