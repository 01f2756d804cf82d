import numpy as np
import pandas as pd
import pytest

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import (
    Measure,
    auc_td,
    bootstrap,
    brier_score,
    concordance_td,
    d_calibration,
    evaluate,
    evaluation,
    integrated_brier_score,
    mean_concordance,
    register_measure,
    survival_at_own_time,
)
from lifemix.splits import horizons
from lifemix.target import as_target

HORIZONS = [0.5, 0.2, 1.0]
OURS = set("concordance_td brier auc integrated_brier d_calibration d_calibration_p".split())


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
    return X, (
        np.minimum(first, censoring),
        np.where(first <= censoring, times.argmin(axis=1) + 1, 0),
    )


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
    assert table["metric"].isin(OURS).sum() == 3 * 3 + 1 + 2
    for t in HORIZONS:
        survival = model.predict_survival_function(X, [t])[:, 0]
        assert value(table, "concordance_td", horizon=t) == concordance_td(
            y_train, y, 1 - survival, t, compat=compat
        )
        assert value(table, "brier", horizon=t) == pytest.approx(
            brier_score(y_train, y, survival, t, compat=compat)
        )
        assert value(table, "auc", horizon=t) == pytest.approx(
            auc_td(y_train, y, 1 - survival, t, compat=compat)
        )
    grid = np.linspace(0, 1, 101)
    curves = model.predict_survival_function(X, grid)
    total = integrated_brier_score(y_train, y, curves, grid, compat=compat)
    assert value(table, "integrated_brier", horizon=1.0) == pytest.approx(total)
    own = np.exp(-np.exp(X[:, 0]) * y[0])
    assert value(table, "d_calibration") == pytest.approx(d_calibration(y, own).statistic)
    assert value(table, "d_calibration_p") == pytest.approx(d_calibration(y, own).p_value)
    assert not table["value"].isna().any()


def test_competing_risks_have_rows_for_every_event(competing):
    y_train, X, y = competing
    model = Exponential()
    table = evaluate(model, y_train, X, y, HORIZONS, competing="wolbers")
    assert table["metric"].isin(OURS).sum() == 2 * (3 * 3 + 1)
    assert set(table["metric"]) & OURS == {"concordance_td", "brier", "auc", "integrated_brier"}
    for event in (1, 2):
        risk = model.predict_cumulative_incidence(X, [0.5], event=event)[:, 0]
        expected = concordance_td(y_train, y, risk, 0.5, event, competing="wolbers")
        assert value(table, "concordance_td", event, 0.5) == pytest.approx(expected)
        assert value(table, "brier", event, 0.5) == pytest.approx(
            brier_score(y_train, y, 1 - risk, 0.5, event)
        )
        assert value(table, "auc", event, 0.5) == pytest.approx(
            auc_td(y_train, y, risk, 0.5, event)
        )


