"""The three families of a standardised log time."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.primitive_references import LOG_LOCATION_SCALE, alone, make, number
from lifemix.primitives import PRIMITIVES

SCIPY = {
    "weibull": lambda precision, scale: stats.weibull_min(precision, scale=scale),
    "lognormal": lambda precision, scale: stats.lognorm(1 / precision, scale=scale),
    "loglogistic": lambda precision, scale: stats.fisk(precision, scale=scale),
    "inverseweibull": lambda precision, scale: stats.invweibull(precision, scale=scale),
}


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


@LOG_LOCATION_SCALE
def test_mean_and_quantiles_are_those_of_scipy(family):
    p, reference = make(family, 0.5, 0.7), SCIPY[family.name](np.exp(0.7), np.exp(0.5))
    np.testing.assert_allclose(alone(p).mean(), reference.mean(), rtol=1e-9)
    levels = [1e-6, 0.1, 0.5, 0.9, 1 - 1e-6]
    np.testing.assert_allclose(p.quantile(number(levels)), reference.ppf(levels), rtol=1e-8)


@pytest.mark.parametrize("name", ["weibull", "loglogistic"])
def test_density_at_the_origin_is_the_rate_for_shape_one_and_infinite_below(name):
    family = PRIMITIVES[name]
    np.testing.assert_allclose(make(family, 0.3, 0.0).log_pdf(number(0.0)), -0.3)
    assert make(family, 0.3, -0.01).log_pdf(number(0.0)) == np.inf
    assert make(family, 0.3, 0.01).log_pdf(number(0.0)) == -np.inf
