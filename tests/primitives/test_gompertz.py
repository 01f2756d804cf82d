"""Gompertz times with and without a plateau."""

import mpmath
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.primitive_references import alone, gompertz, integrated_survival, number, times
from lifemix.primitives import PRIMITIVES


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
    assert alone(p).mean() == np.inf
    assert p.quantile(1 - never / 2) == np.inf
    np.testing.assert_allclose(
        p.log_cdf(p.quantile((1 - never) / 2)).exp(), (1 - never) / 2, rtol=1e-9
    )
    np.testing.assert_allclose(alone(p).rmst(t)[0], integrated_survival(p, np.log(t)), rtol=1e-8)


def test_gompertz_without_aging_is_exponential():
    times_ = number([1e-6, 0.3, 5.0])
    plain = PRIMITIVES["exponential"](number(0.4))
    for aging in (0.0, 1e-15, -1e-15):
        p = PRIMITIVES["gompertz"](number(-0.4), number(aging))
        np.testing.assert_allclose(p.log_survival(times_), plain.log_survival(times_), rtol=1e-12)
        np.testing.assert_allclose(p.quantile(number(0.3)), plain.quantile(number(0.3)), rtol=1e-12)
