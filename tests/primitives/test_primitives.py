"""Contract of every primitive: a new one is covered by adding it to the registry."""

import itertools
import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from lifemix.primitives import PRIMITIVES, LogLocationScale, Mixture, gamma_tail, numeric
from own_primitives import members

ALL = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES.keys())
LOG_LOCATION_SCALE = pytest.mark.parametrize(
    "family",
    [family for family in PRIMITIVES.values() if issubclass(family, LogLocationScale)],
    ids=lambda family: family.name,
)
SOME = settings(max_examples=25)  # of properties that integrate numerically
locations = st.floats(-3, 3)
log_precisions = st.floats(-1.5, 3)  # shapes 0.22 to 20
times = st.floats(-8, 8).map(lambda x: float(np.exp(x)))


def make(family, location, log_precision, dtype=torch.float64):
    return members(
        family, torch.tensor(location, dtype=dtype), torch.tensor(log_precision, dtype=dtype)
    )


def number(value):
    return torch.tensor(value, dtype=torch.float64)


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


@ALL
@given(location=locations, log_precision=st.floats(-1.5, 2), t=times)
def test_functions_equal_their_definitions_in_sixty_digits(family, location, log_precision, t):
    p, t_ = make(family, location, log_precision), number(t)
    if beyond(p, t):
        return
    digits = (
        1e-8 if family.name in ("gamma", "generalisedgamma") else 1e-9
    )  # PyTorch's incomplete gamma has nine
    with mpmath.workdps(60):
        survival, cdf, density = (
            mpmath.log(value) for value in EXACT[family.name](p, mpmath.mpf(t))
        )
        np.testing.assert_allclose(p.log_survival(t_), float(survival), rtol=digits, atol=1e-50)
        np.testing.assert_allclose(p.log_cdf(t_), float(cdf), rtol=digits, atol=1e-50)
        np.testing.assert_allclose(p.log_pdf(t_), float(density), rtol=1e-9, atol=1e-12)


