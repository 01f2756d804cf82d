"""Families in 60-digit arithmetic, and members of every family, for the tests of primitives."""

import itertools

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from helpers.custom_primitives import members
from lifemix.distribution import MixtureDistribution
from lifemix.primitives import PRIMITIVES, LogLocationScale, Mixture

ALL = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES.keys())
LOG_LOCATION_SCALE = pytest.mark.parametrize(
    "family",
    [family for family in PRIMITIVES.values() if issubclass(family, LogLocationScale)],
    ids=lambda family: family.name,
)
locations = st.floats(-3, 3)
log_precisions = st.floats(-1.5, 3)  # shapes 0.22 to 20
times = st.floats(-8, 8).map(lambda x: float(np.exp(x)))


def make(family, location, log_precision, dtype=torch.float64):
    return members(
        family, torch.tensor(location, dtype=dtype), torch.tensor(log_precision, dtype=dtype)
    )


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def alone(p):
    """Return the distribution of a mixture of one component."""
    weight = torch.zeros(1, 1, dtype=torch.float64)
    return MixtureDistribution(Mixture(weight, p.map(lambda value: value.reshape(1, 1))))


def hazards(cumulative, rate):
    """Return survival, cdf and density from the cumulative hazard and the hazard."""
    return mpmath.exp(-cumulative), -mpmath.expm1(-cumulative), rate * mpmath.exp(-cumulative)


def standardised(survival, cdf, density):
    """Return survival, cdf and density of t from those of z."""

    def functions(p, t):
        z = mpmath.exp(mpmath.mpf(p.log_precision.item())) * (
            mpmath.log(t) - mpmath.mpf(p.location.item())
        )
        return survival(z), cdf(z), density(z) * mpmath.exp(mpmath.mpf(p.log_precision.item())) / t

    return functions


def exact(parameter):
    return mpmath.mpf(parameter.item())


def own_gompertz(p, t):
    eta, scale = (mpmath.exp(exact(parameter)) for parameter in p.parameters)
    return hazards(eta * mpmath.expm1(t / scale), eta / scale * mpmath.exp(t / scale))


def own_exponential(p, t):
    rate = mpmath.exp(exact(p.log_rate))
    return hazards(rate * t, rate)


def exponential(p, t):
    rate = mpmath.exp(-exact(p.log_scale))
    return hazards(rate * t, rate)


def gompertz(p, t):
    rate, aging = mpmath.exp(exact(p.log_rate)), exact(p.aging)
    growth = mpmath.expm1(aging * t) / aging if aging else t
    return hazards(rate * growth, rate * mpmath.exp(aging * t))


def burr(p, t):
    shape, scale, tail = (mpmath.exp(exact(parameter)) for parameter in p.parameters)
    odds = (t / scale) ** shape
    return hazards(tail * mpmath.log1p(odds), tail * shape / t * odds / (1 + odds))


def weibull_like_burr(p, t):
    shape, scale, tail = (mpmath.exp(exact(parameter)) for parameter in p.parameters)
    odds = (t / scale) ** shape / tail
    return hazards(tail * mpmath.log1p(odds), tail * shape / t * odds / (1 + odds))


def power_generalised_weibull(p, t):
    shape, scale, power = (mpmath.exp(exact(parameter)) for parameter in p.parameters)
    base = 1 + (t / scale) ** shape
    return hazards(base**power - 1, power * base ** (power - 1) * shape / t * (t / scale) ** shape)


def gamma(p, t):
    shape, scale = (mpmath.exp(exact(parameter)) for parameter in p.parameters)
    u = t / scale
    tails = [mpmath.gammainc(shape, *ends, regularized=True) for ends in ((u, mpmath.inf), (0, u))]
    return *tails, mpmath.exp(shape * mpmath.log(u) - u - mpmath.loggamma(shape)) / t


