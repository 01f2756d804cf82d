"""What every primitive promises; a new one is covered by its registration. And the registry."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.custom_primitives import members
from helpers.primitive_references import (
    ALL,
    EXACT,
    alone,
    beyond,
    integrated_survival,
    locations,
    log_precisions,
    make,
    number,
    times,
)
from lifemix.errors import SettingError
from lifemix.primitives import (
    PRIMITIVES,
    LogLocationScale,
    Primitive,
    Weibull,
    primitive_class,
)


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
        p.survival_and_density_curve(log_t.clone())[1], expected[1].exp(), rtol=1e-9, atol=1e-280
    )
    for both, curve in zip(
        p.survival_and_density_curve(log_t.clone()), (expected[0], expected[1]), strict=True
    ):
        np.testing.assert_allclose(both, curve.exp(), rtol=1e-9, atol=1e-16)


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
@settings(max_examples=10)
@given(location=locations, log_precision=log_precisions, steps=st.floats(-1, 1))
def test_components_start_apart_by_deviations_of_log_time(family, location, log_precision, steps):
    p = make(family, location, log_precision)
    moved = p.displaced(number(steps))
    early, middle, late = torch.log(p.quantile(number([0.1587, 0.5, 0.8413])))
    ends, spread = (middle, torch.log(moved.quantile(number(0.5)))), (late - early) / 2
    np.testing.assert_allclose((ends[1] - ends[0]) / spread, steps, rtol=0.7, atol=1e-6)


@ALL
@given(location=locations, log_precision=log_precisions, q=st.floats(1e-9, 1 - 1e-9))
def test_quantile_inverts_cdf(family, location, log_precision, q):
    p = make(family, location, log_precision)
    np.testing.assert_allclose(p.log_cdf(p.quantile(number(q))).exp(), q, rtol=1e-7)


@ALL
@settings(max_examples=10)
@given(location=locations, log_precision=log_precisions, t=times)
def test_rmst_is_integral_of_survival(family, location, log_precision, t):
    p = make(family, location, log_precision)
    np.testing.assert_allclose(alone(p).rmst(t)[0], integrated_survival(p, np.log(t)), rtol=1e-6)


@ALL
@pytest.mark.parametrize("t", [0.5, 2.0])
def test_mean_given_survival_is_the_integral_of_the_exact_survival(family, t):
    p = make(family, 0.2, 1.0)
    mean, tail_index = alone(p).given(t).mean()[0], float(p.tail_index())
    if tail_index <= 1:
        assert mean == np.inf
        return

    def survival(log_t):
        return EXACT[p.name](p, mpmath.exp(log_t))[0]

    kinks = [] if p.kinks() is None else p.kinks().tolist()
    start, end = float(np.log(t)), 30.0
    if tail_index == np.inf:
        last = p.inverse_log_survival(p.log_survival(number(t)) - 60)  # beyond, S adds nothing
        end = float(torch.log(last))
    edges = np.unique([*kinks, *np.linspace(start, min(end, 5.0), 20), 8, 12, 20, end])
    edges = edges[(edges >= start) & (edges <= end)]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    points = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    with mpmath.workdps(25):
        values = np.vectorize(lambda x: float(mpmath.exp(x) * survival(x)))(points)
        integral = (values @ weights * np.diff(edges) / 2).sum()
        integral += float(mpmath.exp(end) * survival(end)) / (
            tail_index - 1
        )  # a power of time, or 0
        expected = t + integral / float(survival(mpmath.log(t)))
    np.testing.assert_allclose(mean, expected, rtol=1e-7)


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


@ALL
def test_values_at_the_origin(family):
    p = make(family, 0.0, 0.5)
    zero = number(0.0)
    assert p.log_survival(zero) == 0
    assert p.log_cdf(zero) == -np.inf
    assert alone(p).rmst(0.0) == 0
    np.testing.assert_allclose(p.log_pdf(zero).exp(), p.log_pdf(number(1e-300)).exp(), atol=1e-100)


@ALL
@given(location=locations, log_precision=log_precisions)
def test_panels_of_two_over_the_steepness_resolve_the_density(family, location, log_precision):
    p = make(family, [location], [log_precision])
    ends = torch.log(p.inverse_log_survival(number([-1e-4, -20.0])))
    width = 2 / p.steepness().item()
    n_panels = min(2000, int(np.ceil((ends[1] - ends[0]).item() / width)))
    kinks = p.kinks()
    inside = torch.linspace(*ends.tolist(), n_panels + 1).double()
    edges = inside if kinks is None else torch.cat([inside, kinks.ravel()])
    edges = edges.clamp(*ends).sort().values
    nodes, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(6))
    x = edges[:-1, None] + edges.diff()[:, None] * (nodes + 1) / 2
    _, density = p.survival_and_density_curve(x)
    mass = (density * weights / 2).sum(1) @ edges.diff()
    np.testing.assert_allclose(mass, np.exp(-1e-4) - np.exp(-20.0), atol=1e-4)


@pytest.fixture
def registry():
    """Let what a test registers end with it."""
    before = dict(PRIMITIVES)
    yield
    PRIMITIVES.clear()
    PRIMITIVES.update(before)


def test_names_are_found_in_any_spelling_and_others_refused(registry):
    assert primitive_class("Log-Normal") is PRIMITIVES["lognormal"]
    assert primitive_class(Weibull) is Weibull
    for unknown in ("gumbel", None, 3, Weibull(torch.zeros(()), torch.zeros(())), int):
        with pytest.raises(
            SettingError, match="unknown primitive; got .*, expected one of .*import it first"
        ):
            primitive_class(unknown)


def test_a_name_belongs_to_one_class_which_may_be_defined_anew(registry):
    def define():
        class Anew(Primitive, name="anew"):
            pass

        return Anew

    first, second = define(), define()
    assert first is not second
    assert PRIMITIVES["anew"] is second
    with pytest.raises(
        SettingError,
        match="must be new; got 'weibull', which is lifemix.primitives.weibull.Weibull",
    ):

        class Other(Primitive, name="Weibull"):
            pass


def test_a_declaration_that_lacks_something_says_what(registry):
    class Nameless(Weibull):
        pass

    with pytest.raises(
        SettingError, match="needs a name of its own; got Nameless.*name='nameless'"
    ):
        primitive_class(Nameless)

    class Empty(Primitive, name="empty"):
        pass

    with pytest.raises(
        SettingError, match="must define all of its functions; got Empty without .*'log_pdf'"
    ):
        primitive_class("empty")

    class Plain(Weibull, name="plain"):
        pass

    assert primitive_class(Plain).parameter_names() == ("log_shape", "log_scale")

    class Bare(LogLocationScale, name="bare"):
        standard = Weibull.standard
        standard_tail = 1.0

    with pytest.raises(SettingError, match="must be a dataclass of its parameters; got Bare"):
        primitive_class(Bare)
