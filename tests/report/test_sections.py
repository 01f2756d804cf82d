"""The numbers of the report are those of the metrics, and every registered measure is among them."""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter

from lifemix import metrics
from lifemix.baselines import AalenJohansen, KaplanMeier
from lifemix.errors import LifemixWarning
from lifemix.metrics import Measure, evaluation, register_measure
from lifemix.report.page import gather
from lifemix.report.sections import measure_quality, median_time, of_event, typical_rows
from lifemix.target import as_target


def report_of(model, X, y):
    options = dict.fromkeys(["time_unit", "event_names", "horizons"])
    return gather(model, X, y, n_bootstrap=30, max_rows=10_000, random_state=0, **options)


def value_of(quality, metric, event):
    return quality.loc[(quality["metric"] == metric) & (quality["event"] == event), "value"]


def my_share(y_train, y_test, risk, horizons, event):
    return (risk > 0.5).mean(axis=0)


def my_curve(y_train, y_test, risk, grid, event):
    return risk.mean()


def my_own_time(y_test, survival):
    return survival.mean()


@pytest.mark.parametrize("name", ["single", "competing"])
def test_quality_is_that_of_evaluate_with_registered_measures(name, request, monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))
    for measure in (
        Measure("my_share", "above one half", "lower", "horizon", my_share, percent=True),
        Measure("my_curve", "mean of the curve", None, "curve", my_curve),
        Measure("my_own_time", "mean at the own time", None, "own_time", my_own_time),
    ):
        register_measure(measure)
    model, X, y = request.getfixturevalue(name)
    report = report_of(model, X, y)
    quality = measure_quality(report).set_index(["metric", "event", "horizon"])
    expected = metrics.evaluate(model, report.reference, X, y, report.horizons, n_bootstrap=30)
    for row in expected.dropna(subset="horizon").itertuples():
        numbers = quality.loc[(row.metric, row.event, row.horizon), ["value", "lower", "upper"]]
        np.testing.assert_allclose(numbers, [row.value, row.lower, row.upper], atol=1e-12)
    content = of_event(report, quality.reset_index(), 1)
    rows = {row[0][0]: row[1:] for row in content["by_horizon"][2:] + content["over_time"]}
    assert {"Cᵗᵈ", "AUC", "mean of the curve"} <= set(rows)
    assert ("mean at the own time" in rows) == (name == "single")
    share = 100 * (report.risks[0][:, 0] > 0.5).mean()
    assert rows["above one half"][0][0] == f"{share:.1f} %"


def test_an_event_type_without_events_is_undefined(competing):
    model, X, (times, event) = competing

    class Foreign:
        """A model without its training rows."""

        n_events_, feature_names_in_ = 2, model.feature_names_in_
        predict_survival_function = staticmethod(model.predict_survival_function)
        predict_cumulative_incidence = staticmethod(model.predict_cumulative_incidence)

    report = report_of(Foreign(), X, (times, np.where(event == 2, 0, event)))
    with pytest.warns(LifemixWarning):
        content = of_event(report, measure_quality(report), 2)
    assert content["key"][0][1:3] == ["–", ""]


@pytest.mark.parametrize(("kind", "name"), [(KaplanMeier, "single"), (AalenJohansen, "competing")])
def test_a_model_without_covariates_is_the_marginal_curve(kind, name, request):
    _, X, y = request.getfixturevalue(name)
    quality = measure_quality(report_of(kind().fit(X, y), X, y))
    for event in range(1, int(np.max(y[1])) + 1):
        np.testing.assert_allclose(value_of(quality, "observed_expected", event), 1, atol=1e-9)
        np.testing.assert_allclose(value_of(quality, "scaled_brier", event), 0, atol=1e-9)
        np.testing.assert_allclose(
            value_of(quality, "integrated_scaled_brier", event), 0, atol=1e-9
        )
        np.testing.assert_allclose(value_of(quality, "concordance_td", event), 0.5)


def test_median_follow_up_is_that_of_lifelines(single):
    _, _, (times, event) = single
    reverse = as_target((times, event == 0))
    assert median_time(reverse) == KaplanMeierFitter().fit(times, event == 0).median_survival_time_
    assert median_time(as_target(([1.0, 2.0], [0, 0]))) is None


def test_typical_rows_are_at_quantiles_of_the_risk():
    risk = np.random.default_rng(0).permutation(101) / 100
    rows = {name: risk[row] for name, row in typical_rows(risk).items()}
    assert rows == {"low": 0.1, "medium": 0.5, "high": 0.9}
