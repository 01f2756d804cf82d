"""The numbers of the report are those of the metrics, and every registered measure is among them."""

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter

from lifemix import metrics
from lifemix.baselines import AalenJohansen, KaplanMeier
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import Measure, evaluation, predicted_risks, register_measure
from lifemix.report.model_report.context import gather
from lifemix.report.model_report.data import median_time
from lifemix.report.model_report.importance import quick_risks
from lifemix.report.model_report.quality import measure_quality, quality_section, with_interval
from lifemix.report.model_report.typical_subjects import typical_rows
from lifemix.splits import default_horizons
from lifemix.target import as_target


def report_of(model, X, y, **options):
    settings = {
        "time_unit": None,
        "event_names": None,
        "horizons": None,
        "n_bootstrap": 30,
        "max_rows": 10_000,
    }
    return gather(model, X, y, **(settings | {"random_state": 0} | options))


def test_quick_risks_are_near_the_exact_ones(competing):
    model, X, _ = competing
    times = np.array([1e-3, 0.1, 0.5, 1.5, 3.0])
    quick, exact = quick_risks(model, X, times, 2), predicted_risks(model, X, times, 2)
    np.testing.assert_allclose(quick, exact, atol=2e-4)
    np.testing.assert_allclose(
        quick.sum(0) + model.predict_survival_function(X, times), 1, atol=1e-6
    )


@pytest.mark.parametrize("which", ["single", "competing"])
def test_measures_are_those_of_evaluate(which, request):
    model, X, y = request.getfixturevalue(which)
    report = report_of(model, X, y)
    table = metrics.evaluate(model, report.base, X, y, report.horizons, n_bootstrap=30)
    quality = measure_quality(report)
    for (metric, event), rows in table.groupby(["metric", "event"]):
        np.testing.assert_allclose(quality[metric, event][:, 0], rows["value"], atol=1e-12)
        if not metric.startswith("d_calibration"):
            np.testing.assert_allclose(
                quality[metric, event], rows[["value", "lower", "upper"]], atol=1e-12
            )


def test_predictions_are_computed_once(single):
    model, X, y = single

    class Counting:
        n_events_, feature_names_in_, times = 1, model.feature_names_in_, []

        def predict_survival_function(self, X, times):
            if len(X) == len(y[0]):
                self.times.append(len(times))
            return model.predict_survival_function(X, times)

    report = report_of(Counting(), X, y)
    measure_quality(report)
    assert len(Counting.times) == 1


def test_an_event_type_of_the_model_that_no_row_has_is_shown_as_undefined(competing):
    model, X, (times, event) = competing

    class Foreign:
        """A model that does not tell its training rows."""

        n_events_, feature_names_in_ = 2, model.feature_names_in_
        predict_survival_function = staticmethod(model.predict_survival_function)
        predict_cumulative_incidence = staticmethod(model.predict_cumulative_incidence)

    report = report_of(Foreign(), X, (times, np.where(event == 2, 0, event)), n_bootstrap=2)
    with pytest.warns(LifemixWarning):
        quality = measure_quality(report)
    assert with_interval(quality, "concordance", 2) == "not defined"
    assert "–" in "".join(quality_section(report, quality).blocks)


def my_share(y_train, y_test, risk, horizons, event):
    return (risk > 0.5).mean(axis=0)


def my_curve(y_train, y_test, risk, grid, event):
    return risk.mean()


def my_own_time(y_test, survival):
    return survival.mean()


@pytest.fixture
def own_measures(monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))
    register_measure(
        Measure("my_share", "above one half <b>", "lower", "horizon", my_share, percent=True)
    )
    register_measure(Measure("my_curve", "mean of the curve", None, "curve", my_curve))
    register_measure(Measure("my_own_time", "mean at the own time", None, "own_time", my_own_time))


@pytest.mark.parametrize("which", ["single", "competing"])
def test_a_measure_of_ones_own_is_shown_without_touching_the_report(which, own_measures, request):
    report = report_of(*request.getfixturevalue(which))
    quality = measure_quality(report)
    for event, risks in enumerate(report.risks, 1):
        np.testing.assert_allclose(quality["my_share", event][:, 0], (risks > 0.5).mean(axis=0))
    page = "".join(quality_section(report, quality).blocks)
    assert "above one half &lt;b&gt;" in page
    assert "mean of the curve" in page
    assert ("mean at the own time" in page) == (which == "single")
    assert with_interval(quality, "my_share", 1).count("%") == 1


def test_a_model_without_covariates_is_the_marginal_curve(single, competing):
    for (_, X, y), kind in ((single, KaplanMeier), (competing, AalenJohansen)):
        quality = measure_quality(report_of(kind().fit(X, y), X, y))
        for event in range(1, int(np.max(y[1])) + 1):
            np.testing.assert_allclose(quality["observed_expected", event][:, 0], 1, atol=1e-9)
            np.testing.assert_allclose(quality["scaled_brier", event][:, 0], 0, atol=1e-9)
            np.testing.assert_allclose(
                quality["integrated_scaled_brier", event][:, 0], 0, atol=1e-9
            )
            np.testing.assert_allclose(quality["concordance", event][:, 0], 0.5)


def test_median_follow_up_is_that_of_lifelines(single):
    _, _, (times, event) = single
    reverse = as_target((times, event == 0))
    assert median_time(reverse) == KaplanMeierFitter().fit(times, event == 0).median_survival_time_
    assert median_time(as_target(([1.0, 2.0], [0, 0]))) is None


def test_typical_rows_stand_at_their_quantiles():
    risk = np.random.default_rng(0).permutation(101) / 100
    assert {name: risk[row] for name, row in typical_rows(risk).items()} == {
        "low": 0.1,
        "medium": 0.5,
        "high": 0.9,
    }


def test_horizons_are_the_default_ones_of_the_training_data(single):
    model, X, y = single
    np.testing.assert_array_equal(
        report_of(model, X, y).horizons, default_horizons(model.training_target_)
    )
    assert report_of(model, X, y, horizons=[0.5, 99.0]).horizons.tolist() == [0.5]


def test_rows_that_measures_cannot_use_are_left_out(single):
    model, X, (times, event) = single
    y = pd.DataFrame(
        {"time": times, "event": event, "entry": np.where(np.arange(400) < 50, times / 2, 0.0)}
    )
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
