import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer

from lifemix import make_target
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import LifemixWarning
from lifemix.partial_likelihood import RiskSets, fit_linear, log_likelihood, make_terms

REFERENCE = json.loads((Path(__file__).parents[1] / "references/baselines/cox.json").read_text())
DATA = {name: np.array(values) for name, values in REFERENCE["data"].items()}
X, TIME, EVENT = DATA["x"], DATA["time"], DATA["event"]
Y = make_target(TIME, EVENT)


def fit(X=X, y=Y, **options):
    return CoxPH(**{"preprocessor": None, **options}).fit(X, y)


def fit_case(case, **options):
    y = make_target(TIME, EVENT, DATA["entry"] if case["truncated"] else None)
    model = CoxPH(ties=case["ties"], preprocessor=None, **options)
    return model.fit(X, y, DATA["weight"] if case["weighted"] else None)


def case_name(case):
    return "-".join([case["ties"], *(key for key in ("truncated", "weighted") if case[key])])


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=case_name)
def test_equals_coxph_and_survfit_of_r(case):
    model, close = fit_case(case), {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(model.coef_, case["coef"], **close)
    np.testing.assert_allclose(model.summary["standard_error"], case["standard_errors"], **close)
    assert model.log_likelihood_ == pytest.approx(case["log_likelihood"], abs=1e-9)
    assert model.log_likelihood_null_ == pytest.approx(case["log_likelihood_null"], abs=1e-9)
    for baseline in ("breslow", "efron", None):
        model = fit_case(case, baseline=baseline)
        survival = model.predict_survival_function(np.array(REFERENCE["new"]), REFERENCE["times"])
        np.testing.assert_allclose(survival, case[baseline or case["ties"]], **close)


@given(st.floats(1e-6, 1e6), st.floats(-1e3, 1e3), st.floats(1e-6, 1e6))
def test_units_of_columns_and_time_do_not_matter(scale, shift, unit):
    moved = X * np.array([scale, 1, 1]) + np.array([shift, 0, 0])
    model, other = fit(), fit(moved, make_target(TIME * unit, EVENT))
    assert other.coef_[0] * scale == pytest.approx(model.coef_[0], rel=1e-5)
    times = np.unique(TIME)
    survival = other.predict_survival_function(moved, times * unit)
    np.testing.assert_allclose(survival, model.predict_survival_function(X, times), atol=1e-6)


def test_collinear_columns_predict_like_a_design_of_full_rank():
    levels = np.eye(3)[np.random.default_rng(0).integers(0, 3, 120)]
    design, times = np.column_stack([X[:, 0], levels, np.ones(120)]), [1.0, 5.0, 20.0]
    redundant, reduced = fit(design), fit(design[:, :3])
    survival = redundant.predict_survival_function(design, times)
    np.testing.assert_allclose(survival, reduced.predict_survival_function(design[:, :3], times))
    assert redundant.log_likelihood_ == pytest.approx(reduced.log_likelihood_, abs=1e-9)
    assert redundant.coef_[4] == 0


def test_categories_and_missing_values_equal_dummies_made_by_hand():
    rng = np.random.default_rng(1)
    level, missing = rng.choice(["p", "q", "r"], 120), rng.random(120) < 0.2
    automatic = CoxPH().fit(
        pd.DataFrame({"age": np.where(missing, np.nan, X[:, 0]), "level": level}), Y
    )
    by_hand = np.column_stack([X[:, 0] * ~missing, missing, level == "q", level == "r"])
    expected = fit(by_hand.astype(float)).log_likelihood_
    assert automatic.log_likelihood_ == pytest.approx(expected, abs=1e-8)


def test_diverging_coefficients_are_named_and_a_penalty_ends_them():
    censored = (EVENT == 0).astype(float)  # no event if the second column is 1
    x = np.column_stack([X[:, 0], censored])
    with pytest.warns(LifemixWarning, match=r"CoxPH: the coefficients of columns 'x1' diverge"):
        fit(x)
    assert -5 < fit(x, penalty=1.0).coef_[1] < -1
    table = pd.DataFrame({"age": X[:, 0], "status": np.where(censored, "well", "ill")})
    for model, name in ((CoxPH(), "CoxPH"), (FineGray(), "FineGray, event 1")):
        message = f"{name}: the coefficients of columns 'status=.*' diverge"
        with pytest.warns(LifemixWarning, match=message):
            model.fit(table, Y)
    without_names = FunctionTransformer(lambda _: np.tile(x, 6))
    with pytest.warns(LifemixWarning, match="columns 1, 3, 5, 7, 9 and 1 more diverge"):
        CoxPH(preprocessor=without_names).fit(table, Y)
    with pytest.warns(LifemixWarning, match="no convergence after 1 of max_iter=1"):
        fit(max_iter=1)


def test_huge_covariates_do_not_overflow():
    far = np.array([[1e6, 0, 0], [-1e6, 0, 0]])
    survival = fit().predict_survival_function(far, [0.0, 20.0])
    np.testing.assert_array_equal(survival, [[1, 0], [1, 1]])


def small_table(seed):
    """Return few rows with columns that are collinear or separate the rows, or with many levels."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 40)), int(rng.integers(1, 12))
    values = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-3, 4, p)
    X = pd.DataFrame(values, columns=[f"c{i}" for i in range(p)])
    if seed % 2:
        X["level"] = [f"l{v}" for v in rng.integers(0, max(2, n - 1), n)]
    if seed % 3 == 0:
        X["twice"] = X["c0"] * 2
    time = rng.exponential(1, n)
    if seed % 5 == 0:
        time = np.ceil(time * 3)
    if seed % 7 == 0:
        time = np.exp(-X["c0"].to_numpy() / X["c0"].std() * 3)
    event = rng.integers(0, 2, n)
    event[0] = 1
    return X, make_target(time, event)


# 0: eigenvalues did not converge; 7: "the weights differ"; 179 to 369: no finite hazard.
@pytest.mark.parametrize("seed", [0, 7, 179, 197, 264, 355, 369, *range(20, 40)])
def test_small_separable_and_collinear_tables_are_fitted(seed):
    X, y = small_table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # coefficients diverge
        model = CoxPH().fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.log_likelihood_ >= model.log_likelihood_null_
    survival = model.predict_survival_function(X, [0.1, 1.0, 5.0])
    assert ((survival >= 0) & (survival <= 1)).all()


@pytest.mark.parametrize("n_columns", [3, 90])
def test_a_penalised_fit_is_the_ridge_maximum_with_its_errors(n_columns):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, n_columns)) @ np.diag(rng.uniform(0.1, 3, n_columns)) + 2
    y = make_target(rng.exponential(np.exp(-0.3 * x[:, 0])) + 0.01, rng.integers(0, 2, 40))
    model, spread, weight = fit(x, y, penalty=2.0), x.std(axis=0), np.ones(40)
    z, beta = (x - x.mean(axis=0)) / spread, model.coef_ * spread
    terms = make_terms(model.event_times_, y["time"], y["event"] > 0, weight, "efron")
    sets = RiskSets(model.event_times_, y["time"], np.zeros(40))
    value, gradient, information = log_likelihood(beta, z, weight, sets, terms)
    np.testing.assert_allclose(gradient, 2.0 * beta, atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(value)
    covariance = np.linalg.inv(information + 2.0 * np.eye(n_columns))
    errors = np.sqrt(np.diag(covariance)) / spread
    np.testing.assert_allclose(model.summary["standard_error"], errors, rtol=1e-6)
    influence = rng.normal(size=(7, n_columns))
    linear = fit_linear(x, weight, sets, terms, 2.0, 100, "CoxPH")
    expected = influence @ (covariance / np.outer(spread, spread))
    np.testing.assert_allclose(linear.covariance.after(influence), expected, rtol=1e-6, atol=1e-9)


def test_thousands_of_columns_take_seconds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 7399))
    y = make_target(rng.exponential(size=240) + 0.01, rng.integers(0, 2, 240))
    start = time.process_time()
    model = fit(x, y, penalty=100.0)
    assert time.process_time() - start < 10
    assert np.isfinite(model.predict_survival_function(x[:5], [0.5, 1.0])).all()


@pytest.mark.parametrize("n_columns", [3, 400])
def test_the_automatic_penalty_has_the_best_information_criterion(n_columns):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, n_columns))
    y = make_target(rng.exponential(np.exp(-x[:, 0])), (rng.random(120) < 0.7).astype(int))
    criterion, n_cases = {}, (y["event"] > 0).sum()
    for penalty in (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0):
        model = fit(x, y, penalty=penalty)
        variance = model.summary["standard_error"] ** 2 * x.var(axis=0)
        d = n_columns - penalty * variance.sum()
        correction = d * (1 + (d + 1) / (n_cases - d - 1)) if n_cases > d + 1 else np.inf
        criterion[penalty] = model.log_likelihood_ - correction
    model = fit(x, y, penalty="auto")
    assert model.penalty_ == max(criterion, key=lambda penalty: (criterion[penalty], penalty))
    np.testing.assert_array_equal(model.coef_, fit(x, y, penalty=model.penalty_).coef_)
