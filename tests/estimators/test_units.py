"""The unit of time, and the scale and shift of the covariates, make no difference."""

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target


def sample(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 4))
    time = rng.weibull(1.2, 600) * np.exp(X[:, 0]) * 300 + 1
    event = rng.integers(0, 3 if kind == "competing" else 2, 600)
    entry = np.where(np.arange(600) % 3 == 0, time / 2, 0.0) if kind == "truncated" else None
    upper = (
        np.where((np.arange(600) % 4 == 0) & (event > 0), time * 1.5, np.nan)
        if kind == "interval"
        else None
    )
    return X, time, event, entry, upper


def scaled(sample_, factor):
    X, time, event, entry, upper = sample_
    return X, make_target(
        time * factor,
        event,
        None if entry is None else entry * factor,
        None if upper is None else upper * factor,
    )


KINDS = pytest.mark.parametrize("kind", ["single", "competing", "truncated", "interval"])
DAYS = np.array([10.0, 100.0, 365.25, 1000.0])


def fit(X, y):
    return DeepSurvivalMachines(
        k=3, hidden=(16,), max_epochs=25, learning_rate=5e-3, dropout=0.1
    ).fit(X, y)


@KINDS
def test_days_and_years_give_the_same_curves(kind):
    data = sample(kind)
    X = data[0]
    days = fit(*scaled(data, 1.0)).predict_survival_function(X, DAYS)
    years = fit(*scaled(data, 1 / 365.25)).predict_survival_function(X, DAYS / 365.25)
    np.testing.assert_allclose(days, years, atol=1e-4)


@KINDS
def test_powers_of_two_give_equal_curves(kind):
    data = sample(kind)
    X = data[0]
    model, eighths = fit(*scaled(data, 1.0)), fit(*scaled(data, 8.0))
    assert np.array_equal(model.network_.parameters, eighths.network_.parameters)
    np.testing.assert_allclose(
        model.predict_survival_function(X, DAYS),
        eighths.predict_survival_function(X, DAYS * 8),
        rtol=1e-12,
    )


@KINDS
def test_likelihood_in_another_unit_differs_by_the_jacobian(kind):
    data = sample(kind)
    exact = (data[2] > 0) & (True if data[4] is None else np.isnan(data[4]))
    one, other = (
        fit(*scaled(data, factor)).log_likelihood(*scaled(data, factor)) for factor in (1.0, 0.5)
    )
    np.testing.assert_allclose(other - one, exact.sum() * np.log(2), atol=1e-6)


def test_scale_and_shift_of_covariates_make_no_difference():
    data = sample("single")
    X, y = scaled(data, 1.0)
    moved = X * [3.0, 0.01, 1e4, 7.7] + [100.0, -5.0, 1e5, 0.3]
    a, b = (
        fit(X, y).predict_survival_function(X, DAYS),
        fit(moved, y).predict_survival_function(moved, DAYS),
    )
    np.testing.assert_allclose(a, b, atol=1e-4)


def test_one_kind_of_event_is_single_risk_whatever_its_type():
    X, time, event, *_ = sample("single")
    a = fit(X, make_target(time, event)).predict_survival_function(X, DAYS)
    b = fit(X, (time, event.astype(bool))).predict_survival_function(X, DAYS)
    assert np.array_equal(a, b)


def test_events_at_the_origin_are_fitted_and_survival_starts_at_one():
    X, time, event, *_ = sample("single")
    time[:40] = 0.0
    model = fit(X, make_target(time, event))
    assert (model.predict_survival_function(X, 0.0) == 1).all()
    share = 1 - model.predict_survival_function(X, time[time > 0].min()).mean()
    assert 0.2 * (event[:40].mean() * 40 / 600) < share


def test_discount_shortens_the_tail_and_is_what_stopping_watches():
    X, time, event, *_ = sample("single")
    y = make_target(time, event)
    full, half = (
        DeepSurvivalMachines(k=2, hidden=(8,), max_epochs=40, discount=discount).fit(X, y)
        for discount in (1.0, 0.5)
    )
    assert (
        half.predict_survival_function(X, 1000.0).mean()
        < full.predict_survival_function(X, 1000.0).mean()
    )
    assert min(r["validation_loss"] for r in half.history_) < min(
        r["validation_loss"] for r in full.history_
    )
