import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.custom_primitives import members
from lifemix import make_target
from lifemix.distribution import CompetingDistribution
from lifemix.errors import SettingError
from lifemix.likelihood import (
    Observations,
    check_objective,
    combined_loss,
    contributions,
    prior_loss,
)
from lifemix.primitives import PRIMITIVES, LogLocationScale, Mixture
from lifemix.target import Target, as_target

ALL = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES.keys())
LOG_LOCATION_SCALE = pytest.mark.parametrize(
    "family",
    [family for family in PRIMITIVES.values() if issubclass(family, LogLocationScale)],
    ids=lambda family: family.name,
)
BOTH = pytest.mark.parametrize("objective", ["exact", "elbo"])


def mixtures(family, rows, events=1, k=3, seed=0, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    shape = (rows, events, k)
    log_weights = torch.log_softmax(torch.from_numpy(rng.normal(size=shape)).to(dtype), -1)
    location = torch.from_numpy(rng.normal(0.3, 0.7, shape)).to(dtype)
    return Mixture(
        log_weights,
        members(family, location, torch.from_numpy(rng.normal(0.3, 0.4, shape)).to(dtype)),
    )


def every_kind(rows=40, events=2, seed=0):
    """Exact, right-, left- and interval-censored rows, with and without delayed entry, and events at time 0."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(1.5, rows) + 0.05
    event = rng.integers(0, events + 1, rows)
    upper = np.where(
        (rng.random(rows) < 0.3) & (event > 0), time * rng.uniform(1.1, 4, rows), np.nan
    )
    time[(rng.random(rows) < 0.3) & ~np.isnan(upper)] = 0.0
    time[:2], event[:2], upper[:2] = 0.0, (1, 0), np.nan
    entry = np.where(rng.random(rows) < 0.4, 0.6 * time, 0.0)
    return make_target(time, event, entry, upper)


def observe(y, unit=1.0, weight=None, dtype=torch.float64):
    return Observations.from_target(as_target(y), unit, 0.05, weight, dtype)


@ALL
def test_single_risk_terms_are_the_definitions(family):
    y = make_target(
        [1.0, 2.0, 0.0, 0.5, 3.0],
        [1, 0, 1, 1, 1],
        entry=[0, 0, 0, 0, 1],
        upper=[np.nan] * 2 + [0.8, 2, 5],
    )
    m = mixtures(family, 5)
    terms = contributions(m, observe(y))
    flat = m.map(lambda values: values[:, 0])

    def log_s(row, t):
        return flat.map(lambda values: values[row]).log_survival(
            torch.tensor(t, dtype=torch.float64)
        )

    first = flat.map(lambda values: values[0]).log_pdf(torch.tensor(1.0, dtype=torch.float64))
    expected = [
        first,
        log_s(1, 2.0),
        torch.log(1 - log_s(2, 0.8).exp()),
        torch.log(log_s(3, 0.5).exp() - log_s(3, 2.0).exp()),
        torch.log((log_s(4, 3.0).exp() - log_s(4, 5.0).exp()) / log_s(4, 1.0).exp()),
    ]
    np.testing.assert_allclose(terms.total(), expected, rtol=1e-10)
    assert terms.censored.nonzero().flatten().tolist() == [1]


@ALL
@given(seed=st.integers(0, 1000), truncated=st.booleans())
def test_exact_is_never_below_elbo(family, seed, truncated):
    y = every_kind(events=1, seed=seed)
    if not truncated:
        seen = as_target(y)
        y = Target(seen.event, seen.time, np.zeros(len(seen)), seen.upper)
    m = mixtures(family, len(y), seed=seed)
    exact, elbo = (
        contributions(m, observe(y), objective).total() for objective in ("exact", "elbo")
    )
    assert (exact >= elbo - 1e-9).all()


@ALL
def test_one_component_leaves_no_gap(family):
    y = every_kind(events=1)
    m = mixtures(family, len(y), k=1)
    exact, elbo = (
        contributions(m, observe(y), objective).total() for objective in ("exact", "elbo")
    )
    np.testing.assert_allclose(exact, elbo, rtol=1e-10)


@ALL
def test_competing_intervals_are_differences_of_incidences(family):
    y = make_target(
        [0.0, 0.5, 1.0, 0.2], [1, 2, 1, 2], entry=[0, 0, 0.5, 0], upper=[0.7, 1.5, 4.0, 60.0]
    )
    m = mixtures(family, 4, events=2)
    d = CompetingDistribution(m.map(lambda values: values[None]))
    got = contributions(m, observe(y)).total()
    for row, (event, low, high, entry) in enumerate(
        zip(y["event"], y["time"], y["upper"], y["entry"], strict=True)
    ):
        incidence = d[[row]].cumulative_incidence([low, high], int(event))[0]
        survived = d[[row]].survival(entry)[0, 0]
        np.testing.assert_allclose(
            got[row], np.log((incidence[1] - incidence[0]) / survived), rtol=1e-5
        )


@ALL
@BOTH
def test_one_event_competing_loss_equals_single_risk_loss(family, objective):
    """A second event that can hardly happen changes nothing."""
    y = every_kind(events=1)
    one = mixtures(family, len(y))
    never = one.components.rescaled(200.0)
    both = Mixture(
        one.log_weights.repeat(1, 2, 1),
        family(
            *(
                torch.cat(pair, dim=1)
                for pair in zip(one.components.parameters, never.parameters, strict=True)
            )
        ),
    )
    alone, joint = (contributions(m, observe(y), objective).total() for m in (one, both))
    np.testing.assert_allclose(joint, alone, rtol=1e-5, atol=1e-7)


@ALL
@BOTH
def test_narrow_interval_is_the_integral_of_the_density(family, objective):
    m = mixtures(family, 1)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    log_shares = torch.log(torch.from_numpy(weights / 2))[:, None]
    components = m.components.map(lambda values: values[0])  # [1, k]
    for width in (1e-2, 1e-3, 0.9e-4, 1e-6, 1e-10):  # on both sides of the change of method
        narrow = contributions(
            m, observe(make_target([2.0], [1], upper=[2.0 + width])), objective
        ).total()
        at = torch.from_numpy(2.0 + width * (nodes + 1) / 2)[:, None]
        mean = torch.logsumexp(
            components.log_pdf(at) + log_shares, dim=0
        )  # of the density of each component
        weight = m.log_weights[0, 0]
        expected = (
            torch.logsumexp(weight + mean, 0)
            if objective == "exact"
            else (weight.exp() * mean).sum()
        )
        np.testing.assert_allclose(narrow, expected + np.log(width), atol=1e-6)


@BOTH
@given(order=st.permutations(range(12)))
def test_loss_ignores_row_order(objective, order):
    y = every_kind(12)
    m = mixtures(PRIMITIVES["weibull"], 12, events=2)
    order = list(order)

    def loss(mixture, target):
        observed = observe(target)
        return combined_loss(
            contributions(mixture, observed, objective), observed.weight[None], 0.7
        )

    np.testing.assert_allclose(
        loss(m.map(lambda values: values[order]), y[order]), loss(m, y), rtol=1e-12
    )


@BOTH
def test_case_weight_two_is_the_row_twice(objective):
    y = every_kind(20)
    m = mixtures(PRIMITIVES["lognormal"], 20, events=2)
    twice = np.concatenate([np.arange(20), [4, 7]])
    weight = np.ones(20)
    weight[[4, 7]] = 2.0
    weighted, repeated = observe(y, weight=weight), observe(y[twice])
    a = combined_loss(contributions(m, weighted, objective), weighted.weight[None], 0.5)
    b = combined_loss(
        contributions(m.map(lambda values: values[twice]), repeated, objective),
        repeated.weight[None],
        0.5,
    )
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_row_censored_at_the_origin_weighs_nothing():
    y = make_target([0.0, 2.0], [0, 1])
    assert observe(y).weight.tolist() == [0.0, 1.0]


def test_event_at_the_origin_is_an_interval_to_the_first_event_time():
    m = mixtures(PRIMITIVES["weibull"], 1)
    at_zero = contributions(m, observe(make_target([0.0], [1]))).total()
    interval = contributions(m, observe(make_target([0.0], [1], upper=[0.05]))).total()
    np.testing.assert_allclose(at_zero, interval)


def test_discount_multiplies_only_what_did_not_happen():
    y = make_target(
        [1.0, 2.0, 0.0, 1.0], [1, 0, 2, 2], entry=[0.5, 0.5, 0, 0], upper=[np.nan, np.nan, 1.0, 1.5]
    )
    m = mixtures(PRIMITIVES["weibull"], 4, events=2)
    terms = contributions(m, observe(y))
    assert terms.censored[0] != 0  # the event of the other kind, with its truncation
    assert terms.happened[1] == 0
    assert (terms.censored[2:] == 0).all()  # left- and interval-censored rows are never discounted
    bound = contributions(m, observe(y), "elbo")
    assert (bound.censored[3:] != 0).all()  # but the bound keeps the other events apart


@ALL
def test_units_of_time_only_shift_the_likelihood_of_events(family):
    y = every_kind(events=2)
    m = mixtures(family, len(y), events=2)
    unit = 365.25
    scaled = m.components.rescaled(-np.log(unit))
    years = make_target(y["time"], y["event"], y["entry"], y["upper"])
    a = contributions(m, observe(years)).total()
    b = contributions(Mixture(m.log_weights, scaled), observe(years, unit=unit)).total()
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_penalties_are_sums_of_squares():
    base, heads = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), torch.tensor([[[1.0, 2.0]]])
    centre = torch.tensor([[[1.0, 3.0]]])[..., None]
    assert prior_loss(base, centre, heads, prior_strength=1.0).item() == 1.0 + 1.0
    assert prior_loss(base, centre, heads, prior_strength=0.0, head_prior=1.0).item() == 2.5


def test_strength_of_the_prior_does_not_grow_with_the_rows():
    base, centre = (
        torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]).double(),
        torch.tensor([[[[1.5], [3.0]]]]).double(),
    )
    heads = torch.tensor([[[1.0, 2.0]]]).double()
    prior = prior_loss(base, centre, heads, prior_strength=0.1, head_prior=0.3)
    np.testing.assert_allclose(prior, 0.1 * (0.25 + 0.25 + 1.0) + 0.3 * 2.5, rtol=1e-12)
    losses = []
    for copies in (1, 7):
        y, rows = np.tile(every_kind(10), copies), np.tile(np.arange(10), copies)
        m = mixtures(PRIMITIVES["weibull"], 10, events=2).map(
            lambda values, rows=rows: values[rows]
        )
        observed = observe(y)
        losses.append(combined_loss(contributions(m, observed), observed.weight[None]))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-12)


def test_combined_loss_is_the_formula_of_the_paper():
    """``-(ELBO_U + alpha ELBO_C)`` per unit of weight, written out row by row."""
    time, event = torch.tensor([1.0, 2.0, 3.0]).double(), torch.tensor([1, 0, 1])
    observed = observe(make_target(time.numpy(), event.numpy()))
    m = mixtures(PRIMITIVES["lognormal"], 3)
    w, components = m.log_weights[:, 0].exp(), m.components.map(lambda values: values[:, 0])
    log_f, log_s = components.log_pdf(time[:, None]), components.log_survival(time[:, None])
    uncensored = sum((w[i] * log_f[i]).sum() for i in (0, 2))
    censored = (w[1] * log_s[1]).sum()
    loss = combined_loss(contributions(m, observed, "elbo"), observed.weight[None], 0.4)
    np.testing.assert_allclose(loss, -(uncensored + 0.4 * censored) / 3, rtol=1e-12)


def test_unknown_objective_is_refused():
    with pytest.raises(SettingError, match="unknown objective; got 'mle', expected one of"):
        check_objective("mle")


@LOG_LOCATION_SCALE
@BOTH
@given(
    seed=st.integers(0, 10_000),
    log10_t=st.floats(-12, 12),
    size=st.sampled_from([1.0, 10.0, 60.0]),
    precision=st.sampled_from([0.5, 5.0, 40.0]),
)
def test_loss_and_gradient_are_finite_for_extreme_inputs_in_float32(
    family, objective, seed, log10_t, size, precision
):
    rng = np.random.default_rng(seed)
    y, factor = as_target(every_kind(16, seed=seed)), 10.0**log10_t
    scaled = Target(y.event, y.time * factor, y.entry * factor, y.upper * factor)
    observed = Observations.from_target(scaled, 1.0, 0.05 * factor, None, torch.float32)
    raw = [
        torch.tensor(rng.normal(0, scale, (16, 2, 3)), dtype=torch.float32, requires_grad=True)
        for scale in (size, size, precision)
    ]
    m = Mixture(torch.log_softmax(raw[0], -1), members(family, raw[1], raw[2]))
    terms = contributions(m, observed, objective)
    loss = combined_loss(terms, observed.weight[None], 0.5)
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    for values in raw:
        assert torch.isfinite(values.grad).all()
