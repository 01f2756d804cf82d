import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.metric_samples import tied_targets
from lifemix import make_target
from lifemix.errors import LifemixWarning
from lifemix.metrics import aalen_johansen, kaplan_meier, nelson_aalen

CLOSE = {"rtol": 0, "atol": 1e-12}
Y = ([1.0, 2.0, 2.0, 4.0, 5.0], [1, 1, 0, 0, 1])
empty_risk_sets = pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")


def assert_equal_fields(curve, expected, **fields):
    for field, name in fields.items():
        theirs = [np.nan if value in (None, "Inf", "NaN") else value for value in expected[name]]
        np.testing.assert_allclose(getattr(curve, field), theirs, **CLOSE, err_msg=field)


class TestReferences:
    @pytest.mark.parametrize("kind", ["km_loglog", "km_log", "km_plain", "km_truncated"])
    def test_kaplan_meier_and_nelson_aalen_equal_survfit_in_r(
        self, name, kind, references, r_values
    ):
        data, expected = references[name], dict(r_values[name]["curves"][kind])
        y = data.truncated if kind == "km_truncated" else data.y
        transform = {"km_log": "log", "km_plain": "plain"}.get(kind, "log-log")
        curve = kaplan_meier(y, transform=transform)
        if transform == "log-log":  # R has NaN before the first event, we have 1
            for limit in ("lower", "upper"):
                ours = curve.estimate == 1
                expected[limit] = np.where(ours, 1.0, expected[limit]).tolist()
        fields = ("time", "estimate", "standard_error", "lower", "upper", "at_risk")
        assert_equal_fields(curve, expected, **{field: field for field in fields})
        names = {"estimate": "hazard", "standard_error": "hazard_standard_error"}
        assert_equal_fields(nelson_aalen(y), expected, **names)

    @pytest.mark.parametrize("event", [1, 2])
    def test_aalen_johansen_equals_cuminc_in_r(self, name, event, references, r_values):
        expected = r_values[name]["curves"]
        curve = aalen_johansen(references[name].y, event)
        assert_equal_fields(curve, expected, time="cuminc_time", estimate=f"cuminc{event}")
        variance = expected[f"cuminc{event}_var"]
        np.testing.assert_allclose(curve.standard_error**2, variance, **CLOSE)

    def test_aalen_johansen_equals_survfit_in_r(self, name, references, r_values):
        data, expected = references[name], r_values[name]["curves"]
        names = {"estimate": "estimate", "standard_error": "standard_error"}
        assert_equal_fields(aalen_johansen(data.y, variance="greenwood"), expected["aj"], **names)
        late = aalen_johansen(data.truncated)
        assert_equal_fields(late, expected["aj_truncated"], time="time", estimate="estimate")

    def test_limits_of_the_incidence_equal_scikit_survival(self, references, sksurv_values):
        curve = aalen_johansen(references["continuous"].y)
        for field in ("estimate", "lower", "upper"):
            expected = sksurv_values["incidence"][field][:-1]
            np.testing.assert_allclose(getattr(curve, field)[:-1], expected, **CLOSE)


@empty_risk_sets
@given(tied_targets())
def test_incidences_and_survival_add_up_to_one(y):
    survival = kaplan_meier(y)
    incidences = [aalen_johansen(y, event).estimate for event in (1, 2)]
    np.testing.assert_allclose(sum(incidences) + survival.estimate, 1, atol=1e-12)
    hazards = [nelson_aalen(y, event).estimate for event in (1, 2)]
    np.testing.assert_allclose(sum(hazards), nelson_aalen(y).estimate)
    any_event = aalen_johansen(y, None, variance="greenwood")
    np.testing.assert_allclose(any_event.estimate, 1 - survival.estimate, atol=1e-12)
    alive = survival.estimate > 1e-3
    errors = any_event.standard_error[alive], survival.standard_error[alive]
    np.testing.assert_allclose(*errors, rtol=1e-5)


@empty_risk_sets
@given(tied_targets(), st.sampled_from(["log-log", "log", "plain"]))
def test_limits_lie_about_the_estimate_and_widen_with_the_level(y, transform):
    for estimator in (kaplan_meier, aalen_johansen):
        wide, narrow = (estimator(y, level=level, transform=transform) for level in (0.99, 0.8))
        ascending = [np.zeros(len(wide.time)), wide.lower, narrow.lower, narrow.estimate]
        ascending += [narrow.upper, wide.upper, np.ones(len(wide.time))]
        steps = np.diff(np.array(ascending)[:, ~np.isnan(wide.standard_error)], axis=0)
        assert (steps >= -1e-12).all()


