import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from lifemix.datasets import load_synthetic, make_synthetic
from lifemix.datasets.synthetic import LIMIT, SyntheticTruth
from lifemix.errors import CovariateError, SettingError

MEANS = st.floats(0.05, 5000)
TIMES = st.floats(0, LIMIT)


def truth(m1, m2):
    return SyntheticTruth(np.array([[m1, m2]]), None)


@given(MEANS, MEANS, TIMES)
def test_incidences_and_survival_add_to_one(m1, m2, t):
    distribution = truth(m1, m2)
    total = (
        distribution.survival(t)
        + distribution.cumulative_incidence(t, 1)
        + distribution.cumulative_incidence(t, 2)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-10)


@settings(deadline=None)
@given(st.floats(1, 2000), st.floats(1, 2000), TIMES, st.sampled_from([1, 2]))
def test_incidence_is_the_integral_of_density_and_net_survival(m1, m2, t, event):
    mine, other = (m1, m2) if event == 1 else (m2, m1)
    density = stats.truncexpon(LIMIT / mine, scale=mine).pdf
    survival = stats.truncexpon(LIMIT / other, scale=other).sf
    expected, _ = quad(
        lambda s: density(s) * survival(s), 0, t, epsabs=1e-11, limit=200, points=[min(mine, t)]
    )
    np.testing.assert_allclose(
        truth(m1, m2).cumulative_incidence(t, event), [[expected]], atol=1e-8
    )


@given(MEANS, TIMES, st.sampled_from([1, 2]))
def test_net_survival_is_that_of_a_truncated_exponential(mean, t, event):
    distribution = truth(*((mean, 1.0) if event == 1 else (1.0, mean)))
    expected = stats.truncexpon(LIMIT / mean, scale=mean).sf(t)
    np.testing.assert_allclose(distribution.net_survival(t, event), [[expected]], atol=1e-11)


def test_truth_agrees_with_draws_by_rejection():
    rng = np.random.default_rng(0)
    m1, m2, times = 40.0, 150.0, np.array([1.0, 10.5, 50.5, 120.5])
    draws = rng.exponential([m1, m2], size=(400_000, 2))
    draws = draws[(draws < LIMIT).all(axis=1)]
    time, event = draws.min(axis=1), draws.argmin(axis=1) + 1
    distribution = truth(m1, m2)
    np.testing.assert_allclose(
        distribution.survival(times)[0], [(time > t).mean() for t in times], atol=0.005
    )
    for code in (1, 2):
        seen = [((time <= t) & (event == code)).mean() for t in times]
        np.testing.assert_allclose(
            distribution.cumulative_incidence(times, code)[0], seen, atol=0.005
        )
        seen = [((np.rint(time) <= t) & (event == code)).mean() for t in [0, 10.9, 50, 120]]
        np.testing.assert_allclose(
            distribution.rounded.cumulative_incidence([0, 10.9, 50, 120], code)[0], seen, atol=0.005
        )
    seen = [(np.rint(time) > t).mean() for t in [0, 10.9, 50, 120]]
    np.testing.assert_allclose(
        distribution.rounded.survival([0, 10.9, 50, 120])[0], seen, atol=0.005
    )


def test_survival_starts_at_one_and_ends_at_zero():
    distribution = make_synthetic(50, truth=True).truth
    survival = distribution.survival([-1.0, 0.0, LIMIT, 1e6])
    np.testing.assert_array_equal(survival, np.broadcast_to([1.0, 1.0, 0.0, 0.0], (50, 4)))
    assert distribution.survival(3.0).shape == (50, 1)


def test_truth_refuses_an_event_that_does_not_exist():
    with pytest.raises(SettingError, match="event must be 1 or 2; got 3"):
        make_synthetic(5, truth=True).truth.net_survival(1.0, 3)


def test_probability_transform_of_the_drawn_times_is_uniform():
    data = make_synthetic(20_000, random_state=1, truth=True, integer_times=False)
    time, event = data.truth.y["time"], data.truth.y["event"]
    own = data.truth.survival(time[:500])[np.arange(500), np.arange(500)]
    assert stats.kstest(own, "uniform").pvalue > 0.01
    t = np.quantile(time, 0.5)
    for code in (1, 2):
        mean_risk = data.truth.cumulative_incidence(t, code).mean()
        np.testing.assert_allclose(((time <= t) & (event == code)).mean(), mean_risk, atol=0.01)


