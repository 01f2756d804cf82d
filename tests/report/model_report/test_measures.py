"""The numbers of the report are those of the metrics, and their intervals those of the bootstrap."""

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter

from lifemix import metrics
from lifemix.baselines import AalenJohansen, KaplanMeier
from lifemix.errors import InputError, SettingError
from lifemix.report.model_report.context import gather
from lifemix.report.model_report.data import median_time
from lifemix.report.model_report.measures import measure_quality, null_risk
from lifemix.report.model_report.typical_subjects import typical_rows
from lifemix.report.predictions import incidences, quick_incidences
from lifemix.target import as_target


def report_of(model, X, y, **options):
    settings = {"time_unit": None, "event_names": None, "horizons": None, "n_bootstrap": 30, "max_rows": 10_000}
    return gather(model, X, y, **(settings | {"random_state": 0} | options))


def test_quick_incidences_are_near_the_exact_ones(competing):
    model, X, _ = competing
    times = np.array([1e-3, 0.1, 0.5, 1.5, 3.0])
    quick, exact = quick_incidences(model, X, times, 2), incidences(model, X, times, 2)
    np.testing.assert_allclose(quick, exact, atol=2e-4)
    np.testing.assert_allclose(quick.sum(0) + model.predict_survival_function(X, times), 1, atol=1e-6)


@pytest.mark.parametrize("which", ["single", "competing"])
def test_measures_are_those_of_evaluate(which, request):
    model, X, y = request.getfixturevalue(which)
    report = report_of(model, X, y)
    table = metrics.evaluate(model, report.base, X, y, report.horizons)
    for event, quality in enumerate(measure_quality(report), 1):
        for name, measure in (
            ("concordance", quality.concordance),
            ("auc", quality.auc),
            ("brier", quality.brier),
            ("integrated_brier", quality.integrated),
        ):
            known = table[(table["metric"] == name) & (table["event"] == event)]["value"]
            tolerance = 1e-4 if name == "integrated_brier" and which == "competing" else 1e-9  # quick incidences
            np.testing.assert_allclose(measure.value, known, atol=tolerance)
            assert (measure.lower <= measure.value).all()
            assert (measure.value <= measure.upper).all()
        np.testing.assert_allclose(quality.gain.value, 1 - quality.brier.value / quality.null_brier)
        np.testing.assert_allclose(
            quality.integrated_gain.value, 1 - quality.integrated.value / quality.null_integrated
        )


def test_integrated_score_is_the_trapezoidal_rule(single):
    model, X, y = single
    report = report_of(model, X, y)
    grid = np.append(0.0, report.grid)
    survival = model.predict_survival_function(X, grid)
    expected = metrics.integrated_brier_score(report.base, y, survival, grid, 1, rule="trapezoid")
    assert measure_quality(report)[0].integrated.value[0] == pytest.approx(expected, abs=1e-12)


def test_intervals_are_the_bootstrap_of_the_metric(single):
    model, X, y = single
    report = report_of(model, X, y)
    risk, t = report.risks[0][:, 1], float(report.horizons[1])
    expected = metrics.bootstrap(
        lambda y, r: metrics.concordance_td(report.base, y, r, t), y, risk, n_resamples=30, random_state=0
    )
    measure = measure_quality(report)[0].concordance
    assert (measure.lower[1], measure.upper[1]) == pytest.approx((expected.lower, expected.upper))


def test_observed_over_expected_is_one_for_the_observed_risk(single):
    _, X, y = single
    quality = measure_quality(report_of(KaplanMeier().fit(X, y), X, y))[0]
    np.testing.assert_allclose(quality.ratio.value, 1, atol=1e-9)


@pytest.mark.parametrize("which", ["single", "competing"])
def test_a_model_without_covariates_gains_nothing(which, request):
    _, X, y = request.getfixturevalue(which)
    model = (KaplanMeier if which == "single" else AalenJohansen)().fit(X, y)
    for quality in measure_quality(report_of(model, X, y)):
        np.testing.assert_allclose(quality.gain.value, 0, atol=1e-9)
        np.testing.assert_allclose(quality.integrated_gain.value, 0, atol=1e-9)
        np.testing.assert_allclose(quality.concordance.value, 0.5)


def test_null_risk_is_one_minus_kaplan_meier(single):
    model, X, y = single
    report = report_of(model, X, y)
    expected = 1 - metrics.kaplan_meier(model.training_target_).at(report.horizons)
    np.testing.assert_allclose(null_risk(report, report.horizons, 1), expected)


def test_median_follow_up_is_that_of_lifelines(single):
    _, _, (times, event) = single
    reverse = as_target((times, event == 0))
    assert median_time(reverse) == KaplanMeierFitter().fit(times, event == 0).median_survival_time_
    assert median_time(as_target(([1.0, 2.0], [0, 0]))) is None


def test_typical_rows_stand_at_their_quantiles():
    risk = np.random.default_rng(0).permutation(101) / 100
    assert {name: risk[row] for name, row in typical_rows(risk).items()} == {"low": 0.1, "medium": 0.5, "high": 0.9}


def test_horizons_are_quartiles_of_the_training_event_times(single):
    model, X, y = single
    target = model.training_target_
    expected = np.quantile(target.time[target.event > 0], [0.25, 0.5, 0.75])
    np.testing.assert_allclose(report_of(model, X, y).horizons, expected, rtol=6e-3)
    assert report_of(model, X, y, horizons=[0.5, 99.0]).horizons.tolist() == [0.5]


def test_rows_that_measures_cannot_use_are_left_out(single):
    model, X, (times, event) = single
    y = pd.DataFrame({"time": times, "event": event, "entry": np.where(np.arange(400) < 50, times / 2, 0.0)})
    report = report_of(model, X, y)
    assert (len(report.target), len(report.y), len(report.X)) == (400, 350, 350)
    assert report_of(model, X, y, max_rows=100).risks.shape[1] == 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": slice(5)}, "same rows; got 5 in X and 400 in y"),
        ({"event": 2}, r"y has event code 2; the model has event types 1..1 only"),
    ],
)
def test_bad_rows_are_refused(single, change, message):
    model, X, (times, event) = single
    with pytest.raises(InputError, match=message):
        report_of(model, X[change.get("X", slice(None))], (times, event * change.get("event", 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event_names": ["a", "b"]}, "event_names must name each of the event types 1..1"),
        ({"event_names": "death"}, "event_names must name each of the event types 1..1"),
        ({"horizons": [1e6]}, "horizons must lie within the follow-up"),
    ],
)
def test_bad_options_are_refused(single, options, message):
    model, X, y = single
    with pytest.raises(SettingError, match=message):
        report_of(model, X, y, **options)
