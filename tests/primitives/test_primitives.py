"""Contract of every primitive: a new one is covered by adding it to the registry."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from lifemix.errors import SettingError
from lifemix.primitives import PRIMITIVES, Mixture, primitive_class

ALL = pytest.mark.parametrize("law", PRIMITIVES.values(), ids=PRIMITIVES.keys())
locations = st.floats(-3, 3)
log_precisions = st.floats(-1.5, 3)  # shapes 0.22 to 20
times = st.floats(-8, 8).map(lambda x: float(np.exp(x)))


def make(law, location, log_precision, dtype=torch.float64):
    return law.from_location(torch.tensor(location, dtype=dtype), torch.tensor(log_precision, dtype=dtype))


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def scipy_law(law, location, log_precision):
    precision = np.exp(log_precision)
    return {
        "Weibull": lambda: stats.weibull_min(precision, scale=np.exp(location)),
        "LogNormal": lambda: stats.lognorm(1 / precision, scale=np.exp(location)),
        "LogLogistic": lambda: stats.fisk(precision, scale=np.exp(location)),
    }[law.__name__]()


# (survival, cdf, density of z) of each law in arbitrary precision
EXACT = {
    "Weibull": (
        lambda z: mpmath.exp(-mpmath.exp(z)),
        lambda z: -mpmath.expm1(-mpmath.exp(z)),
        lambda z: mpmath.exp(z - mpmath.exp(z)),
    ),
    "LogNormal": (
        lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2,
        lambda z: mpmath.erfc(-z / mpmath.sqrt(2)) / 2,
        lambda z: mpmath.npdf(z),
    ),
    "LogLogistic": (
        lambda z: 1 / (1 + mpmath.exp(z)),
        lambda z: 1 / (1 + mpmath.exp(-z)),
        lambda z: mpmath.exp(z) / (1 + mpmath.exp(z)) ** 2,
    ),
}


def exact_z(location, log_precision, t):
    return mpmath.exp(mpmath.mpf(log_precision)) * (mpmath.log(mpmath.mpf(t)) - mpmath.mpf(location))


@ALL
@given(location=locations, log_precision=st.floats(-1.5, 2), t=times)
def test_functions_equal_their_definitions_in_sixty_digits(law, location, log_precision, t):
    p, t_ = make(law, location, log_precision), number(t)
    survival, cdf, density = EXACT[law.__name__]
    with mpmath.workdps(60):
        z = exact_z(location, log_precision, t)
        if z > 25:
            return
        log_jacobian = log_precision - np.log(t)
        np.testing.assert_allclose(p.log_survival(t_), float(mpmath.log(survival(z))), rtol=1e-9, atol=1e-50)
        np.testing.assert_allclose(p.log_cdf(t_), float(mpmath.log(cdf(z))), rtol=1e-9, atol=1e-50)
        np.testing.assert_allclose(p.log_pdf(t_), float(mpmath.log(density(z))) + log_jacobian, rtol=1e-9, atol=1e-12)


@ALL
@given(location=locations, log_precision=log_precisions, t=times)
def test_pdf_is_minus_derivative_of_survival(law, location, log_precision, t):
    p = make(law, location, log_precision)
    t_ = number(t).requires_grad_()
    if p.z(t_) > 79:  # the log cumulative hazard saturates at 80
        return
    log_s = p.log_survival(t_)
    log_s.backward()
    # f = -S' means the hazard is minus the derivative of log S
    np.testing.assert_allclose(p.log_hazard(t_).exp().item(), -t_.grad.item(), rtol=1e-6, atol=1e-280)


@ALL
@given(z=st.floats(-30, 12), happened=st.sampled_from([0.0, 1.0]))
def test_standard_form_has_the_value_and_the_slope_of_autograd(law, z, happened):
    at = number(z).requires_grad_()
    unit = make(law, 0.0, 0.0)
    t = torch.exp(at)  # z is log t
    expected = unit.log_pdf(t) + at if happened else unit.log_survival(t)
    expected.backward()
    value, slope = law.standard(number(z), number(happened))
    np.testing.assert_allclose(value, expected.detach(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope, at.grad, rtol=1e-8, atol=1e-12)


@ALL
@given(location=locations, log_precision=log_precisions, q=st.floats(1e-9, 1 - 1e-9))
def test_quantile_inverts_cdf(law, location, log_precision, q):
    p = make(law, location, log_precision)
    np.testing.assert_allclose(p.log_cdf(p.quantile(number(q))).exp(), q, rtol=1e-7)


@ALL
@given(location=locations, log_precision=st.floats(0.1, 3))
def test_mean_is_integral_of_survival(law, location, log_precision):
    p = make(law, location, log_precision)
    integral = integrate.quad(
        lambda x: float(torch.exp(p.log_survival(number(np.exp(x))) + x)), -60, 60, limit=500, points=[location]
    )[0]
    rest = p.mean_beyond(number(np.exp(60.0))).item()
    np.testing.assert_allclose(p.mean().item(), integral + rest, rtol=1e-6)


@ALL
@settings(max_examples=50)
@given(location=locations, log_precision=log_precisions, t=times)
def test_rmst_is_integral_of_survival(law, location, log_precision, t):
    p = make(law, location, log_precision)
    end = np.log(t)
    centre = [location] if end - 60 < location < end else None
    integral = integrate.quad(
        lambda x: float(torch.exp(p.log_survival(number(np.exp(x))) + x)), end - 60, end, limit=500, points=centre
    )[0]
    np.testing.assert_allclose(p.rmst(number(t)).item(), integral, rtol=1e-6)


@ALL
@given(location=locations, log_precision=st.floats(0.3, 2.5), t=times)
def test_mean_splits_at_any_time(law, location, log_precision, t):
    p = make(law, location, log_precision)
    total = p.rmst(number(t)) + p.mean_beyond(number(t))
    np.testing.assert_allclose(total, p.mean(), rtol=1e-8)


def exact_log_interval(law, location, log_precision, lower, upper):
    """Compute ``log P(lower < T <= upper)`` with 60 digits."""
    survival, cdf, _ = EXACT[law.__name__]
    with mpmath.workdps(60):
        low, high = (exact_z(location, log_precision, t) for t in (lower, upper))
        return float(mpmath.log(survival(low) - survival(high) if low > 0 else cdf(high) - cdf(low)))


@ALL
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-8), (torch.float32, 2e-3)])
@given(location=locations, log_precision=st.floats(-1, 1.5), t=st.floats(0.2, 5), log_width=st.floats(-4, 2))
def test_interval_probability_keeps_its_digits(law, dtype, tolerance, location, log_precision, t, log_width):
    lower, upper = (float(np.float32(t)), float(np.float32(t * (1 + 10**log_width))))
    location, log_precision = float(np.float32(location)), float(np.float32(log_precision))
    ours = make(law, location, log_precision, dtype).log_interval(
        torch.tensor(lower, dtype=dtype), torch.tensor(upper, dtype=dtype)
    )
    exact = exact_log_interval(law, location, log_precision, lower, upper)
    np.testing.assert_allclose(ours.item(), exact, rtol=tolerance, atol=tolerance)


@ALL
def test_interval_from_the_origin_is_the_cdf(law):
    p = make(law, 0.3, 0.2)
    lower, upper = torch.tensor([0.0, 0.5]).double(), torch.tensor([1.0, 1.0]).double()
    got = p.log_interval(lower, upper)
    np.testing.assert_allclose(got[0], p.log_cdf(upper[0]))
    np.testing.assert_allclose(got[1].exp(), p.log_survival(lower[1]).exp() - p.log_survival(upper[1]).exp())


@ALL
@settings(max_examples=300)
@given(
    location=st.floats(-60, 60),
    log_precision=st.floats(-20, 90),
    log10_t=st.floats(-12, 12),
    log10_width=st.floats(-3, 12),
)
def test_float32_value_and_gradient_are_finite_everywhere(law, location, log_precision, log10_t, log10_width):
    t = torch.tensor(10.0**log10_t)
    upper = t * (1 + 10.0**log10_width)
    for name, arguments in {
        "log_pdf": (t,),
        "log_survival": (t,),
        "log_hazard": (t,),
        "log_interval": (t, upper),
    }.items():
        parameters = [torch.tensor(float(v), requires_grad=True) for v in (location, log_precision)]
        value = getattr(law.from_location(*parameters), name)(*arguments)
        value.backward()
        assert torch.isfinite(value), (name, value)
        for parameter in parameters:
            assert torch.isfinite(parameter.grad), (name, parameter.grad)


def test_log_survival_far_in_the_tail_is_not_log_of_zero():
    """1 - cdf is 0 here in float32: the true value is -20.7."""
    p = make(PRIMITIVES["lognormal"], 0.0, 0.0, torch.float32)
    np.testing.assert_allclose(p.log_survival(torch.tensor(400.0)).item(), stats.norm.logsf(np.log(400)), rtol=1e-5)


@ALL
def test_values_at_the_origin(law):
    p = make(law, 0.0, 0.5)
    zero = number(0.0)
    assert p.log_survival(zero) == 0
    assert p.log_cdf(zero) == -np.inf
    assert p.log_pdf(zero) == -np.inf  # shape above 1
    assert p.rmst(zero) == 0


def test_log_logistic_mean_is_infinite_for_shapes_up_to_one():
    law = PRIMITIVES["loglogistic"]
    assert make(law, 0.0, 0.0).mean() == np.inf
    assert make(law, 0.0, -0.5).mean() == np.inf
    assert make(law, 0.0, -0.5).mean_beyond(number(1.0)) == np.inf
    assert torch.isfinite(make(law, 0.0, 0.1).mean())


@ALL
def test_samples_follow_the_law(law):
    generator = torch.Generator().manual_seed(3)
    draws = make(law, 0.5, 0.4).sample(20_000, generator)
    assert draws.shape == (20_000,)
    assert stats.kstest(draws.numpy(), scipy_law(law, 0.5, 0.4).cdf).pvalue > 1e-3


@ALL
@given(location=locations, log_precision=log_precisions, t=times)
def test_mixture_of_one_component_is_the_primitive(law, location, log_precision, t):
    p = make(law, [location], [log_precision])
    mixture = Mixture(torch.zeros(1, dtype=torch.float64), p)
    for name in ("log_pdf", "log_survival", "log_cdf"):
        expected = getattr(p, name)(number([t]))[0]
        np.testing.assert_allclose(getattr(mixture, name)(number(t)), expected, rtol=1e-12)


def test_names_are_found_in_any_spelling_and_others_refused():
    assert primitive_class("Log-Normal") is PRIMITIVES["lognormal"]
    with pytest.raises(SettingError, match="unknown primitive; got 'gumbel', expected one of"):
        primitive_class("gumbel")
