"""Probability that one of several competing events falls in an interval, against independent integrals."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from lifemix.likelihood.competing import log_incidence_between
from lifemix.primitives import LogNormal, Mixture, Weibull

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
