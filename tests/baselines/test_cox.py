import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer

from lifemix import make_target
from lifemix.baselines import CoxPH, FineGray
from lifemix.errors import LifemixWarning, SettingError
from lifemix.partial_likelihood import RiskSets, fit_linear, log_likelihood, make_terms

REFERENCE = json.loads((Path(__file__).parent.parent / "references/baselines/cox.json").read_text())
DATA = {name: np.array(values) for name, values in REFERENCE["data"].items()}
CASES = REFERENCE["cases"]


def target_of(case):
    return make_target(DATA["time"], DATA["event"], DATA["entry"] if case["truncated"] else None)


def fit(case, **options):
    model = CoxPH(ties=case["ties"], preprocessor=None, **options)
    return model.fit(DATA["x"], target_of(case), DATA["weight"] if case["weighted"] else None)


def case_name(case):
    return "-".join([case["ties"], *(key for key in ("truncated", "weighted") if case[key])])


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_equal_to_coxph_of_r(case):
    model = fit(case)
    np.testing.assert_allclose(model.coef_, case["coef"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        model.summary["standard_error"], case["standard_errors"], rtol=0, atol=1e-9
    )
    assert model.log_likelihood_ == pytest.approx(case["log_likelihood"], abs=1e-9)
    assert model.log_likelihood_null_ == pytest.approx(case["log_likelihood_null"], abs=1e-9)


@pytest.mark.parametrize("baseline", ["breslow", "efron"])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_equal_to_survfit_of_r(case, baseline):
    curves = fit(case, baseline=baseline).predict_survival_function(
        np.array(REFERENCE["new"]), REFERENCE["times"]
    )
    np.testing.assert_allclose(curves, case[baseline], rtol=0, atol=1e-9)


def test_the_baseline_follows_the_ties_unless_told():
    times = REFERENCE["times"]
    for case in CASES[:1] + CASES[4:5]:
        same = fit(case, baseline=case["ties"]).predict_survival_function(DATA["x"], times)
        np.testing.assert_array_equal(fit(case).predict_survival_function(DATA["x"], times), same)


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-6, 1e6), st.floats(-1e3, 1e3), st.floats(1e-6, 1e6))
def test_units_of_columns_and_time_do_not_matter(scale, shift, unit):
    y = make_target(DATA["time"], DATA["event"])
    moved = DATA["x"] * np.array([scale, 1, 1]) + np.array([shift, 0, 0])
    one = CoxPH(preprocessor=None).fit(DATA["x"], y)
    other = CoxPH(preprocessor=None).fit(moved, make_target(DATA["time"] * unit, DATA["event"]))
    assert other.coef_[0] * scale == pytest.approx(one.coef_[0], rel=1e-5)
    times = np.unique(DATA["time"])
    np.testing.assert_allclose(
        other.predict_survival_function(moved, times * unit),
        one.predict_survival_function(DATA["x"], times),
        atol=1e-6,
    )


def test_collinear_columns_predict_like_a_full_rank_design():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 120)
    every = np.column_stack([DATA["x"][:, 0], np.eye(3)[level], np.ones(120)])
    y = make_target(DATA["time"], DATA["event"])
    redundant = CoxPH(preprocessor=None).fit(every, y)
    reduced = CoxPH(preprocessor=None).fit(every[:, :3], y)
    times = [1.0, 5.0, 20.0]
    np.testing.assert_allclose(
        redundant.predict_survival_function(every, times),
        reduced.predict_survival_function(every[:, :3], times),
    )
    assert redundant.log_likelihood_ == pytest.approx(reduced.log_likelihood_, abs=1e-9)
    assert redundant.coef_[4] == 0


def test_categories_and_missing_values_agree_with_dummies_made_by_hand():
    rng = np.random.default_rng(1)
    level = rng.choice(["p", "q", "r"], 120)
    age = np.where(rng.random(120) < 0.2, np.nan, DATA["x"][:, 0])
    y = make_target(DATA["time"], DATA["event"])
    automatic = CoxPH().fit(pd.DataFrame({"age": age, "level": level}), y)
    missing = np.isnan(age)
    by_hand = np.column_stack(
        [np.where(missing, 0.0, age), missing, level == "q", level == "r"]
    ).astype(float)
    reduced = CoxPH(preprocessor=None).fit(by_hand, y)
    assert automatic.log_likelihood_ == pytest.approx(reduced.log_likelihood_, abs=1e-8)


