import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lifemix.errors import InputError, LifemixWarning
from lifemix.metrics import auc_td
from lifemix.metrics.censoring import censoring_curve

SCORES = {"score_any": (None, 1), "score_1": (1, 1), "score_2": (2, 2)}


@pytest.mark.parametrize("name", ["tied", "continuous"])
@pytest.mark.parametrize("kind", SCORES)
def test_equals_risk_regression_in_r(name, kind, references, r_values):
    data, expected, (event, column) = references[name], r_values[name][kind], SCORES[kind]
    horizons = np.asarray(expected["horizons"])
    got = auc_td(data.y, data.y, data.incidence(column, len(horizons)), horizons, event)
    np.testing.assert_allclose(got, expected["auc"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["tied", "continuous"])
@pytest.mark.parametrize("train", ["own", "train"])
@pytest.mark.parametrize("event", [1, 2])
def test_compat_equals_scikit_survival(name, train, event, references, sksurv_values, horizons):
    train = name if train == "own" else train
    data, y_train = references[name], references[train].y
    expected = sksurv_values[f"{name}/{train}/{event}"]
    times = horizons[: len(expected["auc"])]
    got = auc_td(y_train, data.y, data.risk, times, event, compat="sksurv")
    np.testing.assert_allclose(got, expected["auc"], rtol=0, atol=1e-12)
    got = auc_td(y_train, data.y, data.incidence(event, len(times)), times, event, compat="sksurv")
    np.testing.assert_allclose(got, expected["auc_by_time"], rtol=0, atol=1e-12)


@st.composite
def samples(draw):
    cell = st.tuples(st.integers(1, 8), st.integers(0, 2), st.integers(-3, 3))
    rows = [*draw(st.lists(cell, min_size=1, max_size=40)), (9, 0, 0)]
    time, event, risk = (np.array(column) for column in zip(*rows, strict=True))
    return time.astype(float), event, risk / 2.0


@given(samples())
def test_equals_the_sum_over_pairs(sample):
    time, event, risk = sample
    horizon = 5.0
    case = (time <= horizon) & (event == 1)
    assume(case.any())
    curve = censoring_curve(time, event == 0)
    own = 1 / curve.before(time)
    control = np.where(
        time > horizon, 1 / curve.at(np.array([horizon])), np.where(event == 2, own, 0.0)
    )
    weight = (own * case)[:, None] * control[None, :]
    share = (risk[:, None] > risk[None, :]) + 0.5 * (risk[:, None] == risk[None, :])
    assert auc_td((time, event), (time, event), risk, horizon) == pytest.approx(
        (weight * share).sum() / weight.sum()
    )


@given(samples(), st.integers(0, 10**6))
def test_compat_ties_risks_as_scikit_survival_does(sample, seed):
    metrics = pytest.importorskip("sksurv.metrics")
    from sksurv.util import Surv

    time, event, risk = sample
    assume(((event == 1) & (time <= 5)).any() and time.min() < 5)
    y = Surv.from_arrays(event == 1, time)
    risk = risk * 1e-8 + np.random.default_rng(seed).choice([0.0, 5e-9, 2e-8], len(risk))
    expected = metrics.cumulative_dynamic_auc(y, y, risk, [5.0])[0][0]
    assert auc_td(y, y, risk, 5.0, compat="sksurv") == pytest.approx(expected, abs=1e-12)


def test_one_risk_serves_all_horizons(references, horizons):
    data = references["tied"]
    together = auc_td(data.y, data.y, data.risk, horizons)
    columns = auc_td(data.y, data.y, np.repeat(data.risk[:, None], len(horizons), axis=1), horizons)
    np.testing.assert_array_equal(together, columns)
    assert isinstance(auc_td(data.y, data.y, data.risk, 3.0), float)


def test_without_censoring_it_is_the_area_under_the_usual_roc_curve(rng):
    sklearn = pytest.importorskip("sklearn.metrics")
    time, risk = rng.exponential(size=200), rng.normal(size=200).round(1)
    y = (time, np.ones(200, int))
    assert auc_td(y, y, risk, 1.0) == pytest.approx(
        sklearn.roc_auc_score(time <= 1.0, risk), abs=1e-12
    )


class TestLimits:
    TRAIN = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])

    def test_test_times_beyond_the_training_follow_up_do_not_matter_at_an_earlier_horizon(self):
        test = ([1.0, 2.0, 3.5, 100.0], [1, 1, 1, 1])
        for compat in (None, "sksurv"):
            assert auc_td(self.TRAIN, test, [4, 3, 2, 1], 3.0, compat=compat) == 1.0

    def test_no_case_or_no_control_is_nan(self):
        test = ([2.0, 3.0, 3.0], [1, 1, 0])
        with pytest.warns(LifemixWarning, match="no case at the horizon 1; the result is NaN"):
            assert np.isnan(auc_td(self.TRAIN, test, [1, 2, 3], 1.0))
        with pytest.warns(LifemixWarning, match="no control at the horizon 3"):
            assert np.isnan(auc_td(self.TRAIN, test, [1, 2, 3], 3.0))
        with pytest.warns(LifemixWarning, match="no row of y_test has the event"):
            assert np.isnan(auc_td(self.TRAIN, ([1.0, 2.0], [0, 0]), [1, 2], 1.0))

    def test_horizons_beyond_the_follow_up_are_nan(self):
        with pytest.warns(LifemixWarning, match="not defined at the horizons 5, 6"):
            got = auc_td(self.TRAIN, self.TRAIN, [4, 3, 2, 1], [2.0, 5.0, 6.0])
        assert got[0] == 1.0
        assert np.isnan(got[1:]).all()

    def test_bad_shapes_are_refused(self):
        with pytest.raises(
            InputError, match=r"risk must have shape \(4,\), or \(4, 2\).*got \(2, 4\)"
        ):
            auc_td(self.TRAIN, self.TRAIN, np.zeros((2, 4)), [1.0, 2.0])
        with pytest.raises(InputError, match="risk must be finite"):
            auc_td(self.TRAIN, self.TRAIN, np.full((4, 2), np.nan), [1.0, 2.0])
