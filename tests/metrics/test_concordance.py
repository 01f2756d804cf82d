"""Concordance against R, scikit-survival and pycox, and against the definition pair by pair."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.metric_samples import tied_samples, tied_targets
from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning
from lifemix.metrics import concordance, concordance_antolini, concordance_td
from lifemix.metrics.censoring import censoring_curve
from lifemix.target import as_target

UNCENSORED = np.array([9.0]), np.array([1])
OPTIONS = [{}, {"compat": "sksurv"}, {"competing": "wolbers"}]


def close(value):
    return pytest.approx(value, abs=1e-12)


def by_pairs(train, sample, horizon, competing="censored", compat=None):
    """Return the weighted share of concordant pairs; ``sample`` holds times, events and risks."""
    (train_time, train_event), (time, event, risk) = train, sample
    if competing == "censored":
        train_event, event = (np.where(kind == 1, 1, 0) for kind in (train_event, event))
    curve = censoring_curve(train_time, train_event == 0)
    g = curve.at(time) if compat else curve.before(time)
    cases = (event == 1) & (time < horizon if compat else time <= horizon)
    case_time, case_risk, case_g = time[cases, None], risk[cases, None], g[cases, None]
    later = (time > case_time) | ((time == case_time) & (event != 1))
    weight = (later | (event == 2)) / (case_g * np.where(later, case_g, g))
    assume(weight.any())
    wins = (case_risk > risk) + 0.5 * (case_risk == risk)
    return (weight * wins).sum() / weight.sum()


@pytest.mark.parametrize(("kind", "event"), [("concordance_any", None), ("concordance_1", 1)])
def test_equals_survival_concordance_in_r(name, kind, event, references, r_values, horizons):
    data, expected = references[name], r_values[name][kind]
    assert concordance(data.y, data.risk, event) == close(expected["harrell"])
    assert concordance(data.truncated, data.risk, event) == close(expected["truncated"])
    assert concordance_td(data.y, data.y, data.risk, None, event) == close(expected["uno"])
    reached = horizons[horizons <= data.y["time"].max()]
    assert len(reached) >= 4
    for horizon, value in zip(reached, expected["td"], strict=False):
        assert concordance_td(data.y, data.y, data.risk, horizon, event) == close(value)


def test_wolbers_equals_fine_gray_weights_in_r(references, r_values, horizons):
    data = references["tied"]
    for horizon, value in zip(horizons, r_values["tied"]["wolbers"], strict=True):
        got = concordance_td(data.y, data.y, data.risk, horizon, competing="wolbers")
        assert got == close(value)


@pytest.mark.parametrize("event", [1, 2])
def test_compat_equals_scikit_survival(event, sksurv_reference, horizons):
    y_train, data, expected = sksurv_reference(event)
    assert concordance(data.y, data.risk, event) == close(expected["harrell"])
    for horizon, value in zip(horizons, expected["concordance"], strict=False):
        got = concordance_td(y_train, data.y, data.risk, horizon, event, compat="sksurv")
        assert got == close(value)


@given(tied_samples(1), st.integers(0, 10**6), st.sampled_from([1.0, 1.3e-8, 2.7e-9]))
def test_compat_equals_scikit_survival_with_near_ties(sample, seed, scale):
    metrics = pytest.importorskip("sksurv.metrics")
    from sksurv.util import Surv

    time, event, risk = sample
    # No difference equals the tolerance, 1e-8, up to rounding.
    risk = risk * scale + np.random.default_rng(seed).choice([0.0, 4.5e-9, 2.5e-8], len(risk))
    horizon = float(np.median(time)) + 0.5
    assume(((event == 1) & (time < horizon)).any())
    y = Surv.from_arrays(event == 1, time)
    expected = metrics.concordance_index_ipcw(y, y, risk, tau=horizon)[0]
    assert concordance_td(y, y, risk, horizon, compat="sksurv") == close(expected)


@pytest.mark.parametrize("options", OPTIONS)
@given(train=tied_samples(), sample=tied_samples(), horizon=st.integers(1, 8))
def test_weighted_share_of_pairs(options, train, sample, horizon):
    expected = by_pairs(train[:2], sample, horizon, **options)
    got = concordance_td(train[:2], sample[:2], sample[2], horizon, **options)
    assert got == close(expected)


@pytest.mark.parametrize("competing", ["censored", "wolbers"])
@given(sample=tied_samples(), horizon=st.integers(1, 8))
def test_harrells_index_is_the_share_of_pairs_without_weights(competing, sample, horizon):
    expected = by_pairs(UNCENSORED, sample, horizon, competing)
    got = concordance(sample[:2], sample[2], competing=competing, horizon=horizon)
    assert got == close(expected)
    assert concordance(sample[:2], -sample[2], competing=competing, horizon=horizon) == close(
        1 - expected
    )


@pytest.mark.parametrize(
    ("time", "event", "entry", "risk", "expected"),
    [
        # The second subject enters at 2, after the event.
        ([2.0, 5.0, 6.0], [1, 1, 0], [0.0, 2.0, 1.0], [1.0, 9.0, 5.0], 1 / 2),
        # An event at time zero is compared with those at risk from the origin.
        ([0.0, 2.0, 3.0], [1, 0, 0], [0.0, 0.0, 1.0], [3.0, 1.0, 9.0], 1.0),
    ],
)
def test_entry_after_an_event_makes_no_pair(time, event, entry, risk, expected):
    assert concordance(make_target(time, event, entry=entry), risk) == close(expected)


def test_weights_undo_the_censoring(rng):
    x = rng.normal(size=100_000)
    # Not proportional, so that censoring matters.
    time = rng.exponential(np.exp(-x) * (0.3 + (x > 0)))
    censoring = rng.exponential(0.7, size=len(x))
    uncensored = concordance((time, np.ones(len(x), int)), x, horizon=1.0)
    y = (np.minimum(time, censoring), (time <= censoring).astype(int))
    weighted = concordance_td(y, y, x, 1.0)
    assert weighted == pytest.approx(uncensored, abs=0.006)
    assert abs(concordance(y, x, horizon=1.0) - uncensored) > 2 * abs(weighted - uncensored)


@pytest.mark.parametrize("options", OPTIONS)
def test_without_a_comparable_pair(options):
    y_train = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    for y in (([1.0, 2.0], [0, 0]), ([2.0, 2.0], [1, 1]), ([3.0, 3.5], [1, 1])):
        with pytest.warns(LifemixWarning, match="no pair is comparable"):
            assert np.isnan(concordance_td(y_train, y, [1, 2], 2.5, **options))
    late = ([1.0, 10.0, 20.0], [1, 1, 0])
    with pytest.warns(LifemixWarning, match=r"1 events before the horizon have no weight.*at 10"):
        assert np.isnan(concordance_td(y_train, late, [3, 2, 1], 15.0, **options))


class TestAntolini:
    def test_equals_pycox_without_ties(self, references, sksurv_values):
        expected = sksurv_values["antolini"]
        times, shape, scale = (np.asarray(expected[key]) for key in ("times", "shape", "scale"))
        survival = np.exp(-((times / scale[:, None]) ** shape[:, None]))
        got = concordance_antolini(references["continuous"].y, survival, times)
        assert got == close(expected["value"])

    @pytest.mark.parametrize("truncated", [False, True])
    @given(data=st.data(), seed=st.integers(0, 10**6))
    def test_equals_the_loop_over_cases(self, truncated, data, seed):
        y = data.draw(tied_targets(truncated))
        target = as_target(y)
        time, event, entry = target.time, target.event, target.entry
        times = np.array([1.0, 3.0, 4.0, 7.5])
        survival = np.sort(np.random.default_rng(seed).integers(0, 5, (len(y), 4)) / 4)[:, ::-1]
        wins = pairs = 0.0
        for case in np.flatnonzero((event == 1) & (time <= 7)):
            later = (time > time[case]) | ((time == time[case]) & (event != 1))
            at_risk = later & (entry < time[case])
            curve = survival[:, np.searchsorted(times, time[case], side="right") - 1]
            pairs += at_risk.sum()
            wins += (curve[case] < curve[at_risk]).sum() + (curve[case] == curve[at_risk]).sum() / 2
        assume(pairs)
        assert concordance_antolini(y, survival, times, horizon=7.0) == close(wins / pairs)

    def test_under_proportional_hazards_it_is_harrells_index(self, references):
        data = references["tied"]
        times = np.unique(data.y["time"])
        survival = np.exp(-0.05 * times * np.exp(data.risk)[:, None])
        expected = concordance(data.y, data.risk)
        assert concordance_antolini(data.y, survival, times) == close(expected)

    @pytest.mark.parametrize(
        ("shape", "times", "message"),
        [
            ((3, 2), [1.5, 4.0], "first to the last counted event, 1 to 2; got 1.5 to 4"),
            ((3, 2), [0.0, 1.5], "got 0 to 1.5"),
            ((2, 3), [1.0, 2.0], r"shape \(3, 2\), rows by times; got \(2, 3\)"),
            ((3, 2), [2.0, 1.0], "strictly increasing"),
        ],
    )
    def test_unsuitable_curves_are_refused(self, shape, times, message):
        with pytest.raises(InputError, match=message):
            concordance_antolini(([1.0, 2.0, 3.0], [1, 1, 0]), np.full(shape, 0.5), times)
