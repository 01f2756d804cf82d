"""The synthetic competing risks: truth, draws, censoring, and the original file."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad

from lifemix.datasets import load_synthetic, make_synthetic
from lifemix.datasets.synthetic import LIMIT, SyntheticTruth
from lifemix.errors import CovariateError, SettingError

MEANS = st.floats(1, 2000)
TIMES = st.floats(0, LIMIT)
# sha256 of the times of 3,000 simulated rows
DRAWN = "298e13f4f54c40363516279d8cc61b450b7fe886c74885fca5e02a823e8e338f"


@given(MEANS, MEANS, TIMES)
def test_truth_agrees_with_integrals_of_truncated_exponentials(m1, m2, t):
    distribution = SyntheticTruth(np.array([[m1, m2]]), None)
    total = distribution.survival(t)
    laws = [stats.truncexpon(LIMIT / mean, scale=mean) for mean in (m1, m2)]
    for event, (law, rival) in enumerate((laws, laws[::-1]), start=1):
        options = {"epsabs": 1e-11, "limit": 200, "points": [min(law.mean(), t)]}
        expected = quad(lambda s, law=law, rival=rival: law.pdf(s) * rival.sf(s), 0, t, **options)[
            0
        ]
        incidence = distribution.cumulative_incidence(t, event)
        assert_allclose(incidence, [[expected]], atol=1e-8)
        assert_allclose(distribution.net_survival(t, event), [[law.sf(t)]], atol=1e-11)
        total = total + incidence
    assert_allclose(total, 1.0, rtol=1e-10)


def test_truth_agrees_with_draws_by_rejection():
    draws = np.random.default_rng(0).exponential([40.0, 150.0], size=(400_000, 2))
    draws = draws[(draws < LIMIT).all(axis=1)]
    time, event = draws.min(axis=1), draws.argmin(axis=1) + 1
    exact = SyntheticTruth(np.array([[40.0, 150.0]]), None)
    for truth, drawn in ((exact, time), (exact.rounded, np.rint(time))):
        for t in (0, 1.0, 10.9, 50.5, 120.5):
            assert truth.survival(t) == pytest.approx((drawn > t).mean(), abs=0.005)
            for code in (1, 2):
                share = ((drawn <= t) & (event == code)).mean()
                assert truth.cumulative_incidence(t, code) == pytest.approx(share, abs=0.005)


def test_survival_starts_at_1_and_ends_at_0():
    distribution = make_synthetic(50, truth=True).truth
    survival = distribution.survival([-1.0, 0.0, LIMIT, 1e6])
    assert_array_equal(survival, np.broadcast_to([1.0, 1.0, 0.0, 0.0], (50, 4)))
    assert distribution.survival(3.0).shape == (50, 1)
    with pytest.raises(SettingError, match="event must be 1 or 2; got 3"):
        distribution.net_survival(1.0, 3)


def test_probability_transform_of_the_drawn_times_is_uniform():
    data = make_synthetic(2000, random_state=1, truth=True, integer_times=False)
    survival = np.diag(data.truth.survival(data.truth.y["time"]))
    assert stats.kstest(survival, "uniform").pvalue > 0.01


def test_half_of_the_rows_are_censored_uniformly_before_their_event():
    data = make_synthetic(30_001, random_state=2, truth=True, integer_times=False)
    censored = data.y["event"] == 0
    assert censored.sum() == 15_000
    share = data.y["time"][censored] / data.truth.y["time"][censored]
    assert stats.kstest(share, "uniform").pvalue > 0.01
    assert_array_equal(data.y[~censored], data.truth.y[~censored])


def test_integer_times_are_censored_at_integers_up_to_the_time():
    data = make_synthetic(30_000, random_state=3, truth=True)
    censored = data.y["event"] == 0
    time, end = data.y["time"][censored], data.truth.y["time"][censored]
    assert ((time == np.floor(time)) & (time <= end)).all()
    assert time[end == 3].mean() == pytest.approx(1.5, abs=0.1)
    assert set(time[end == 3]) == {0, 1, 2, 3}


def test_seeds_and_sizes():
    data = make_synthetic(3000, random_state=5, truth=True)
    assert data.counts == {0: 1500, 1: 769, 2: 731}
    assert hashlib.sha256(data.y["time"].astype("<i8").tobytes()).hexdigest() == DRAWN
    first = [-0.9582652054360887, 1.6000190889991115, 0.2028824405086084, -1.7321348424395848]
    assert_allclose(data.X.to_numpy()[0, :4], first, rtol=1e-12)
    pd.testing.assert_frame_equal(
        make_synthetic(3000, random_state=np.random.default_rng(5)).X, data.X
    )
    assert not make_synthetic(3000, random_state=6).X.equals(data.X)
    data = make_synthetic()
    assert (data.X.shape, data.counts[0], data.truth) == ((30_000, 12), 15_000, None)
    with pytest.raises(SettingError, match="n must be at least 1; got 0"):
        make_synthetic(0)


def test_generator_and_reader_agree_with_the_original_file(shared):
    path = shared("synthetic.csv.gz")
    original, read = pd.read_csv(path), load_synthetic(path)
    assert read.counts == {0: 15_000, 1: 7_600, 2: 7_400}
    assert list(read.X) == [f"feature{i}" for i in range(1, 13)]
    assert_array_equal(read.y["time"], original["time"])
    for code in (1, 2):
        times = read.y["time"][read.y["event"] == code]
        assert np.quantile(times, [0.25, 0.5, 0.75]).tolist() == [3, 11, 30]
    data = make_synthetic(300_000, random_state=0, truth=True)
    true_time = data.truth.y["time"]
    assert stats.ks_2samp(true_time, original["true_time"]).statistic < 0.008
    assert stats.ks_2samp(data.y["time"], original["time"]).statistic < 0.008
    shares = [(event == 1).mean() for event in (data.truth.y["event"], original["true_label"])]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)
    columns = original[list(data.X)]
    assert_allclose(data.X.mean(), columns.mean(), atol=0.03)
    assert_allclose(data.X.std(), columns.std(), atol=0.02)


def test_reader_takes_the_layout_of_the_original_file(tmp_path):
    drawn = make_synthetic(20, truth=True)
    frame = drawn.X.assign(
        time=drawn.y["time"], label=drawn.y["event"], true_time=1.0, true_label=1
    )
    frame.to_csv(tmp_path / "synthetic_comprisk.csv", index=False)
    data = load_synthetic(tmp_path / "synthetic_comprisk.csv")
    pd.testing.assert_frame_equal(data.X, drawn.X)
    assert_array_equal(data.y, drawn.y)
    frame.drop(columns=["label", "feature3"]).to_csv(tmp_path / "broken.csv", index=False)
    with pytest.raises(CovariateError, match=r"\['label', 'feature3'\] are not among"):
        load_synthetic(tmp_path / "broken.csv")