def test_other_events_are_censorings_if_an_event_is_selected(references):
    y = references["tied"].y
    expected = kaplan_meier((y["time"], y["event"] == 1)).estimate
    np.testing.assert_allclose(kaplan_meier(y, event=1).estimate, expected)


def test_left_truncation_is_undone(rng):
    n = 60_000
    times = rng.exponential([1.0, 2.0], (n, 2))
    entry = rng.exponential(0.7, n) * (rng.random(n) < 0.7)
    first = times.min(axis=1)
    enters = first > entry
    event = times.argmin(axis=1) + 1
    y = make_target(first[enters], event[enters], entry=entry[enters])
    t = np.array([0.2, 0.7, 1.5])
    np.testing.assert_allclose(kaplan_meier(y).at(t), np.exp(-1.5 * t), atol=0.015)
    np.testing.assert_allclose(aalen_johansen(y, 1).at(t), (1 - np.exp(-1.5 * t)) / 1.5, atol=0.015)
    np.testing.assert_allclose(nelson_aalen(y, 2).at(t), t / 2, atol=0.03)
    ignoring_entry = kaplan_meier((first[enters], event[enters])).at(t)
    assert np.abs(ignoring_entry - np.exp(-1.5 * t)).max() > 0.05


@pytest.mark.parametrize("truncated", [False, True])
def test_standard_errors_are_the_spread_of_the_estimates(truncated, rng):
    t, samples = 0.8, []
    for _ in range(400):
        times, censoring = rng.exponential([1.0, 2.0], (200, 2)), rng.exponential(2.0, 200)
        entry = rng.exponential(0.3, 200) * truncated
        first = np.minimum(times.min(axis=1), censoring)
        event = np.where(first == censoring, 0, times.argmin(axis=1) + 1)
        enters = (first > entry) & (first > 0.05)  # enough are at risk at the first event
        late = np.minimum(entry, 0.05 + 0.5 * entry)[enters]
        y = make_target(first[enters], event[enters], entry=late)
        curves = [kaplan_meier(y), aalen_johansen(y), nelson_aalen(y)]
        curves.append(aalen_johansen(y, variance="greenwood"))
        steps = [np.searchsorted(curve.time, t, "right") - 1 for curve in curves]
        errors = [curve.standard_error[i] for curve, i in zip(curves, steps, strict=True)]
        samples.append([[curve.at(t) for curve in curves], errors])
    estimates, errors = np.moveaxis(samples, 1, 0)
    np.testing.assert_allclose(errors.mean(axis=0), estimates.std(axis=0), rtol=0.12)


def test_values_at_times():
    curve = kaplan_meier(Y)
    np.testing.assert_array_equal([curve.at_risk, curve.events], [[5, 4, 2, 1], [1, 1, 0, 1]])
    assert np.isnan([curve.standard_error[-1], curve.lower[-1], curve.upper[-1]]).all()
    np.testing.assert_allclose(curve.at([[0.0, 1.0], [1.9, 4.5]]), [[1, 0.8], [0.8, 0.6]])
    assert curve.limits_at(0.5) == (1.0, 1.0)
    assert nelson_aalen(Y).at(0.5) == 0
    with pytest.warns(LifemixWarning, match="1 times lie beyond the last of the sample, 5"):
        assert np.isnan(curve.at([1.0, 5.5])).tolist() == [False, True]


def test_samples_without_events_and_risk_sets_that_empty_early():
    curve = kaplan_meier(([1.0, 2.0], [0, 0]))
    assert curve.estimate.tolist() == curve.lower.tolist() == curve.upper.tolist() == [1.0, 1.0]
    assert aalen_johansen(([1.0, 2.0], [0, 0])).upper.tolist() == [0.0, 0.0]
    y = make_target([2.0, 5.0, 6.0], [1, 1, 0], entry=[0.0, 3.0, 3.0])
    with pytest.warns(LifemixWarning, match="all subjects at risk at 2 have an event then"):
        assert kaplan_meier(y).estimate.tolist() == [0, 0, 0]
