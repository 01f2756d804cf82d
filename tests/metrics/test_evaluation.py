import numpy as np
import pandas as pd
import pytest

from helpers.metric_samples import ExponentialModel, draw_exponential
from lifemix import make_target, metrics
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import Measure, evaluate, evaluation
from lifemix.metrics.evaluation import marginal_risk
from lifemix.splits import horizons
from lifemix.target import as_target

HORIZONS = [0.5, 0.2, 1.0]
GRID = np.linspace(0, 1, 101)
MODEL = ExponentialModel()


def draw(rng, n_events):
    """Return training target, and covariates and target of test data."""
    return draw_exponential(rng, 400, n_events)[1], *draw_exponential(rng, 500, n_events)


@pytest.fixture
def single(rng):
    return draw(rng, 1)


@pytest.fixture
def competing(rng):
    return draw(rng, 2)


def value(table, metric, event=1, horizon=None):
    rows = table[(table["metric"] == metric) & (table["event"] == event)]
    return (rows if horizon is None else rows[rows["horizon"] == horizon])["value"].item()


@pytest.mark.parametrize("n_events", [1, 2])
@pytest.mark.parametrize("options", [{}, {"compat": "sksurv"}, {"competing": "wolbers"}], ids=str)
def test_holds_the_values_of_the_metrics(n_events, options, rng):
    y_train, X, y = draw(rng, n_events)
    table = evaluate(MODEL, y_train, X, y, HORIZONS, **options)
    assert table.columns.tolist() == ["metric", "event", "horizon", "value"]
    assert not table["value"].isna().any()
    compat = {"compat": options.get("compat")}
    for event in range(1, n_events + 1):
        for t in HORIZONS:
            risk = MODEL.predict_cumulative_incidence(X, [t], event)[:, 0]
            expected = {
                "concordance_td": metrics.concordance_td(y_train, y, risk, t, event, **options),
                "brier": metrics.brier_score(y_train, y, 1 - risk, t, event, **compat),
                "auc": metrics.auc_td(y_train, y, risk, t, event, **compat),
            }
            got = {name: value(table, name, event, t) for name in expected}
            assert got == pytest.approx(expected, rel=1e-12)
        curves = 1 - MODEL.predict_cumulative_incidence(X, GRID, event)
        total = metrics.integrated_brier_score(y_train, y, curves, GRID, event, **compat)
        assert value(table, "integrated_brier", event, 1.0) == pytest.approx(total)
    if n_events == 1:
        test = metrics.d_calibration(y, np.exp(-np.exp(X[:, 0]) * y[0]))
        assert value(table, "d_calibration") == pytest.approx(test.statistic)
        assert value(table, "d_calibration_p") == pytest.approx(test.p_value)
    n_values = n_events * (3 * 3 + 1) + 2 * (n_events == 1)
    assert len(table) == n_values


def test_models_receive_times_in_order_and_any_table(single):
    class InOrder(ExponentialModel):
        def predict_survival_function(self, X, times):
            assert (np.diff(times) > 0).all()
            return super().predict_survival_function(X, times)

    y_train, X, y = single
    frame = pd.DataFrame(X, columns=["x"], index=np.arange(len(X))[::-1])
    expected = evaluate(MODEL, y_train, X, y, HORIZONS)
    pd.testing.assert_frame_equal(evaluate(InOrder(), y_train, frame, y, HORIZONS), expected)


def test_horizons_beyond_the_follow_up_are_nan_and_the_others_are_not(single):
    y_train, X, y = single
    with pytest.warns(LifemixWarning) as caught:
        table = evaluate(MODEL, y_train, X, y, [0.5, 1e6])
    assert any("followed up to" in str(warning.message) for warning in caught)
    assert np.isfinite(value(table, "brier", horizon=0.5))
    assert np.isnan([value(table, "brier", 1, 1e6), value(table, "integrated_brier")]).all()


def test_predictions_of_another_shape_are_refused(single):
    class Transposed(ExponentialModel):
        def predict_survival_function(self, X, times):
            return super().predict_survival_function(X, times).T

    with pytest.raises(InputError, match=r"must have shape \(500, 100\); got \(100, 500\)"):
        evaluate(Transposed(), *single, HORIZONS)


def test_intervals_hold_the_value_and_the_same_seed_gives_the_same_intervals(single):
    y_train, X, y = single
    tables = [
        evaluate(MODEL, *single, 0.5, n_bootstrap=30, random_state=seed) for seed in (3, 3, 4)
    ]
    table, again, other = tables
    pd.testing.assert_frame_equal(again, table)
    assert not np.allclose(other["lower"], table["lower"])
    pd.testing.assert_frame_equal(table.iloc[:, :4], evaluate(MODEL, *single, 0.5))
    is_test = table["metric"].str.startswith("d_calibration")
    assert is_test.sum() == 2
    assert table.loc[is_test, ["lower", "upper"]].isna().all(axis=None)
    inside = (table["lower"] < table["value"]) & (table["value"] < table["upper"])
    assert inside[~is_test].all()
    expected = metrics.bootstrap(
        lambda y, risk: metrics.concordance_td(y_train, y, risk, 0.5),
        y,
        1 - MODEL.predict_survival_function(X, [0.5])[:, 0],
        n_resamples=30,
        random_state=3,
    )
    lower = table.set_index("metric")["lower"]
    assert lower["concordance_td"] == pytest.approx(expected.lower)


