"""Probability that one of several competing events falls in an interval, against independent integrals."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from lifemix.incidence import EDGE_LEVELS, log_incidence_between
from lifemix.primitives import PRIMITIVES, LogNormal, Mixture, Weibull

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
LOSES_PRECISION = pytest.mark.xfail(
    strict=True, reason="the rule loses precision; the new incidence rule replaces it"
)


@PRECISIONS
@pytest.mark.parametrize("location", [-1.0, 1.0])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("log_precision", [0.0, 1.0])
def test_interval_from_the_origin(log_precision, family, location, dtype):
    expected = integral_over_probability(family, location, log_precision, 1.0)
    assert log_probability(family, location, log_precision, 0.0, 1.0, dtype) == pytest.approx(
        expected, abs=1e-4
    )


@LOSES_PRECISION
@pytest.mark.parametrize("family", FAMILIES)
def test_interval_from_the_origin_of_flat_components(family):
    expected = integral_over_probability(family, 0.0, -4.0, 1.0)
    for dtype in (torch.float32, torch.float64):
        assert log_probability(family, 0.0, -4.0, 0.0, 1.0, dtype) == pytest.approx(
            expected, abs=1e-4
        )


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
def test_interval_of_any_width(location, log_precision, half_width, family, dtype, request):
    if (family, location) == ("weibull", -10.0):
        request.applymarker(LOSES_PRECISION)
    lower, upper = math.exp(-half_width), math.exp(half_width)
    expected = integral_over_log_time(family, location, log_precision, lower, upper)
    assert log_probability(family, location, log_precision, lower, upper, dtype) == pytest.approx(
        expected, abs=1e-4
    )


@LOSES_PRECISION
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


def test_a_component_that_does_not_know_its_quantiles_spoils_no_interval():
    extreme = PRIMITIVES["gamma"](torch.full((1, 2, 1), -60.0), torch.zeros(1, 2, 1))
    levels = torch.from_numpy(EDGE_LEVELS)
    assert torch.isnan(
        extreme.map(lambda values: values.double()).inverse_log_survival(levels)
    ).any()
    ends, pair = torch.tensor([0.5, 2.0]), Mixture(torch.zeros(1, 2, 1), extreme)
    got = log_incidence_between(pair, ends[:1], ends[1:], torch.tensor([1]))
    assert torch.isfinite(got).all()
