"""The numbers of the report are those of the metrics, and every registered measure is among them."""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from numpy.testing import assert_allclose

from lifemix import metrics
from lifemix.baselines import AalenJohansen, FineGray, KaplanMeier
from lifemix.errors import LifemixWarning
from lifemix.metrics import Measure, evaluation, register_measure
from lifemix.report.page import gather
from lifemix.report.sections import measure_quality, median_time, of_event, typical_rows
from lifemix.target import as_target


def report_of(model, X, y):
    options = dict.fromkeys(["time_unit", "event_names", "horizons"])
    return gather(model, X, y, n_bootstrap=5, max_rows=10_000, random_state=0, **options)


def high_share(y_train, y_test, risk, horizons, event):
    return (risk > 0.5).mean(axis=0)


def mean_of_curve(y_train, y_test, risk, grid, event):
    return risk.mean()


def mean_at_time(y_test, survival):
    return survival.mean()


@pytest.mark.parametrize("name", ["single", "competing"])
def test_quality_is_that_of_evaluate_with_registered_measures(name, request, monkeypatch):
    monkeypatch.setattr(evaluation, "_MEASURES", dict(evaluation._MEASURES))
    for measure in (
        Measure("high_share", "above one half", "lower", "horizon", high_share, percent=True),
        Measure("mean_of_curve", "mean of the curve", None, "curve", mean_of_curve),
        Measure("mean_at_time", "mean at the time", None, "own_time", mean_at_time),
    ):
        register_measure(measure)
    model, X, y = request.getfixturevalue(name)
    if name == "competing":
        model = FineGray().fit(X, y)
    report = report_of(model, X, y)
    quality = measure_quality(report)
    expected = metrics.evaluate(model, report.reference, X, y, report.horizons, n_bootstrap=5)
    keys, columns = ["metric", "event", "horizon"], ["value", "lower", "upper"]
    expected = expected.dropna(subset="horizon").set_index(keys)[columns]
    numbers = quality.set_index(keys)[columns].loc[expected.index]
    assert_allclose(numbers, expected, atol=1e-12)
    content = of_event(report, quality, 1)
    rows = {row[0][0]: row[1:] for row in content["by_horizon"][2:] + content["over_time"]}
    assert {"Cᵗᵈ", "AUC", "mean of the curve"} <= set(rows)
    assert ("mean at the time" in rows) == (name == "single")
    share = 100 * (report.risks[0][:, 0] > 0.5).mean()
    assert rows["above one half"][0][0] == f"{share:.1f} %"


def test_an_event_type_without_events_is_undefined(competing):
    _, X, (times, event) = competing
    model = AalenJohansen().fit(X, (times, event))
    report = report_of(model, X, (times, np.where(event == 2, 0, event)))
    with pytest.warns(LifemixWarning):
        content = of_event(report, measure_quality(report), 2)
    assert content["key"][0][1:3] == ["–", ""]


@pytest.mark.parametrize(("kind", "name"), [(KaplanMeier, "single"), (AalenJohansen, "competing")])
def test_a_model_without_covariates_is_the_marginal_curve(kind, name, request):
    _, X, y = request.getfixturevalue(name)
    quality = measure_quality(report_of(kind().fit(X, y), X, y)).set_index("metric")["value"]
    assert_allclose(quality["observed_expected"], 1, atol=1e-9)
    assert_allclose(quality["scaled_brier"], 0, atol=1e-9)
    assert_allclose(quality["integrated_scaled_brier"], 0, atol=1e-9)
    assert_allclose(quality["concordance_td"], 0.5)


def test_median_follow_up_is_that_of_lifelines(single):
    _, _, (times, event) = single
    reverse = as_target((times, event == 0))
    assert median_time(reverse) == KaplanMeierFitter().fit(times, event == 0).median_survival_time_
    assert median_time(as_target(([1.0, 2.0], [0, 0]))) is None


def test_typical_rows_are_at_quantiles_of_the_risk():
    risk = np.random.default_rng(0).permutation(101) / 100
    rows = {name: risk[row] for name, row in typical_rows(risk).items()}
    assert rows == {"low": 0.1, "medium": 0.5, "high": 0.9}