@ALL
@given(location=locations, log_precision=st.floats(-1.5, 2), t=times)
def test_curves_over_log_time_are_survival_and_density(family, location, log_precision, t):
    p, log_t = make(family, [location], [log_precision]), number([[np.log(t)]])
    expected = [p.log_survival(torch.exp(log_t)), p.log_pdf(torch.exp(log_t)) + log_t]
    np.testing.assert_allclose(
        p.survival_curve(log_t.clone()), expected[0].exp(), rtol=1e-9, atol=1e-280
    )
    np.testing.assert_allclose(
        p.density_curve(log_t.clone()), expected[1].exp(), rtol=1e-9, atol=1e-280
    )
    for both, curve in zip(
        p.survival_and_density_curve(log_t.clone()), (expected[0], expected[1]), strict=True
    ):
        np.testing.assert_allclose(both, curve.exp(), rtol=1e-9, atol=1e-16)
    if not beyond(p, t):
        log_survival, slope = p.log_survival_and_slope(log_t.clone())
        np.testing.assert_allclose(log_survival, expected[0], rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(
            -slope, (p.log_hazard(torch.exp(log_t)) + log_t).exp(), rtol=1e-6, atol=1e-280
        )


@ALL
@given(location=locations, log_precision=log_precisions, t=times, factor=st.floats(-5, 5))
def test_another_unit_of_time_is_the_same_distribution(family, location, log_precision, t, factor):
    p = make(family, location, log_precision)
    scaled = p.rescaled(factor)
    assert type(scaled) is family
    if beyond(p, t):
        return
    at = number(t * np.exp(factor))
    np.testing.assert_allclose(
        scaled.log_survival(at), p.log_survival(number(t)), rtol=1e-9, atol=1e-50
    )
    np.testing.assert_allclose(
        scaled.log_pdf(at), p.log_pdf(number(t)) - factor, rtol=1e-9, atol=1e-9
    )


@ALL
def test_panels_of_an_exported_program_hold_all_of_the_probability(family):
    p = make(family, [0.3, -0.5], [0.2, 0.9])
    edges = p.panel_edges()
    assert edges.shape[0] == 2
    assert (edges.diff(dim=-1) > 0).all()
    ends = p.map(lambda parameter: parameter[:, None]).survival_curve(edges)
    np.testing.assert_allclose(ends[:, 0], 1, atol=1e-9)
    np.testing.assert_allclose(ends[:, -1], 0, atol=1e-9)


@ALL
@given(location=locations, log_precision=log_precisions, steps=st.floats(-1, 1))
def test_components_start_apart_by_deviations_of_log_time(family, location, log_precision, steps):
    p = make(family, location, log_precision)
    moved = p.displaced(number(steps))
    early, middle, late = torch.log(p.quantile(number([0.1587, 0.5, 0.8413])))
    ends, spread = (middle, torch.log(moved.quantile(number(0.5)))), (late - early) / 2
    np.testing.assert_allclose((ends[1] - ends[0]) / spread, steps, rtol=0.7, atol=1e-6)


@ALL
@given(location=locations, log_precision=log_precisions, t=times)
def test_pdf_is_minus_derivative_of_survival(family, location, log_precision, t):
    p = make(family, location, log_precision)
    t_ = number(t).requires_grad_()
    if beyond(p, t):
        return
    log_s = p.log_survival(t_)
    log_s.backward()
    # f = -S' means the hazard is minus the derivative of log S
    np.testing.assert_allclose(
        p.log_hazard(t_).exp().item(), -t_.grad.item(), rtol=1e-6, atol=1e-280
    )


@LOG_LOCATION_SCALE
@given(z=st.floats(-30, 12), happened=st.sampled_from([0.0, 1.0]))
def test_standard_form_has_the_value_and_the_slope_of_autograd(family, z, happened):
    at = number(z).requires_grad_()
    unit = make(family, 0.0, 0.0)
    t = torch.exp(at)  # z is log t
    expected = unit.log_pdf(t) + at if happened else unit.log_survival(t)
    expected.backward()
    value, slope = family.standard(number(z), number(happened))
    np.testing.assert_allclose(value, expected.detach(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope, at.grad, rtol=1e-8, atol=1e-12)


@ALL
@given(location=locations, log_precision=log_precisions, q=st.floats(1e-9, 1 - 1e-9))
def test_quantile_inverts_cdf(family, location, log_precision, q):
    p = make(family, location, log_precision)
    np.testing.assert_allclose(p.log_cdf(p.quantile(number(q))).exp(), q, rtol=1e-7)


@ALL
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_times_of_levels_are_found_where_steps_are_lost_in_rounding(family, dtype, tolerance):
    levels = -torch.tensor([1e-30, 1e-9, 1e-3, 0.1, 0.6931, 1.0, 5.0, 50.0], dtype=dtype)
    places = torch.cartesian_prod(
        torch.tensor([-3.0, 0.0, 3.0], dtype=dtype), torch.linspace(-1.5, 3, 10, dtype=dtype)
    )
    p = members(family, *places.T[:, :, None])
    t = numeric.inverse_log_survival(p, levels)  # those of the families' own are not asked
    found = torch.isfinite(t) & (t < math.exp(0.99 * numeric.LOG_TIMES[dtype]))
    assert found.double().mean() > 0.9
    log_cdf = numeric.log_of_complement(levels, torch.log(-levels))
    by_survival = (p.log_survival(t) - levels).abs() / (1 + levels.abs())
    by_cdf = (p.log_cdf(t) - log_cdf).abs() / (1 + log_cdf.abs())
    assert torch.minimum(by_survival, by_cdf)[found].max() < tolerance


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


@ALL
@SOME
@given(location=locations, log_precision=st.floats(0.1, 3))
def test_mean_is_integral_of_survival(family, location, log_precision):
    p = make(family, location, log_precision)
    integral = integrated_survival(p, 60.0, 120.0)
    rest = p.mean_beyond(number(np.exp(60.0))).item()
    np.testing.assert_allclose(p.mean().item(), integral + rest, rtol=1e-6)


@ALL
@SOME
@given(location=locations, log_precision=log_precisions, t=times)
def test_rmst_is_integral_of_survival(family, location, log_precision, t):
    p = make(family, location, log_precision)
    integral = integrated_survival(p, np.log(t))
    np.testing.assert_allclose(p.rmst(number(t)).item(), integral, rtol=1e-6)


@ALL
@SOME
@given(location=locations, log_precision=st.floats(0.3, 2.5), t=times)
def test_mean_splits_at_any_time(family, location, log_precision, t):
    p = make(family, location, log_precision)
    total = p.rmst(number(t)) + p.mean_beyond(number(t))
    np.testing.assert_allclose(total, p.mean(), rtol=1e-8)


def exact_log_interval(p, lower, upper):
    """Compute ``log P(lower < T <= upper)`` with 60 digits."""
    with mpmath.workdps(60):
        low, high = (EXACT[p.name](p, mpmath.mpf(t)) for t in (lower, upper))
        return float(mpmath.log(low[0] - high[0] if low[0] < 0.5 else high[1] - low[1]))


@ALL
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-8), (torch.float32, 2e-3)])
@given(
    location=locations,
    log_precision=st.floats(-1, 1.5),
    t=st.floats(0.2, 5),
    log_width=st.floats(-4, 2),
)
@example(
    location=0.0, log_precision=0.0, t=1.46875, log_width=-1.5
)  # contains a knot of the spline
def test_interval_probability_keeps_its_digits(
    family, dtype, tolerance, location, log_precision, t, log_width
):
    lower, upper = (float(np.float32(t)), float(np.float32(t * (1 + 10**log_width))))
    location, log_precision = float(np.float32(location)), float(np.float32(log_precision))
    p = make(family, location, log_precision, dtype)
    if beyond(p.map(torch.Tensor.double), lower) or beyond(p.map(torch.Tensor.double), upper):
        return
    ours = p.log_interval(torch.tensor(lower, dtype=dtype), torch.tensor(upper, dtype=dtype))
    np.testing.assert_allclose(
        ours.item(), exact_log_interval(p, lower, upper), rtol=tolerance, atol=tolerance
    )


