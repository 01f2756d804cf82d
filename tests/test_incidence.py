"""Incidences of competing events against independent integrals."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from helpers.custom_primitives import members
from lifemix.incidence import (
    cumulative_incidences,
    log_incidence_between,
    means,
    restricted_means,
)
from lifemix.primitives import PRIMITIVES, LogNormal, Mixture, Weibull
from lifemix.primitives.cure import Never
from lifemix.primitives.mixture import mixed

FAMILIES = {"weibull": Weibull, "log-normal": LogNormal}


def mixtures(family, location, log_precision, dtype):
    """Return one row with two events and one component each, the second event later by a factor of e."""
    locations = torch.tensor([[[location], [location + 1.0]]], dtype=dtype)
    precisions = torch.full_like(locations, log_precision)
    return Mixture(
        torch.zeros_like(locations), FAMILIES[family].from_location(locations, precisions)
    )


def log_probability(family, location, log_precision, lower, upper, dtype):
    bounds = (torch.tensor([bound], dtype=dtype) for bound in (lower, upper))
    return float(
        log_incidence_between(
            mixtures(family, location, log_precision, dtype), *bounds, torch.tensor([1])
        )
    )


def integral_over_probability(family, location, log_precision, upper):
    """Return ``log F_1(upper)`` by adaptive quadrature of ``S_2(t(u))`` over ``u = S_1(t)``, in float64."""
    components = mixtures(family, location, log_precision, torch.float64).components
    first, second = (
        components.map(lambda values, event=event: values[0, event, 0]) for event in (0, 1)
    )

    def other_survival(u):
        time = first.inverse_log_survival(torch.tensor(math.log(u), dtype=torch.float64))
        return float(second.log_survival(time).exp())

    start = float(first.log_survival(torch.tensor(upper, dtype=torch.float64)).exp())
    value, error = quad(other_survival, start, 1.0, epsabs=0, epsrel=1e-10, limit=500)
    assert error < 1e-8 * value
    return math.log(value)


def integral_over_log_time(family, location, log_precision, lower, upper, n_panels=4000):
    """Return ``log[F_1(upper) - F_1(lower)]`` by a composite Gauss rule in log time, in float64."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = np.linspace(math.log(lower), math.log(upper), n_panels + 1)
    width = np.diff(ends)[:, None]
    log_time = torch.from_numpy((ends[:-1, None] + width * (nodes + 1) / 2).ravel())
    log_weight = torch.from_numpy(np.log(width * weights / 2).ravel())
    mixture = mixtures(family, location, log_precision, torch.float64).map(
        lambda values: values[:, None]
    )
    time = log_time.exp()[None, :, None].expand(1, -1, 2)
    log_rate = mixture.log_pdf(time)[..., 0] + mixture.log_survival(time)[..., 1]
    return float(torch.logsumexp(log_rate + log_time + log_weight, -1))


PRECISIONS = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64], ids=["float32", "float64"]
)


@PRECISIONS
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("location", "log_precision"), [(-1.0, 0.0), (1.0, 1.0), (-1.0, 1.0), (0.0, -4.0)]
)
def test_interval_from_the_origin(location, log_precision, family, dtype):
    expected = integral_over_probability(family, location, log_precision, 1.0)
    value = log_probability(family, location, log_precision, 0.0, 1.0, dtype)
    assert value == pytest.approx(expected, abs=1e-4)


@PRECISIONS
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("location", "log_precision", "half_width"),
    [
        (0.0, 0.5, 1.0),
        (0.0, 2.0, 6.0),
        (1.0, 2.0, 20.0),
        (-5.0, 2.0, 6.0),
        (-10.0, 0.0, 6.0),
    ],
)
def test_interval_of_any_width(location, log_precision, half_width, family, dtype):
    lower, upper = math.exp(-half_width), math.exp(half_width)
    expected = integral_over_log_time(family, location, log_precision, lower, upper)
    assert log_probability(family, location, log_precision, lower, upper, dtype) == pytest.approx(
        expected, abs=1e-4
    )


@pytest.mark.parametrize(("location", "half_width"), [(-10.0, 6.0), (-15.0, 10.0), (25.0, 20.0)])
def test_wide_interval_in_the_tail_of_log_normal_components(location, half_width):
    lower, upper = math.exp(-half_width), math.exp(half_width)
    expected = integral_over_log_time("log-normal", location, 2.0, lower, upper)
    for dtype in (torch.float32, torch.float64):
        value = log_probability("log-normal", location, 2.0, lower, upper, dtype)
        assert value == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("shape", [0.2, 1.5, 5.0, 20.0])