def test_half_of_the_rows_are_censored_uniformly_before_their_event():
    data = make_synthetic(30_001, random_state=2, truth=True, integer_times=False)
    censored = data.y["event"] == 0
    assert censored.sum() == 15_000
    share = data.y["time"][censored] / data.truth.y["time"][censored]
    assert stats.kstest(share, "uniform").pvalue > 0.01
    np.testing.assert_array_equal(data.y[~censored], data.truth.y[~censored])


def test_integer_times_are_censored_at_integers_up_to_the_time():
    data = make_synthetic(30_000, random_state=3, truth=True)
    censored = data.y["event"] == 0
    time, end = data.y["time"][censored], data.truth.y["time"][censored]
    assert (time == np.floor(time)).all()
    assert (time <= end).all()
    np.testing.assert_allclose(time[end == 3].mean(), 1.5, atol=0.1)
    assert set(time[end == 3]) == {0, 1, 2, 3}


def test_seeds():
    same = [
        make_synthetic(100, random_state=seed).X for seed in (0, 0, np.random.default_rng(0), 1)
    ]
    pd.testing.assert_frame_equal(same[0], same[1])
    pd.testing.assert_frame_equal(same[0], same[2])
    assert not same[0].equals(same[3])
    with pytest.raises(SettingError, match="n must be at least 1; got 0"):
        make_synthetic(0)


def test_generator_has_the_published_shape():
    data = make_synthetic()
    assert data.X.shape == (30_000, 12)
    assert data.counts[0] == 15_000
    assert data.truth is None


@pytest.fixture
def original(shared):
    return pd.read_csv(shared("synthetic.csv.gz"))


def test_generator_agrees_with_the_original_file(original):
    data = make_synthetic(300_000, random_state=0, truth=True)
    true_time = data.truth.y["time"]
    quantiles = np.quantile(true_time, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    assert np.abs(quantiles - [3, 11, 29, 60, 85, 135]).max() <= 1  # the data set's notes
    expected = np.quantile(original["true_time"], [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    assert np.rint(expected).tolist() == [3, 11, 30, 61, 86, 135]
    assert np.abs(quantiles - expected).max() <= 1.5
    assert stats.ks_2samp(true_time, original["true_time"]).statistic < 0.008
    assert stats.ks_2samp(data.y["time"], original["time"]).statistic < 0.008
    share = (data.truth.y["event"] == 1).mean()
    assert abs(share - (original["true_label"] == 1).mean()) < 0.01
    for name in data.X:
        assert abs(data.X[name].mean() - original[name].mean()) < 0.03
        assert abs(data.X[name].std() - original[name].std()) < 0.02


def test_original_file_has_the_counts_of_the_paper(original, shared):
    data = load_synthetic(shared("synthetic.csv.gz"))
    assert data.X.shape == (30_000, 12)
    assert data.counts == {0: 15_000, 1: 7_600, 2: 7_400}
    for code in (1, 2):
        times = data.y["time"][data.y["event"] == code]
        assert np.quantile(times, [0.25, 0.5, 0.75]).tolist() == [3, 11, 30]
    np.testing.assert_array_equal(data.y["time"], original["time"])
    assert not [name for name in data.X if name.startswith("true")]


def test_reader_takes_the_layout_of_the_original_file(tmp_path):
    made = make_synthetic(20, truth=True)
    frame = made.X.assign(
        time=made.y["time"], label=made.y["event"], true_time=made.truth.y["time"], true_label=1
    )
    frame.to_csv(tmp_path / "synthetic_comprisk.csv", index=False)
    data = load_synthetic(tmp_path / "synthetic_comprisk.csv")
    pd.testing.assert_frame_equal(data.X, made.X)
    np.testing.assert_array_equal(data.y, made.y)
    frame.drop(columns=["label", "feature3"]).to_csv(tmp_path / "broken.csv", index=False)
    with pytest.raises(CovariateError, match=r"\['label', 'feature3'\] are not among"):
        load_synthetic(tmp_path / "broken.csv")