@LOG_LOCATION_SCALE
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-7), (torch.float32, 2e-3)])
@given(z=st.floats(-9, 3.5), log_width=st.floats(-5, 1))
def test_standard_form_of_intervals_has_value_and_slopes_in_sixty_digits(
    family, dtype, tolerance, z, log_width
):
    z, width = float(np.float32(z)), float(np.float32(10**log_width))
    p = make(family, 0.0, 0.0)  # z is log t
    at, wide = torch.tensor(z, dtype=dtype), torch.tensor(width, dtype=dtype)
    with mpmath.workdps(60):
        times = [mpmath.exp(mpmath.mpf(z)), mpmath.exp(mpmath.mpf(z) + mpmath.mpf(width))]
        (low, cdf_low, density_low), (high, cdf_high, density_high) = (
            EXACT[p.name](p, t) for t in times
        )
        probability = low - high if low < 0.5 else cdf_high - cdf_low
        if (
            beyond(p, float(times[0]))
            or beyond(p, float(times[1]))
            or probability < mpmath.mpf("1e-300")
        ):
            return
        first, last = density_low * times[0] / probability, density_high * times[1] / probability
        before = [float(mpmath.log(cdf_low)), float(density_low * times[0] / cdf_low)]
        between = [float(mpmath.log(probability)), float(last - first), float(width * last)]
    ours = family.standard_between(at, wide, torch.log(wide))
    np.testing.assert_allclose(
        [part.item() for part in ours], between, rtol=tolerance, atol=tolerance
    )
    np.testing.assert_allclose(
        [part.item() for part in family.standard_before(at)], before, rtol=2e-3, atol=tolerance
    )
    assert at.item() == z
    assert wide.item() == width


@LOG_LOCATION_SCALE
@settings(max_examples=300)
@given(log_z=st.floats(-20, 36), sign=st.sampled_from([-1.0, 1.0]), log_width=st.floats(-20, 36))
def test_standard_forms_are_finite_in_float32_everywhere(family, log_z, sign, log_width):
    z, width = torch.tensor(sign * 10**log_z), torch.tensor(10.0**log_width)
    for part in (*family.standard_before(z), *family.standard_between(z, width, torch.log(width))):
        assert torch.isfinite(part)