def test_frames_and_arrays_give_the_same_table(single):
    y_train, X, y = single
    frame = pd.DataFrame(X, columns=["x"], index=np.arange(len(X))[::-1])
    pd.testing.assert_frame_equal(
        evaluate(Exponential(), y_train, X, y, HORIZONS),
        evaluate(Exponential(), y_train, frame, y, HORIZONS),
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

    with pytest.raises(
        InputError, match=r"the model's prediction must have shape \(600, 100\); got \(100, 600\)"
    ):
        evaluate(Transposed(), single[0], single[1], single[2], HORIZONS)


def test_models_are_asked_for_times_in_order(single):
    class InOrder(Exponential):
        def predict_survival_function(self, X, times):
            assert (np.diff(times) > 0).all()
            return super().predict_survival_function(X, times)

    pd.testing.assert_frame_equal(
        evaluate(InOrder(), *single, HORIZONS), evaluate(Exponential(), *single, HORIZONS)
    )


def test_intervals_hold_the_value_and_the_same_seed_gives_the_same_ones(single):
    y_train, X, y = single
    table = evaluate(Exponential(), y_train, X, y, [0.5, 1.0], n_bootstrap=30, random_state=3)
    plain = evaluate(Exponential(), y_train, X, y, [0.5, 1.0])
    pd.testing.assert_frame_equal(table[plain.columns.tolist()], plain)
    is_test = table["metric"].str.startswith("d_calibration")
    assert (table["lower"] <= table["value"])[~is_test].all()
    assert (table["value"] <= table["upper"])[~is_test].all()
    assert (table["lower"] < table["upper"])[~is_test].all()
    assert is_test.sum() == 2
    assert table.loc[is_test, ["lower", "upper"]].isna().all(axis=None)
    again = evaluate(Exponential(), y_train, X, y, [0.5, 1.0], n_bootstrap=30, random_state=3)
    pd.testing.assert_frame_equal(again, table)
    other = evaluate(Exponential(), y_train, X, y, [0.5, 1.0], n_bootstrap=30, random_state=4)
    assert not np.allclose(other["lower"], table["lower"])
    first = bootstrap(
        lambda drawn, risk: concordance_td(y_train, drawn, risk, 0.5),
        y,
        1 - Exponential().predict_survival_function(X, [0.5])[:, 0],
        n_resamples=30,
        random_state=3,
    )
    assert value(
        table.assign(value=table["lower"]), "concordance_td", horizon=0.5
    ) == pytest.approx(first.lower)


def test_only_the_measures_asked_for(single):
    table = evaluate(Exponential(), *single, HORIZONS, measures=["auc", "integrated_brier"])
    assert table["metric"].tolist() == ["auc"] * 3 + ["integrated_brier"]
    with pytest.raises(
        SettingError, match="unknown measure; got 'accuracy', expected one of .*'brier'"
    ):
        evaluate(Exponential(), *single, HORIZONS, measures=["accuracy"])


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))


@pytest.mark.usefixtures("registry")
def test_a_registered_measure_is_evaluated_with_the_others(competing):
    def mean_risk(y_train, y_test, risk, horizons, event):
        assert (len(y_train), risk.shape) == (400, (300, len(horizons)))
        return event * 100 + risk.mean(axis=0)

    register_measure(Measure("mean_risk", "mean risk", None, "horizon", mean_risk))
    y_train, X, y = competing
    table = evaluate(Exponential(), y_train, X, y, [0.5])
    for event in (1, 2):
        risk = Exponential().predict_cumulative_incidence(X, [0.5], event=event)
        assert value(table, "mean_risk", event, 0.5) == pytest.approx(100 * event + risk.mean())
    register_measure(Measure("mean_risk", "mean risk", None, "horizon", mean_risk, standard=False))
    assert "mean_risk" not in set(evaluate(Exponential(), y_train, X, y, [0.5])["metric"])
    with pytest.raises(SettingError, match="a measure called 'brier' exists already"):
        register_measure(Measure("brier", "x", None, "horizon", mean_risk))
    with pytest.raises(SettingError, match="kind must be one of .* got 'row'"):
        register_measure(Measure("other", "x", None, "row", mean_risk))


def test_mean_concordance_is_over_event_types_and_their_own_quartiles(competing):
    y_train, X, y = competing
    model = Exponential()
    found = mean_concordance(
        lambda at, event: model.predict_cumulative_incidence(X, at, event), y_train, y
    )
    expected = [
        concordance_td(
            y_train, y, model.predict_cumulative_incidence(X, [t], event)[:, 0], t, event
        )
        for event in (1, 2)
        for t in horizons(y_train, event=event)
    ]
    assert found == pytest.approx(np.mean(expected))


def test_survival_at_the_own_time_is_given_survival_to_the_entry(rng):
    X = rng.normal(size=(700, 1))
    entry = rng.exponential(size=700)
    target = as_target(
        make_target(entry + rng.exponential(size=700), np.ones(700, int), entry=entry)
    )
    expected = np.exp(-np.exp(X[:, 0]) * (target.time - target.entry))
    np.testing.assert_allclose(survival_at_own_time(Exponential(), X, target), expected, rtol=1e-9)
