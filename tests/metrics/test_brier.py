import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.metric_samples import ExponentialModel, draw_exponential, tied_samples
from lifemix.errors import InputError, LifemixWarning, SettingError
from lifemix.metrics import brier_score, integrated_brier_score
from lifemix.metrics.censoring import censoring_curve

CLOSE = {"rtol": 0, "atol": 1e-12}
HUNDRED = (np.arange(1.0, 101.0), np.ones(100, int))
Y = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])


@pytest.mark.parametrize(("kind", "event"), [("score_any", None), ("score_1", 1), ("score_2", 2)])
def test_equals_risk_regression_in_r(name, kind, event, references, r_values):
    data, expected = references[name], r_values[name][kind]
    horizons = np.asarray(expected["horizons"])
    survival = 1 - data.incidence(event or 1, len(horizons))
    got = brier_score(data.y, data.y, survival, horizons, event)
    np.testing.assert_allclose(got, expected["brier"], **CLOSE)
    total = integrated_brier_score(data.y, data.y, survival, horizons, event, rule="step")
    assert total == pytest.approx(expected["ibs"][-1], abs=1e-12)


@pytest.mark.parametrize("event", [1, 2])
def test_compat_equals_scikit_survival(event, sksurv_reference, horizons):
    y_train, data, expected = sksurv_reference(event)
    times = horizons[: len(expected["brier"])]
    survival = 1 - data.incidence(event, len(times))
    got = brier_score(y_train, data.y, survival, times, event, compat="sksurv")
    np.testing.assert_allclose(got, expected["brier"], **CLOSE)
    total = integrated_brier_score(y_train, data.y, survival, times, event, compat="sksurv")
    assert total == pytest.approx(expected["integrated_brier"], abs=1e-12)


@pytest.mark.parametrize("compat", [None, "sksurv"])
@pytest.mark.parametrize("event", [None, 1, 2])
@given(sample=tied_samples(), seed=st.integers(0, 10**6))
def test_equals_the_sum_over_rows(compat, event, sample, seed):
    time, kind = (np.append(values, [1.0, 1.0]) for values in sample[:2])
    kind[-2:] = 1, 2
    survival = np.random.default_rng(seed).random((len(time), 3))
    horizons = np.array([2.0, 5.0, 7.5])
    is_event = kind > 0 if event is None else kind == event
    is_rival = (kind > 0) & ~is_event & (compat is None)
    curve = censoring_curve(time, ~is_event & ~is_rival)
    g = curve.at(time) if compat else curve.before(time)
    expected = []
    for s, t in zip(survival.T, horizons, strict=True):
        after = (time > t) * (1 - s) ** 2 / curve.at(np.array([t]))
        errors = is_event * s**2 + is_rival * (1 - s) ** 2
        before = np.divide(errors, g, out=np.zeros(len(g)), where=time <= t)
        expected.append((after + before).mean())
    got = brier_score((time, kind), (time, kind), survival, horizons, event, compat=compat)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("event", [None, 2])
def test_the_true_model_has_the_expected_score(event, rng):
    X, y = draw_exponential(rng, 100_000, 2)
    horizons, model = np.array([0.3, 0.8]), ExponentialModel()
    survival = model.predict_survival_function(X, horizons)
    if event:
        survival = 1 - model.predict_cumulative_incidence(X, horizons, event)
    expected = (survival * (1 - survival)).mean(axis=0)
    got = brier_score(y, y, survival, horizons, event)
    np.testing.assert_allclose(got, expected, atol=0.003)


@given(st.sets(st.floats(0.5, 99.0), min_size=2, max_size=8))
def test_a_constant_score_integrates_to_itself_for_any_horizons(horizons):
    survival = np.full((100, len(horizons)), 0.5)
    got = integrated_brier_score(HUNDRED, HUNDRED, survival, sorted(horizons))
    assert got == pytest.approx(0.25)


@pytest.mark.parametrize("compat", [None, "sksurv"])
def test_the_step_rule_counts_no_error_before_the_first_horizon(compat):
    survival, horizons = np.full((100, 9), 0.5), np.linspace(10, 90, 9)
    options = {"compat": compat, "rule": "step"}
    got = integrated_brier_score(HUNDRED, HUNDRED, survival, horizons, **options)
    assert got == pytest.approx(0.25 * 80 / 90)


@pytest.mark.parametrize(
    ("survival", "horizons", "message"),
    [
        (np.full((4, 2), 0.5), [1.0], r"survival must have shape \(4, 1\).*got \(4, 2\)"),
        (np.full((3, 1), 0.5), [1.0], r"got \(3, 1\)"),
        (np.full((4, 1), 1.5), [1.0], r"must be probabilities.*got 1\.5 \(4 such values\)"),
        (np.full((4, 1), np.nan), [1.0], "survival must be finite"),
        (np.full((4, 1), 0.5), [[1.0]], "horizons must be a number or a vector of at least one"),
        (np.full((4, 0), 0.5), [], "horizons must be a number or a vector of at least one"),
    ],
)
def test_unsuitable_arguments_are_refused(survival, horizons, message):
    with pytest.raises(InputError, match=message):
        brier_score(Y, Y, survival, horizons)


def test_the_integral_needs_a_rule_and_increasing_horizons():
    for horizons in ([1.0], [2.0, 1.0], [1.0, 1.0]):
        with pytest.raises(SettingError, match="at least two, strictly increasing"):
            integrated_brier_score(Y, Y, np.full((4, len(horizons)), 0.5), horizons)
    with pytest.raises(SettingError, match="rule must be"):
        integrated_brier_score(Y, Y, np.full((4, 2), 0.5), [1.0, 2.0], rule="simpson")


def test_weights_that_are_infinite_make_the_score_undefined():
    survival = [0.5] * 3
    with pytest.warns(LifemixWarning, match="not defined at the horizons 4"):  # G(4) = 0
        assert np.isnan(brier_score(Y, ([1.0, 2.0, 5.0], [1, 1, 0]), survival, 4.0))
    train, test = ([1.0, 2.0, 4.0, 4.0], [1, 1, 1, 0]), ([2.0, 4.0, 4.0], [1, 1, 1])
    assert brier_score(train, test, survival, 4.0) == pytest.approx(0.25)  # G(4-) = 1
    with pytest.warns(LifemixWarning, match="not defined at the horizons 4"):
        assert np.isnan(brier_score(train, test, survival, 4.0, compat="sksurv"))
    with pytest.warns(LifemixWarning, match="at the horizons 5: both samples are followed up to 4"):
        scores = brier_score(Y, Y, np.full((4, 2), 0.5), [2.0, 5.0])
    assert np.isnan(scores).tolist() == [False, True]
    with pytest.warns(LifemixWarning, match="not defined"):
        assert np.isnan(integrated_brier_score(Y, Y, np.full((4, 2), 0.5), [2.0, 5.0]))