def test_an_endless_coefficient_is_announced_and_a_penalty_ends_it():
    x = np.column_stack([DATA["x"][:, 0], DATA["event"] == 0]).astype(
        float
    )  # no event where the second column is 1
    y = make_target(DATA["time"], DATA["event"])
    with pytest.warns(LifemixWarning, match=r"CoxPH: the coefficients of columns 'x1' diverge"):
        CoxPH(preprocessor=None).fit(x, y)
    model = CoxPH(preprocessor=None, penalty=1.0).fit(x, y)
    assert -5 < model.coef_[1] < -1


def test_endless_coefficients_are_named_as_after_preprocessing():
    none = pd.DataFrame(
        {"age": DATA["x"][:, 0], "status": np.where(DATA["event"] == 0, "well", "ill")}
    )
    y = make_target(DATA["time"], DATA["event"])
    with pytest.warns(
        LifemixWarning, match="CoxPH: the coefficients of columns 'status=.*' diverge"
    ):
        CoxPH().fit(none, y)
    with pytest.warns(
        LifemixWarning,
        match="FineGray, event 1: the coefficients of columns 'status=.*' diverge",
    ):
        FineGray().fit(none, y)
    nameless = FunctionTransformer(
        lambda table: np.column_stack([table["age"], table["status"] == "well"] * 6)
    )
    with pytest.warns(LifemixWarning, match="columns 1, 3, 5, 7, 9 and 1 more diverge"):
        CoxPH(preprocessor=nameless).fit(none, y)


def test_too_few_steps_are_announced():
    with pytest.warns(LifemixWarning, match="no convergence after 1 of max_iter=1"):
        CoxPH(preprocessor=None, max_iter=1).fit(
            DATA["x"], make_target(DATA["time"], DATA["event"])
        )


def test_penalty_shrinks_and_its_score_is_zero():
    y = make_target(DATA["time"], DATA["event"])
    free, held = (CoxPH(preprocessor=None, penalty=p).fit(DATA["x"], y) for p in (0.0, 10.0))
    assert np.abs(held.coef_).sum() < np.abs(free.coef_).sum()
    assert held.log_likelihood_ < free.log_likelihood_
    event_times = np.unique(DATA["time"][DATA["event"] == 1])
    ones = np.ones(120)
    arguments = (
        RiskSets(event_times, DATA["time"], np.zeros(120)),
        make_terms(event_times, DATA["time"], DATA["event"] == 1, ones, "efron"),
    )
    spread = DATA["x"].std(axis=0)
    _, gradient, _ = log_likelihood(held.coef_, DATA["x"], ones, *arguments)
    np.testing.assert_allclose(gradient, 10.0 * held.coef_ * spread**2, rtol=1e-6)


def test_an_event_at_the_origin_counts_at_the_first_event_time():
    time, event = DATA["time"].copy(), DATA["event"].copy()
    first = np.unique(time[event == 1])[0]
    time[:2], event[:2] = 0.0, [1, 0]
    moved = time.copy()
    moved[0] = first
    a = CoxPH(preprocessor=None).fit(DATA["x"], make_target(time, event))
    kept = np.arange(120) != 1  # censored at 0: carries nothing
    b = CoxPH(preprocessor=None).fit(DATA["x"][kept], make_target(moved[kept], event[kept]))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-12)