@ALL
def test_interval_from_the_origin_is_the_cdf(family):
    p = make(family, 0.3, 0.2)
    lower, upper = torch.tensor([0.0, 0.5]).double(), torch.tensor([1.0, 1.0]).double()
    got = p.log_interval(lower, upper)
    np.testing.assert_allclose(got[0], p.log_cdf(upper[0]))
    np.testing.assert_allclose(
        got[1].exp(), p.log_survival(lower[1]).exp() - p.log_survival(upper[1]).exp()
    )


anywhere = st.tuples(st.floats(-60, 60), st.floats(-20, 90), st.floats(-12, 12), st.floats(-3, 12))


@ALL
@settings(max_examples=80)
@given(points=st.lists(anywhere, min_size=1, max_size=8))  # several in a call
def test_float32_value_and_gradient_are_finite_everywhere(family, points):
    location, log_precision, log10_t, log10_width = torch.tensor(points).T
    if not issubclass(
        family, LogLocationScale
    ):  # those of the tests' own are written without a thought of overflow
        location, log_precision = location / 6, log_precision / 30
    t = 10.0**log10_t
    upper = t * (1 + 10.0**log10_width)
    for name, arguments in {
        "log_pdf": (t,),
        "log_survival": (t,),
        "log_hazard": (t,),
        "log_interval": (t, upper),
    }.items():
        parameters = [values.clone().requires_grad_() for values in (location, log_precision)]
        value = getattr(members(family, *parameters), name)(*arguments)
        value.backward(torch.ones_like(value))
        assert value.shape == t.shape
        assert torch.isfinite(value).all(), (name, value)
        for parameter in parameters:
            if parameter.grad is not None:  # no gradient reaches knots
                assert torch.isfinite(parameter.grad).all(), (name, parameter.grad)


def test_log_survival_far_in_the_tail_is_not_log_of_zero():
    """1 - cdf is 0 here in float32: the true value is -20.7."""
    p = make(PRIMITIVES["lognormal"], 0.0, 0.0, torch.float32)
    np.testing.assert_allclose(
        p.log_survival(torch.tensor(400.0)).item(), stats.norm.logsf(np.log(400)), rtol=1e-5
    )


@ALL
def test_values_at_the_origin(family):
    p = make(family, 0.0, 0.5)
    zero = number(0.0)
    assert p.log_survival(zero) == 0
    assert p.log_cdf(zero) == -np.inf
    assert p.rmst(zero) == 0
    np.testing.assert_allclose(p.log_pdf(zero).exp(), p.log_pdf(number(1e-300)).exp(), atol=1e-100)


@pytest.mark.parametrize("name", ["weibull", "lognormal", "loglogistic"])
def test_density_at_the_origin_is_zero_for_shapes_above_one(name):
    assert make(PRIMITIVES[name], 0.0, 0.5).log_pdf(number(0.0)) == -np.inf


def test_log_logistic_mean_is_infinite_for_shapes_up_to_one():
    family = PRIMITIVES["loglogistic"]
    assert make(family, 0.0, 0.0).mean() == np.inf
    assert make(family, 0.0, -0.5).mean() == np.inf
    assert make(family, 0.0, -0.5).mean_beyond(number(1.0)) == np.inf
    assert torch.isfinite(make(family, 0.0, 0.1).mean())


@ALL
def test_samples_follow_the_distribution(family):
    generator = torch.Generator().manual_seed(3)
    p = make(family, 0.5, 0.4)
    draws = p.sample(20_000, generator)
    assert draws.shape == (20_000,)
    assert stats.kstest(draws.numpy(), lambda t: p.log_cdf(number(t)).exp().numpy()).pvalue > 1e-3


SCIPY = {
    "weibull": lambda precision, scale: stats.weibull_min(precision, scale=scale),
    "lognormal": lambda precision, scale: stats.lognorm(1 / precision, scale=scale),
    "loglogistic": lambda precision, scale: stats.fisk(precision, scale=scale),
    "inverseweibull": lambda precision, scale: stats.invweibull(precision, scale=scale),
}


@LOG_LOCATION_SCALE
def test_mean_and_quantiles_are_those_of_scipy(family):
    p, reference = make(family, 0.5, 0.7), SCIPY[family.name](np.exp(0.7), np.exp(0.5))
    np.testing.assert_allclose(p.mean(), reference.mean(), rtol=1e-9)
    levels = [1e-6, 0.1, 0.5, 0.9, 1 - 1e-6]
    np.testing.assert_allclose(p.quantile(number(levels)), reference.ppf(levels), rtol=1e-8)


