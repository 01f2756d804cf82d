"""Identities of every distribution: mixtures, competing risks, grids, averages, and given survival."""

import numpy as np
import pytest
from scipy import stats

from helpers.distributions import DISTRIBUTIONS, competing, single
from helpers.quadrature import integral_of_survival
from lifemix.distribution import base
from lifemix.errors import InputError

EVERY = pytest.mark.parametrize("make", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
T = np.array([0.0, 0.05, 0.4, 1.0, 2.5, 8.0, 30.0])
CORNERS = [0.2, 0.3, 0.5, 0.9, 1.4, 3.0]  # of grids, and of curves given survival


@EVERY
def test_shapes_are_rows_by_values(make):
    d = make()
    for name in ("survival", "cumulative_hazard", "hazard", "pdf", "rmst"):
        assert getattr(d, name)(T).shape == (3, len(T))
    assert d.survival(1.0).shape == (3, 1)
    assert d.quantile([0.1, 0.5]).shape == (3, 2)
    assert d.rmst(2.0).shape == d.mean().shape == d.median().shape == (3,)
    assert len(d[1:]) == 2
    np.testing.assert_allclose(d[[2, 0]].survival(T), d.survival(T)[[2, 0]], rtol=1e-14)


@EVERY
def test_functions_of_time_belong_together(make):
    d, h = make(), 1e-5
    survival = d.survival(T)
    assert (np.diff(survival, axis=1) <= 1e-15).all()
    np.testing.assert_allclose(survival[:, 0], 1)
    assert ((survival >= 0) & (survival <= 1)).all()
    np.testing.assert_allclose(np.exp(-d.cumulative_hazard(T)), survival, rtol=1e-12)
    density = d.hazard(T[1:]) * survival[:, 1:]
    np.testing.assert_allclose(density, d.pdf(T[1:]), rtol=1e-9, atol=1e-12)
    t = np.array([0.35, 0.7, 1.1, 3.5, 5.0, 8.0])
    slope = (d.survival(t - h) - d.survival(t + h)) / (2 * h)
    np.testing.assert_allclose(d.pdf(t), slope, rtol=1e-5, atol=1e-8)


@EVERY
def test_quantile_inverts_survival(make):
    d = make()
    levels = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    times = d.quantile(levels)
    for row in range(3):
        survival = d[[row]].survival(times[row])[0]
        np.testing.assert_allclose(survival, 1 - levels, rtol=1e-8, atol=1e-9)
    since = 0.0 if d._survived_to is None else d._survived_to[0]
    np.testing.assert_allclose(d.quantile([0.0])[:, 0], since)
    assert (d.quantile(1.0) == np.inf).all()


@EVERY
def test_mean_and_rmst_are_integrals_of_survival(make):
    d, ends = make(), [0.25, 4.0]
    expected = [integral_of_survival(d.survival, end, CORNERS) for end in ends]
    np.testing.assert_allclose(d.rmst(np.array(ends)), np.transpose(expected), rtol=1e-7)
    np.testing.assert_allclose(d.rmst(4.0), expected[1], rtol=1e-7)
    expected = integral_of_survival(d.survival, np.exp(60.0), CORNERS)
    np.testing.assert_allclose(d.mean(), expected, rtol=1e-5)


@EVERY
def test_incidences_and_survival_add_up_to_one_and_the_density(make):
    d, h = make(), 1e-4
    incidences = d.cumulative_incidences(T)
    np.testing.assert_allclose(incidences.sum(0) + d.survival(T), 1, atol=1e-8)
    for event in range(1, d.n_events + 1):
        np.testing.assert_array_equal(d.cumulative_incidence(T, event), incidences[event - 1])
    t = np.array([0.7, 3.5, 8.0])
    slopes = (d.cumulative_incidences(t + h) - d.cumulative_incidences(t - h)) / (2 * h)
    np.testing.assert_allclose(slopes.sum(0), d.pdf(t), rtol=1e-4, atol=1e-7)


@EVERY
def test_conditioning_divides_by_survival(make):
    d = make()
    for since in (0.4, 1.2):
        t = np.array([since, since + 0.7, 9.0])
        conditional, survival = d.given(since), d.survival(since)
        assert (conditional.survival(since / 2) == 1).all()
        np.testing.assert_allclose(conditional.survival(t), d.survival(t) / survival, rtol=1e-9)
        again = d.given(since / 2).given(since).survival(t)
        np.testing.assert_allclose(again, conditional.survival(t), rtol=1e-9)
        gain = d.cumulative_incidences(t) - d.cumulative_incidences(since)
        incidences = conditional.cumulative_incidences(t)
        np.testing.assert_allclose(incidences * survival, gain, rtol=1e-6, atol=2e-6)


@EVERY
def test_samples_follow_the_distribution(make):
    d = make()
    draws, again = (d.sample(1000, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(draws, again)
    times, events = (draws, np.ones(draws.shape)) if d.n_events == 1 else draws
    assert times.shape == (3, 1000)
    for row in range(3):
        cdf = lambda t, single_row=d[[row]]: 1 - single_row.survival(t)[0]  # noqa: E731
        assert stats.kstest(times[row], cdf).pvalue > 1e-3
    for event in range(1, d.n_events + 1):
        share = ((events == event) & (times <= 3.5)).mean(1)
        np.testing.assert_allclose(share, d.cumulative_incidence(3.5, event)[:, 0], atol=0.06)


@pytest.mark.parametrize("make", [single, competing])
def test_arrays_may_be_reversed_read_only_or_change_later(make):
    d, since, fixed = make("weibull"), np.array([0.1, 0.5, 2.0]), T.copy()
    fixed.flags.writeable = False
    for name in ("survival", "hazard", "rmst"):
        expected = getattr(d, name)(T)
        np.testing.assert_array_equal(getattr(d, name)(T[::-1]), expected[:, ::-1])
        np.testing.assert_array_equal(getattr(d, name)(fixed), expected)
    conditional = d[::-1].given(since[::-1])
    expected = d.given(since).survival(T)[::-1]
    since[:] = 5.0
    np.testing.assert_array_equal(conditional.survival(T), expected)


@pytest.mark.parametrize("make", [single, competing])
def test_large_inputs_are_evaluated_in_blocks(make, monkeypatch):
    d = make("weibull", rows=50)
    expected = d.quantile([0.2, 0.7]), d.survival(T)
    monkeypatch.setattr(base, "_BLOCK", 64)
    np.testing.assert_array_equal(d.quantile([0.2, 0.7]), expected[0])
    np.testing.assert_allclose(d.survival(T), expected[1], rtol=1e-14)


@pytest.mark.parametrize("make", [single, competing])
def test_unsuitable_conditioning_times_are_refused(make):
    with pytest.raises(InputError, match=r"one per row \(3\)"):
        make("weibull").given([1.0, 2.0])
    with pytest.raises(InputError, match="s must be finite and >= 0"):
        make("weibull").given(-1.0)