@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 10.0), (0.0, 1e4), (0.01, 100.0), (0.5, 0.9), (0.0, 1e-3), (0.999, 1.0005), (0.9, 30.0)],
)
def test_interval_incidence_is_right_for_narrow_and_wide_laws(shape, low, high):
    """Two alike Weibulls share every interval evenly: ``F_1(u) - F_1(l) = [S(l)^2 - S(u)^2] / 2``."""
    components = PRIMITIVES["weibull"].from_location(
        torch.zeros(1, 2, 1).double(), torch.full((1, 2, 1), np.log(shape)).double()
    )
    pair = Mixture(torch.zeros(1, 2, 1).double(), components)
    low_, high_ = (torch.tensor([t], dtype=torch.float64) for t in (low, high))
    got = log_incidence_between(pair, low_, high_, torch.tensor([1])).item()
    hazards = [2 * t**shape for t in (low, high)]
    expected = np.log(0.5) - hazards[0] + np.log(-np.expm1(hazards[0] - hazards[1]))
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("shape", [0.5, 1.5, 50.0])
@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0002), (0.7, 0.703), (0.3, 4.0), (0.0, 1.0)])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_interval_incidence_in_single_precision(shape, low, high, unit):
    """The same in float32, at times of any size, those included whose smallest shares are no numbers of float32."""
    lower, upper = (torch.tensor([t * unit], dtype=torch.float32) for t in (low, high))
    location = torch.full((1, 2, 1), np.log(unit), dtype=torch.float32, requires_grad=True)
    components = PRIMITIVES["weibull"].from_location(
        location, torch.full((1, 2, 1), np.log(shape)).float()
    )
    got = log_incidence_between(
        Mixture(torch.zeros(1, 2, 1), components), lower, upper, torch.tensor([1])
    )
    at = np.log([max(end.item(), 1e-300) for end in (lower, upper)]) - location[0, 0, 0].item()
    before, until = 2 * np.exp(shape * at)
    expected = np.log(0.5) - before + np.log(-np.expm1(before - until))
    got.sum().backward()
    # of log[exp(-before) - exp(-until)] by the logarithm of the unit, for which both locations stand
    slope = shape * (before - until * np.exp(before - until)) / -np.expm1(before - until)
    loose = 1e-3 if unit != 1 else 1e-4  # the location itself has 7 digits
    np.testing.assert_allclose(got.item(), expected, rtol=loose, atol=2e-4)
    np.testing.assert_allclose(
        location.grad.sum().item(), slope, rtol=loose * max(1, shape), atol=1e-3
    )


TIMES = torch.tensor([0.0, 0.05, 0.4, 1.0, 2.5, 30.0], dtype=torch.float64)


def origin(rows):
    return torch.zeros(rows, dtype=torch.float64)


EACH = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES)


def random_mixtures(family, rows, events=2, k=2, seed=0, log_precision=(-0.3, 1.2)):
    rng, shape = np.random.default_rng(seed), (rows, events, k)
    location = torch.from_numpy(rng.normal(0.3, 0.7, shape))
    components = members(family, location, torch.from_numpy(rng.uniform(*log_precision, shape)))
    return Mixture(torch.log_softmax(torch.from_numpy(rng.normal(size=shape)), -1), components)


def incidences_by_quadrature(mixtures, times, start):
    """Return the incidences of the first row, ``[events, times]``: a composite Gauss rule in log time."""
    row = mixtures.map(lambda values: values[0, :, None])  # [events, 1, components]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = np.unique(np.r_[np.linspace(-60, 5, 3001), np.log(times[times > 0].numpy())])
    kinks = mixtures.components.kinks()
    ends = ends if kinks is None else np.unique(np.r_[ends, kinks.numpy().ravel()])
    ends = ends if start == 0 else np.unique(np.r_[np.log(start), ends[ends > np.log(start)]])
    width = np.diff(ends)[:, None]
    t = torch.from_numpy(np.exp(ends[:-1, None] + width * (nodes + 1) / 2))
    at = t.flatten().expand(2, -1)
    rate = torch.exp(row.log_pdf(at) + row.log_survival(at).flip(0)).view(2, *t.shape)
    areas = (rate * t * torch.from_numpy(width * weights / 2)).sum(-1).numpy()
    before = np.exp(ends[1:]) <= times.numpy()[:, None] * (1 + 1e-12)
    survived = row.log_survival(torch.full((2, 1), start, dtype=torch.float64)).sum().exp().item()
    return (areas[:, None] * before).sum(-1) / survived


@EACH
@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), start=st.sampled_from([0.0, 0.6]))
def test_incidences_equal_quadrature_and_add_up_with_survival(family, start, seed):
    mixtures = random_mixtures(family, 1, seed=seed)
    times, survived_to = TIMES.expand(1, -1), torch.tensor([start], dtype=torch.float64)
    expected = incidences_by_quadrature(mixtures, TIMES, start)
    tolerance = 1e-6 if family.__module__.startswith("lifemix") else 2e-5  # estimated steepness
    incidences = cumulative_incidences(mixtures, times, survived_to)
    np.testing.assert_allclose(incidences[0], expected, atol=tolerance)
    at = torch.maximum(times, survived_to)[:, None].expand(1, 2, -1)
    columns = mixtures.map(lambda values: values[:, :, None])
    log_survival = columns.log_survival(at) - columns.log_survival(at[..., :1])
    np.testing.assert_allclose(incidences.sum(1) + log_survival.sum(1).exp(), 1, rtol=0, atol=1e-8)


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_intervals_are_differences_of_incidences(family, dtype):
    mixtures = random_mixtures(family, 8, seed=1)
    incidences = cumulative_incidences(mixtures, TIMES.expand(8, -1), origin(8))
    event = torch.arange(8) % 2 + 1
    single = mixtures.map(lambda values: values.to(dtype))
    for lower, upper in ((0, 2), (2, 4), (3, 5)):
        ends = (TIMES[end].expand(8).to(dtype) for end in (lower, upper))
        log_probability = log_incidence_between(single, *ends, event)
        difference = incidences[torch.arange(8), event - 1]
        np.testing.assert_allclose(
            log_probability.exp(),
            difference[:, upper] - difference[:, lower],
            atol=1e-4 if dtype == torch.float32 else 1e-5,
        )
        assert log_probability.dtype == dtype