@ALL
@given(location=locations, log_precision=log_precisions, t=times)
def test_mixture_of_one_component_is_the_primitive(family, location, log_precision, t):
    p = make(family, [location], [log_precision])
    mixture = Mixture(torch.zeros(1, dtype=torch.float64), p)
    for name in ("log_pdf", "log_survival", "log_cdf"):
        expected = getattr(p, name)(number([t]))[0]
        np.testing.assert_allclose(getattr(mixture, name)(number(t)), expected, rtol=1e-12)


@settings(max_examples=50)
@given(log_rate=st.floats(-3, 2), aging=st.floats(-3, -1e-3), t=times)
def test_gompertz_with_a_negative_rate_leaves_some_without_the_event(log_rate, aging, t):
    p = PRIMITIVES["gompertz"](number(log_rate), number(aging))
    with mpmath.workdps(60):
        survival, cdf, density = (mpmath.log(value) for value in gompertz(p, mpmath.mpf(t)))
    np.testing.assert_allclose(p.log_survival(number(t)), float(survival), rtol=1e-9)
    np.testing.assert_allclose(
        p.log_cdf(number(t)), float(cdf), rtol=1e-9, atol=1e-50
    )  # the reference has 60 digits
    np.testing.assert_allclose(p.log_pdf(number(t)), float(density), rtol=1e-9, atol=1e-12)
    never = p.cure_fraction()
    np.testing.assert_allclose(never, np.exp(np.exp(log_rate) / aging), rtol=1e-12)
    assert p.mean() == np.inf
    assert p.quantile(1 - never / 2) == np.inf
    np.testing.assert_allclose(
        p.log_cdf(p.quantile((1 - never) / 2)).exp(), (1 - never) / 2, rtol=1e-9
    )
    np.testing.assert_allclose(p.rmst(number(t)), integrated_survival(p, np.log(t)), rtol=1e-8)


def test_gompertz_without_aging_is_exponential():
    times_ = number([1e-6, 0.3, 5.0])
    plain = PRIMITIVES["exponential"](number(0.4))
    for aging in (0.0, 1e-15, -1e-15):
        p = PRIMITIVES["gompertz"](number(-0.4), number(aging))
        np.testing.assert_allclose(p.log_survival(times_), plain.log_survival(times_), rtol=1e-12)
        np.testing.assert_allclose(p.quantile(number(0.3)), plain.quantile(number(0.3)), rtol=1e-12)


def test_generalised_gamma_contains_the_others():
    t, mu, log_sigma = number([1e-3, 0.2, 1.0, 3.0, 40.0]), number(0.3), number(-0.2)
    others = {
        1.0: PRIMITIVES["weibull"].from_location(mu, -log_sigma),
        0.0: PRIMITIVES["lognormal"].from_location(mu, -log_sigma),
        1e-9: PRIMITIVES["lognormal"].from_location(mu, -log_sigma),
        float(np.exp(-0.2)): PRIMITIVES["gamma"](-2 * log_sigma, mu + 2 * log_sigma),
    }
    for q, other in others.items():
        p = PRIMITIVES["generalisedgamma"](mu, log_sigma, number(q))
        np.testing.assert_allclose(p.log_survival(t), other.log_survival(t), rtol=1e-6)
        np.testing.assert_allclose(p.log_pdf(t), other.log_pdf(t), rtol=1e-7)
        np.testing.assert_allclose(p.mean(), other.mean(), rtol=1e-7)