def test_huge_covariates_do_not_overflow():
    model = CoxPH(preprocessor=None).fit(DATA["x"], make_target(DATA["time"], DATA["event"]))
    far = np.array([[1e6, 0, 0], [-1e6, 0, 0]])
    np.testing.assert_array_equal(
        model.predict_survival_function(far, [0.0, 20.0]), [[1, 0], [1, 1]]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "exact"}, "ties must be one of 'efron', 'breslow'; got 'exact'"),
        ({"baseline": "weibull"}, "baseline must be one of"),
        ({"penalty": -1.0}, r"penalty must be a number of at least 0; got -1\.0"),
        ({"penalty": np.nan}, "penalty must be a number of at least 0; got nan"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
        (
            {"preprocessor": "scale"},
            "preprocessor must be 'auto', None or a scikit-learn transformer; got 'scale'",
        ),
        (
            {"preprocessor": 3},
            "preprocessor must be 'auto', None or a scikit-learn transformer; got 3",
        ),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        CoxPH(**options).fit(DATA["x"], make_target(DATA["time"], DATA["event"]))


def small_table(seed):
    """Return few rows with columns that are collinear, separate the rows, or have nearly as many levels as rows."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 40)), int(rng.integers(1, 12))
    X = pd.DataFrame(
        rng.standard_normal((n, p)) * 10.0 ** rng.integers(-3, 4, p),
        columns=[f"c{i}" for i in range(p)],
    )
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


# 0: eigenvalues did not converge; 7: "the weights differ"; 179 to 369: no finite hazard. Others at random.
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


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 90)) @ np.diag(rng.uniform(0.1, 3, 90)) + 2
    return X, make_target(rng.exponential(np.exp(-0.3 * X[:, 0])) + 0.01, rng.integers(0, 2, 40))


def test_a_wide_table_has_the_ridge_maximum_and_its_errors(wide):
    X, y = wide
    model = CoxPH(penalty=2.0, preprocessor=None).fit(X, y)
    spread = X.std(axis=0)
    z, weight = (X - X.mean(axis=0)) / spread, np.ones(40)
    terms = make_terms(model.event_times_, y["time"], y["event"] > 0, weight, "efron")
    sets = RiskSets(model.event_times_, y["time"], np.zeros(40))
    beta = model.coef_ * spread
    value, gradient, information = log_likelihood(beta, z, weight, sets, terms)
    np.testing.assert_allclose(gradient, 2.0 * beta, atol=1e-6)
    covariance = np.linalg.inv(information + 2.0 * np.eye(90))
    np.testing.assert_allclose(
        model.summary["standard_error"], np.sqrt(np.diag(covariance)) / spread, rtol=1e-6
    )
    assert model.log_likelihood_ == pytest.approx(value)
    influence = np.random.default_rng(0).normal(size=(7, 90))
    fit = fit_linear(X, weight, sets, terms, 2.0, 100, "CoxPH")
    expected = influence @ (covariance / np.outer(spread, spread))
    np.testing.assert_allclose(fit.covariance.after(influence), expected, rtol=1e-6, atol=1e-9)


def test_thousands_of_columns_take_seconds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 7399))
    y = make_target(rng.exponential(size=240) + 0.01, rng.integers(0, 2, 240))
    start = time.process_time()
    model = CoxPH(penalty=100.0, preprocessor=None).fit(X, y)
    assert time.process_time() - start < 10
    assert np.isfinite(model.predict_survival_function(X[:5], [0.5, 1.0])).all()


@pytest.mark.parametrize("columns", [3, 400])
def test_the_automatic_penalty_has_the_best_information_criterion(columns):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, columns))
    y = make_target(rng.exponential(np.exp(-X[:, 0])), (rng.random(120) < 0.7).astype(int))
    model = CoxPH(penalty="auto", preprocessor=None).fit(X, y)
    found = {}
    for penalty in (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0):
        one = CoxPH(penalty=penalty, preprocessor=None).fit(X, y)
        spread = X.std(axis=0)
        d = columns - penalty * np.sum(one.summary["standard_error"] ** 2 * spread**2)
        room = (y["event"] > 0).sum() - d - 1
        found[penalty] = one.log_likelihood_ - d * (1 + (d + 1) / room) if room > 0 else -np.inf
    assert model.penalty_ == max(found, key=lambda penalty: (found[penalty], penalty))
    np.testing.assert_array_equal(
        model.coef_, CoxPH(penalty=model.penalty_, preprocessor=None).fit(X, y).coef_
    )
