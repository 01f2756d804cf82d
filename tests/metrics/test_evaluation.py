import numpy as np
import pandas as pd
import pytest

from lifemix.errors import InputError, LifemixWarning
from lifemix.metrics import auc_td, brier_score, concordance_td, d_calibration, evaluate, integrated_brier_score

HORIZONS = [0.5, 0.2, 1.0]


class Exponential:
    """The true model of the data below: independent exponential times with rate exp(x_m)."""

    def rates(self, X):
        return np.exp(np.asarray(X, dtype=float))

    def predict_survival_function(self, X, times):
        return np.exp(-self.rates(X).sum(axis=1)[:, None] * np.asarray(times))

    def predict_cumulative_incidence(self, X, times, event=1):
        share = self.rates(X)[:, event - 1] / self.rates(X).sum(axis=1)
        return share[:, None] * (1 - self.predict_survival_function(X, times))


def draw(rng, n, n_events):
    X = rng.normal(size=(n, n_events))
    times, censoring = rng.exponential(np.exp(-X)), rng.exponential(1.5, n)
    first = times.min(axis=1)
    return X, (np.minimum(first, censoring), np.where(first <= censoring, times.argmin(axis=1) + 1, 0))


@pytest.fixture
def single(rng):
    return draw(rng, 400, 1)[1], *draw(rng, 600, 1)


@pytest.fixture
def competing(rng):
    return draw(rng, 400, 2)[1], *draw(rng, 300, 2)


def value(table, metric, event=1, horizon=None):
    rows = table[(table["metric"] == metric) & (table["event"] == event)]
    return (rows if horizon is None else rows[rows["horizon"] == horizon])["value"].item()


@pytest.mark.parametrize("compat", [None, "sksurv"])
def test_single_risk_holds_what_the_metrics_give(single, compat):
    y_train, X, y = single
    model = Exponential()
    table = evaluate(model, y_train, X, y, HORIZONS, compat=compat)
    assert table.columns.tolist() == ["metric", "event", "horizon", "value"]
    assert len(table) == 3 * 3 + 1 + 2
    for t in HORIZONS:
        survival = model.predict_survival_function(X, [t])[:, 0]
        assert value(table, "concordance", horizon=t) == concordance_td(y_train, y, 1 - survival, t, compat=compat)
        assert value(table, "brier", horizon=t) == pytest.approx(brier_score(y_train, y, survival, t, compat=compat))
        assert value(table, "auc", horizon=t) == pytest.approx(auc_td(y_train, y, 1 - survival, t, compat=compat))
    grid = np.linspace(0, 1, 101)
    curves = model.predict_survival_function(X, grid)
    total = integrated_brier_score(y_train, y, curves, grid, compat=compat, rule="trapezoid")
    assert value(table, "integrated_brier", horizon=1.0) == pytest.approx(total)
    own = np.exp(-np.exp(X[:, 0]) * y[0])
    assert value(table, "d_calibration") == pytest.approx(d_calibration(y, own).statistic)
    assert value(table, "d_calibration_p") == pytest.approx(d_calibration(y, own).p_value)
    assert not table["value"].isna().any()


def test_competing_risks_have_rows_for_every_event(competing):
    y_train, X, y = competing
    model = Exponential()
    table = evaluate(model, y_train, X, y, HORIZONS, competing="wolbers")
    assert len(table) == 2 * (3 * 3 + 1)
    assert set(table["metric"]) == {"concordance", "brier", "auc", "integrated_brier"}
    for event in (1, 2):
        risk = model.predict_cumulative_incidence(X, [0.5], event=event)[:, 0]
        expected = concordance_td(y_train, y, risk, 0.5, event, competing="wolbers")
        assert value(table, "concordance", event, 0.5) == pytest.approx(expected)
        assert value(table, "brier", event, 0.5) == pytest.approx(brier_score(y_train, y, 1 - risk, 0.5, event))
        assert value(table, "auc", event, 0.5) == pytest.approx(auc_td(y_train, y, risk, 0.5, event))


def test_frames_and_arrays_give_the_same_table(single):
    y_train, X, y = single
    frame = pd.DataFrame(X, columns=["x"], index=np.arange(len(X))[::-1])
    pd.testing.assert_frame_equal(
        evaluate(Exponential(), y_train, X, y, HORIZONS), evaluate(Exponential(), y_train, frame, y, HORIZONS)
    )


def test_one_horizon_is_enough(single):
    table = evaluate(Exponential(), single[0], single[1], single[2], 0.5)
    assert np.isfinite(value(table, "integrated_brier"))


def test_test_times_beyond_the_training_follow_up_do_not_crash(single):
    y_train, X, (time, event) = single
    later = np.where(np.arange(len(time)) < 5, 1000.0, time)
    table = evaluate(Exponential(), y_train, X, (later, event), HORIZONS)
    assert not table["value"].isna().any()


def test_horizons_beyond_the_follow_up_are_nan_and_the_rest_stands(single):
    y_train, X, y = single
    with pytest.warns(LifemixWarning) as caught:
        table = evaluate(Exponential(), y_train, X, y, [0.5, 1e6])
    assert any("followed up to" in str(warning.message) for warning in caught)
    assert np.isfinite(value(table, "brier", horizon=0.5))
    assert np.isnan(value(table, "brier", horizon=1e6))
    assert np.isnan(value(table, "integrated_brier"))


def test_a_model_that_answers_in_another_shape_is_refused(single):
    class Transposed(Exponential):
        def predict_survival_function(self, X, times):
            return super().predict_survival_function(X, times).T

    with pytest.raises(InputError, match=r"the model's prediction must have shape \(600, 100\); got \(100, 600\)"):
        evaluate(Transposed(), single[0], single[1], single[2], HORIZONS)


def test_models_are_asked_for_times_in_order(single):
    class InOrder(Exponential):
        def predict_survival_function(self, X, times):
            assert (np.diff(times) > 0).all()
            return super().predict_survival_function(X, times)

    pd.testing.assert_frame_equal(evaluate(InOrder(), *single, HORIZONS), evaluate(Exponential(), *single, HORIZONS))