@pytest.mark.parametrize("q", [-2.0, -0.5, -0.05, 0.2, 0.31, 0.33, 1.0, 2.5])
def test_generalised_gamma_has_the_derivatives_of_sixty_digits_in_every_parameter(q):
    point, h = [0.2, -0.3, q], mpmath.mpf("1e-20")
    for t in (0.05, 1.0, 6.0):
        leaves = [number(value).requires_grad_() for value in point]
        p = PRIMITIVES["generalisedgamma"](*leaves)
        for place, name in ((0, "log_survival"), (1, "log_cdf"), (2, "log_pdf")):
            ours = torch.autograd.grad(getattr(p, name)(number(t)), leaves, retain_graph=True)
            with mpmath.workdps(60):
                for i in range(3):
                    ends = []
                    for sign in (-1, 1):
                        moved = [
                            mpmath.mpf(value) + (sign * h if j == i else 0)
                            for j, value in enumerate(point)
                        ]
                        like = SimpleNamespace(
                            **dict(zip(("mu", "log_sigma", "q"), map(Exactly, moved), strict=True))
                        )
                        ends.append(mpmath.log(generalised_gamma(like, mpmath.mpf(t))[place]))
                    exactly = float((ends[1] - ends[0]) / (2 * h))
                np.testing.assert_allclose(ours[i], exactly, rtol=1e-8, atol=1e-10)


def test_generalised_gamma_has_smooth_derivatives_where_it_is_log_normal():
    slopes = []
    for q in (-1e-4, 0.0, 1e-4):
        leaves = [number(value).requires_grad_() for value in (0.2, -0.3, q)]
        p = PRIMITIVES["generalisedgamma"](*leaves)
        total = p.log_survival(number([0.1, 2.0])).sum() + p.log_pdf(number([0.3, 3.0])).sum()
        slopes.append(torch.stack(torch.autograd.grad(total, leaves)))
    np.testing.assert_allclose(slopes[1], (slopes[0] + slopes[2]) / 2, rtol=1e-6)


def test_the_survival_of_an_exported_program_has_seven_digits():
    w = torch.linspace(-40, 40, 801, dtype=torch.float64)
    for q in (0.0, 1e-6, 3e-4, 1e-3, 0.1, 1.0, 5.0, 50.0):
        for sign in (-1, 1):
            shape = torch.full_like(w, sign * q)
            expected = torch.exp(gamma_tail.log_tails(w, shape)[0])
            np.testing.assert_allclose(
                gamma_tail.survival_without_branches(w, shape), expected, atol=6e-8
            )


class Exactly:
    """A number of sixty digits that stands where a tensor is expected."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def test_power_generalised_weibull_has_a_bathtub():
    p = PRIMITIVES["powergeneralisedweibull"](number(np.log(0.5)), number(0.0), number(np.log(6.0)))
    hazard = p.log_hazard(torch.logspace(-3, 1, 200, dtype=torch.float64)).exp()
    lowest = int(hazard.argmin())
    assert 0 < lowest < 199
    assert (hazard[: lowest + 1].diff() < 0).all()
    assert (hazard[lowest:].diff() > 0).all()


def test_knots_of_a_spline_are_weighted_quantiles_and_apart_where_times_are_tied():
    family = PRIMITIVES["spline"]
    knots = torch.stack(
        family.learn_fixed(torch.arange(1000).double().flip(0), torch.ones(1000).double())
    )
    np.testing.assert_allclose(knots, [9, 249, 499, 749, 989])
    weighted = torch.stack(family.learn_fixed(number([0.0, 1.0, 2.0]), number([0.4, 0.2, 0.4])))
    np.testing.assert_allclose(weighted, [0.0, 0.05, 1.0, 2.0, 2.05])


@ALL
@given(location=locations, log_precision=log_precisions)
def test_panels_of_two_over_the_steepness_resolve_the_density(family, location, log_precision):
    p = make(family, [location], [log_precision])
    ends = torch.log(p.inverse_log_survival(number([-1e-4, -20.0])))
    width = 2 / p.steepness().item()
    n_panels = min(2000, math.ceil((ends[1] - ends[0]).item() / width))
    kinks = p.kinks()
    inside = torch.linspace(*ends.tolist(), n_panels + 1).double()
    edges = inside if kinks is None else torch.cat([inside, kinks.ravel()])
    edges = edges.clamp(*ends).sort().values
    nodes, weights = numeric.gauss_legendre(6, edges)
    x = edges[:-1, None] + edges.diff()[:, None] * nodes
    mass = (p.density_curve(x) * weights).sum(1) @ edges.diff()
    np.testing.assert_allclose(mass, np.exp(-1e-4) - np.exp(-20.0), atol=1e-4)