def test_rows_do_not_depend_on_their_batch():
    mixtures = random_mixtures(Weibull, 40, log_precision=(-1.6, 3.0))
    times, survived_to = TIMES.expand(40, -1), torch.linspace(0, 3, 40, dtype=torch.float64)
    event = torch.ones(40, dtype=torch.int64)
    one = mixtures.map(lambda values: values[7:8])
    for since in (0 * survived_to, survived_to):
        np.testing.assert_allclose(
            cumulative_incidences(one, times[:1], since[7:8])[0],
            cumulative_incidences(mixtures, times, since)[7],
            rtol=0,
            atol=1e-14,
        )
    ends = survived_to, survived_to + 1
    np.testing.assert_allclose(
        log_incidence_between(one, *(end[7:8] for end in ends), event[:1]),
        log_incidence_between(mixtures, *ends, event)[7:8],
        rtol=1e-13,
    )


def test_one_event_is_single_risk():
    mixtures = random_mixtures(LogNormal, 5, events=1)
    at = TIMES.expand(5, 1, -1)
    survival = mixtures.map(lambda values: values[:, :, None]).log_survival(at).exp()
    incidences = cumulative_incidences(mixtures, TIMES.expand(5, -1), origin(5))
    np.testing.assert_allclose(incidences, 1 - survival, atol=1e-14)


def test_cured_subjects_have_no_event():
    exponential = random_mixtures(PRIMITIVES["exponential"], 1, k=1)
    family = mixed((PRIMITIVES["exponential"], Never))
    kinds = [torch.full((1, 2, 1), kind, dtype=torch.float64) for kind in (0.0, 1.0)]
    never = Never(torch.zeros(1, 2, 1, dtype=torch.float64))
    joined = [family.join([exponential.components, never], kind == 1) for kind in kinds]
    components = family(
        *(
            torch.cat(pair, dim=-1)
            for pair in zip(*(part.parameters for part in joined), strict=True)
        )
    )
    weights = torch.tensor([0.7, 0.3], dtype=torch.float64).log().expand(1, 2, 2)
    mixtures = Mixture(weights, components)
    incidences = cumulative_incidences(mixtures, TIMES.expand(1, -1), origin(1))[0]
    np.testing.assert_allclose(
        incidences, incidences_by_quadrature(mixtures, TIMES, 0.0), atol=1e-6
    )
    assert means(mixtures, origin(1)).isinf().all()


@pytest.mark.parametrize("shapes", [(0.2, 20.0), (20.0, 0.2), (7.0, 7.5), (14.162, 0.241)])
def test_incidences_of_extreme_shapes(shapes):
    log_shape = torch.tensor(shapes, dtype=torch.float64).log().view(1, 2, 1)
    log_scale = torch.tensor([0.3, 0.1], dtype=torch.float64).view(1, 2, 1)
    mixtures = Mixture(torch.zeros_like(log_shape), Weibull(log_shape, log_scale))
    expected = incidences_by_quadrature(mixtures, TIMES, 0.0)
    # an integral from exp(-60) misses the events before it
    missed = 1e-5 if min(shapes) > 0.2 else 5e-5
    np.testing.assert_allclose(
        cumulative_incidences(mixtures, TIMES.expand(1, -1), origin(1))[0], expected, atol=missed
    )


@pytest.mark.parametrize("log_precision", [-3.0, 0.0, 6.0])
@pytest.mark.parametrize("location", [-900.0, -600.0, -5.0, 2.0, 600.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_times_before_and_after_all_panels_have_incidences_too(family, location, log_precision):
    mixture = mixtures(family, location, log_precision, torch.float64)
    times = torch.tensor([[1e-9, 0.5, 2.0, 8.0, 1e9]], dtype=torch.float64)
    incidences = cumulative_incidences(mixture, times, origin(1))
    survival = (
        mixture.map(lambda values: values[:, :, None]).log_survival(times[:, None]).sum(1).exp()
    )
    torch.testing.assert_close(
        incidences.sum(1) + survival, torch.ones_like(times), rtol=0, atol=1e-12
    )


def test_the_mean_of_events_before_all_panels_is_no_later_than_the_events():
    mixture = mixtures("weibull", -900.0, 6.0, torch.float64)
    horizon = torch.tensor([[8.0]], dtype=torch.float64)
    assert float(restricted_means(mixture, horizon, origin(1))) < 1e-12