def test_selected_measures(single):
    table = evaluate(MODEL, *single, HORIZONS, measures=["auc", "integrated_brier"])
    assert table["metric"].tolist() == ["auc"] * 3 + ["integrated_brier"]
    with pytest.raises(SettingError, match="unknown measure; got 'accuracy', expected one of"):
        evaluate(MODEL, *single, HORIZONS, measures=["accuracy"])


def test_a_registered_measure_is_evaluated_with_the_others(competing, monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))

    def mean_risk(y_train, y_test, risk, horizons, event):
        assert (len(y_train), risk.shape) == (400, (500, len(horizons)))
        return event * 100 + risk.mean(axis=0)

    y_train, X, y = competing
    metrics.register_measure(Measure("mean_risk", "mean risk", None, "horizon", mean_risk))
    table = evaluate(MODEL, y_train, X, y, [0.5])
    for event in (1, 2):
        risk = MODEL.predict_cumulative_incidence(X, [0.5], event=event)
        assert value(table, "mean_risk", event, 0.5) == pytest.approx(100 * event + risk.mean())
    optional = Measure("mean_risk", "mean risk", None, "horizon", mean_risk, standard=False)
    metrics.register_measure(optional)
    assert "mean_risk" not in set(evaluate(MODEL, y_train, X, y, [0.5])["metric"])
    with pytest.raises(SettingError, match="a measure called 'brier' exists already"):
        metrics.register_measure(Measure("brier", "x", None, "horizon", mean_risk))
    with pytest.raises(SettingError, match=r"kind must be one of .* got 'row'"):
        metrics.register_measure(Measure("other", "x", None, "row", mean_risk))


def test_mean_concordance_is_over_event_types_and_their_quartiles(competing):
    y_train, X, y = competing
    got = metrics.mean_concordance(
        lambda times, event: MODEL.predict_cumulative_incidence(X, times, event), y_train, y
    )
    expected = []
    for event in (1, 2):
        for t in horizons(y_train, event=event):
            risk = MODEL.predict_cumulative_incidence(X, [t], event)[:, 0]
            expected.append(metrics.concordance_td(y_train, y, risk, t, event))
    assert got == pytest.approx(np.mean(expected))


def test_survival_at_the_time_of_a_row_is_conditional_on_its_entry(rng):
    X, entry = rng.normal(size=(700, 1)), rng.exponential(size=700)
    time = entry + rng.exponential(size=700)
    target = as_target(make_target(time, np.ones(700, int), entry=entry))
    expected = np.exp(-np.exp(X[:, 0]) * (time - entry))
    np.testing.assert_allclose(metrics.survival_at_own_time(MODEL, X, target), expected, rtol=1e-9)


@pytest.mark.parametrize("event", [1, 2])
def test_scaled_scores_compare_with_the_marginal_curve(event, competing):
    y_train, X, y = as_target(competing[0]), competing[1], as_target(competing[2])
    times = np.linspace(0, 1, 11)
    risk = MODEL.predict_cumulative_incidence(X, times, event)
    marginal = np.tile(marginal_risk(y_train, times, event), (len(X), 1))
    for measure, score, at in (
        ("scaled_brier", metrics.brier_score, slice(1, None)),
        ("integrated_scaled_brier", metrics.integrated_brier_score, slice(None)),
    ):
        scaled = metrics.measure_named(measure).function
        null = metrics.measure_named(measure.replace("scaled", "marginal")).function
        arguments = times[at], event
        expected = score(y_train, y, 1 - marginal[:, at], *arguments)
        np.testing.assert_allclose(null(y_train, y, risk[:, at], *arguments), expected)
        ratio = score(y_train, y, 1 - risk[:, at], *arguments) / expected
        np.testing.assert_allclose(scaled(y_train, y, risk[:, at], *arguments), 1 - ratio)
        assert scaled(y_train, y, marginal[:, at], *arguments) == pytest.approx(0)


def test_the_marginal_curve_is_one_minus_kaplan_meier_and_constant_after_its_end(single):
    train = as_target(single[0])
    last = train.time.max()
    expected = 1 - metrics.kaplan_meier(train).at([0.5, last])
    np.testing.assert_allclose(marginal_risk(train, np.array([0.5, 10 * last]), 1), expected)


def test_observed_over_expected():
    y, times = as_target(make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])), np.array([1.5, 2.5, 9.0])
    ratio = metrics.measure_named("observed_expected").function
    np.testing.assert_allclose(ratio(y, y, np.full((4, 3), 0.25), times, 1), [1.0, 2.0, np.nan])
    assert np.isnan(ratio(y, y, np.zeros((4, 3)), times, 1)).all()


def test_optional_measures(single):
    names = {measure.name for measure in metrics.registered_measures() if not measure.standard}
    assert {"scaled_brier", "marginal_brier", "observed_expected", "ici"} <= names
    y_train, X, y = single
    risk = MODEL.predict_cumulative_incidence(X, [0.5])[:, 0]
    expected = metrics.integrated_calibration_index(y, risk, 0.5)
    table = evaluate(MODEL, y_train, X, y, 0.5, measures=["ici"])
    assert value(table, "ici") == pytest.approx(expected)