def generalised_gamma(p, t):
    mu, sigma, q = exact(p.mu), mpmath.exp(exact(p.log_sigma)), exact(p.q)
    w = (mpmath.log(t) - mu) / sigma
    if q == 0:
        return (
            mpmath.erfc(w / mpmath.sqrt(2)) / 2,
            mpmath.erfc(-w / mpmath.sqrt(2)) / 2,
            mpmath.npdf(w) / sigma / t,
        )
    a, y = 1 / q**2, q * w
    u = a * mpmath.exp(y)
    tails = [mpmath.gammainc(a, *ends, regularized=True) for ends in ((u, mpmath.inf), (0, u))]
    density = (
        abs(q)
        * mpmath.exp(a * mpmath.log(a) - mpmath.loggamma(a) + a * (y - mpmath.exp(y)))
        / sigma
        / t
    )
    return *(tails if q > 0 else tails[::-1]), density


def spline(p, t):
    """Integrate the slope of the log cumulative hazard, a line between knots, from the middle knot."""
    level, *others = (exact(parameter) for parameter in p.parameters)
    slopes, knots = [mpmath.exp(value) for value in others[:5]], others[5:]

    def slope(x):
        if x <= knots[0] or x >= knots[-1]:
            return slopes[0] if x <= knots[0] else slopes[-1]
        j = max(j for j in range(4) if knots[j] <= x)
        return slopes[j] + (slopes[j + 1] - slopes[j]) * (x - knots[j]) / (knots[j + 1] - knots[j])

    x = mpmath.log(t)
    ends = sorted(
        [x, knots[2], *(knot for knot in knots if min(x, knots[2]) < knot < max(x, knots[2]))]
    )
    area = sum(
        (b - a) * slope((a + b) / 2) for a, b in itertools.pairwise(ends)
    )  # exact for a line
    hazard = mpmath.exp(level + (area if x > knots[2] else -area))
    return hazards(hazard, hazard * slope(x) / t)


# (survival, cdf, density) of each family in arbitrary precision
EXACT = {
    "weibull": standardised(
        lambda z: mpmath.exp(-mpmath.exp(z)),
        lambda z: -mpmath.expm1(-mpmath.exp(z)),
        lambda z: mpmath.exp(z - mpmath.exp(z)),
    ),
    "lognormal": standardised(
        lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2,
        lambda z: mpmath.erfc(-z / mpmath.sqrt(2)) / 2,
        lambda z: mpmath.npdf(z),
    ),
    "loglogistic": standardised(
        lambda z: 1 / (1 + mpmath.exp(z)),
        lambda z: 1 / (1 + mpmath.exp(-z)),
        lambda z: mpmath.exp(z) / (1 + mpmath.exp(z)) ** 2,
    ),
    "inverseweibull": standardised(
        lambda z: -mpmath.expm1(-mpmath.exp(-z)),
        lambda z: mpmath.exp(-mpmath.exp(-z)),
        lambda z: mpmath.exp(-z - mpmath.exp(-z)),
    ),
    "owngompertz": own_gompertz,
    "ownexponential": own_exponential,
    "ownburr": burr,
    "exponential": exponential,
    "gompertz": gompertz,
    "burr": weibull_like_burr,
    "powergeneralisedweibull": power_generalised_weibull,
    "gamma": gamma,
    "generalisedgamma": generalised_gamma,
    "spline": spline,
}


def beyond(p, t):
    """Tell whether the logarithms are so far out that they saturate, or underflow where that is a default's limit."""
    log_s, log_f = p.log_survival(number(t)).item(), p.log_cdf(number(t)).item()
    return log_s < -1e10 or log_f < (-1e10 if isinstance(p, LogLocationScale) else -600)


def integrated_survival(p, end, length=60.0):
    """Integrate S over the last stretch of log time before the end: Gauss-Legendre rules, narrow around the median."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    centre = float(torch.log(p.quantile((1 - p.cure_fraction()) / 2)))
    edges = np.concatenate(
        [np.linspace(end - length, end, 81), np.linspace(centre - 4, centre + 4, 161)]
    )
    edges = np.unique(
        np.concatenate([edges, [] if p.kinks() is None else p.kinks().numpy()]).clip(
            end - length, end
        )
    )
    x = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    values = torch.exp(p.log_survival(number(np.exp(x))) + number(x)).numpy()
    return float((values @ weights * np.diff(edges) / 2).sum())
