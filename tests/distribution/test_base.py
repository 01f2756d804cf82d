import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from helpers.custom_primitives import members
from helpers.quadrature import integral_of_survival
from lifemix.distribution import CompetingDistribution, MixtureDistribution
from lifemix.errors import InputError
from lifemix.primitives import PRIMITIVES, Mixture, Weibull

ALL = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES.keys())
T = np.array([0.0, 0.05, 0.4, 1.0, 2.5, 8.0, 30.0])


def mixtures(family, *shape, seed=0, log_precision=(0.2, 1.0)):
    rng = np.random.default_rng(seed)
    log_weights = torch.log_softmax(torch.from_numpy(rng.normal(size=shape)), -1)
    location = torch.from_numpy(rng.normal(0.3, 0.7, shape))
    return Mixture(
        log_weights, members(family, location, torch.from_numpy(rng.uniform(*log_precision, shape)))
    )


def single(family, rows=3, k=3, seed=0):
    return MixtureDistribution(mixtures(family, rows, k, seed=seed))


def competing(family, members=2, rows=3, events=2, k=2, seed=0, log_precision=(0.2, 1.0)):
    return CompetingDistribution(
        mixtures(family, members, rows, events, k, seed=seed, log_precision=log_precision)
    )


DISTRIBUTIONS = {
    **{
        f"single {name}": lambda family=family: single(family)
        for name, family in PRIMITIVES.items()
    },
    **{
        f"competing {name}": lambda family=family: competing(family)
        for name, family in PRIMITIVES.items()
    },
    "given": lambda: single(PRIMITIVES["lognormal"]).given([0.5, 1.0, 2.0]),
    "competing given": lambda: competing(PRIMITIVES["weibull"]).given(0.7),
}
EVERY = pytest.mark.parametrize("make", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())


@EVERY
def test_shapes_are_rows_by_values(make):
    d = make()
    for name in ("survival", "cumulative_hazard", "hazard", "pdf", "rmst"):
        assert getattr(d, name)(T).shape == (3, len(T))
    assert d.survival(1.0).shape == (3, 1)
    assert d.quantile([0.1, 0.5]).shape == (3, 2)
    assert d.rmst(2.0).shape == d.mean().shape == d.median().shape == (3,)
    assert len(d[1:]) == 2
    np.testing.assert_allclose(d[[2, 0]].survival(T), d.survival(T)[[2, 0]], rtol=1e-14)


@pytest.mark.parametrize("make", [single, competing])
def test_times_and_rows_may_be_reversed_or_read_only(make):
    d, since = make(PRIMITIVES["weibull"]), np.array([0.1, 0.5, 2.0])
    fixed = T.copy()
    fixed.flags.writeable = False
    for name in ("survival", "hazard", "rmst"):
        expected = getattr(d, name)(T)
        np.testing.assert_array_equal(getattr(d, name)(T[::-1]), expected[:, ::-1])
        np.testing.assert_array_equal(getattr(d, name)(fixed), expected)
    np.testing.assert_array_equal(d[::-1].survival(T), d.survival(T)[::-1])
    np.testing.assert_array_equal(
        d.given(since[::-1]).survival(T), d[::-1].given(since).survival(T)[::-1]
    )


@pytest.mark.parametrize("make", [single, competing])
def test_given_keeps_its_times_when_the_array_given_to_it_changes(make):
    d, since = make(PRIMITIVES["weibull"]), np.array([0.1, 0.5, 2.0])
    conditional = d.given(since)
    expected = conditional.survival(T)
    since[:] = 5.0
    np.testing.assert_array_equal(conditional.survival(T), expected)


@EVERY
def test_survival_falls_from_one(make):
    s = make().survival(T)
    assert (np.diff(s, axis=1) <= 1e-15).all()
    np.testing.assert_allclose(s[:, 0], 1)
    assert ((s >= 0) & (s <= 1)).all()


@EVERY
def test_cumulative_hazard_and_hazard_belong_to_survival_and_pdf(make):
    d = make()
    np.testing.assert_allclose(np.exp(-d.cumulative_hazard(T)), d.survival(T), rtol=1e-12)
    np.testing.assert_allclose(d.hazard(T[1:]) * d.survival(T[1:]), d.pdf(T[1:]), rtol=1e-9)


@EVERY
def test_pdf_is_minus_derivative_of_survival(make):
    d, h = make(), 1e-5
    at = np.array([3.0, 5.0, 8.0])
    slope = (d.survival(at - h) - d.survival(at + h)) / (2 * h)
    np.testing.assert_allclose(d.pdf(at), slope, rtol=1e-5, atol=1e-9)


@EVERY
def test_quantile_inverts_survival(make):
    d = make()
    q = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    times = d.quantile(q)
    for row in range(3):
        np.testing.assert_allclose(
            np.diag(d[[row]].survival(times[row]).repeat(6, 0)), 1 - q, rtol=1e-8, atol=1e-9
        )
    since = np.zeros(3) if d._survived_to is None else d._survived_to.numpy()
    np.testing.assert_allclose(d.quantile([0.0])[:, 0], since)
    assert (d.quantile(1.0) == np.inf).all()


@EVERY
def test_mean_and_rmst_are_integrals_of_survival(make):
    d = make()
    corners = [0.5, 0.7, 1.0, 2.0]  # where survival was seen
    restricted = np.stack(
        [integral_of_survival(d.survival, end, corners) for end in (0.3, 4.0)], axis=1
    )
    np.testing.assert_allclose(d.rmst(np.array([0.3, 4.0])), restricted, rtol=1e-7)
    np.testing.assert_allclose(
        d.mean(), integral_of_survival(d.survival, np.exp(60.0), corners), rtol=1e-5
    )


@pytest.mark.parametrize("log_precision", [0.3, 1.0, 1.5, 2.0, 2.5])
def test_mean_under_competing_risks_holds_for_tails_that_fall_as_any_power(log_precision):
    d = competing(PRIMITIVES["loglogistic"], log_precision=(log_precision, log_precision + 0.1))
    direct, beyond = integral_of_survival(d.survival, 1e3), 1e3 * d.survival(1e3)[:, 0]
    for row in range(3):
        np.testing.assert_allclose(d.mean()[row], direct[row], rtol=1e-7, atol=1.2 * beyond[row])


@EVERY
def test_samples_follow_the_survival_function(make):
    d = make()
    draws = d.sample(4000, random_state=5)
    times = draws[0] if isinstance(draws, tuple) else draws
    assert times.shape == (3, 4000)
    for row in range(3):
        one = d[[row]]
        assert stats.kstest(times[row], lambda t, one=one: 1 - one.survival(t)[0]).pvalue > 1e-3
    again = d.sample(4000, random_state=5)
    np.testing.assert_array_equal(again[0] if isinstance(again, tuple) else again, times)


@ALL
def test_given_is_the_ratio_of_survivals(family):
    for d in (single(family), competing(family)):
        conditional = d.given(1.5).survival(T)
        expected = np.where(T < 1.5, 1.0, d.survival(T) / d.survival(1.5))
        np.testing.assert_allclose(conditional, expected, rtol=1e-10)
        np.testing.assert_allclose(d.given(1.0).given(1.5).survival(T), conditional, rtol=1e-12)


@pytest.mark.parametrize("since", [0.5, 15.0, 36.0, 200.0, 800.0])
def test_means_given_survival_hold_where_hardly_anyone_survives(since):
    """An exponential has no memory, however long one has waited."""
    one = Weibull(torch.zeros(1, 1).double(), torch.zeros(1, 1).double())
    alone = MixtureDistribution(Mixture(torch.zeros(1, 1).double(), one)).given(since)
    two = Weibull(torch.zeros(1, 1, 2, 1).double(), torch.zeros(1, 1, 2, 1).double())
    pair = CompetingDistribution(Mixture(torch.zeros(1, 1, 2, 1).double(), two)).given(since)
    for d, rate in ((alone, 1.0), (pair, 2.0)):
        np.testing.assert_allclose(d.mean() - since, 1 / rate, rtol=1e-6)
        np.testing.assert_allclose(d.rmst(since + 1) - since, -np.expm1(-rate) / rate, rtol=1e-6)
        np.testing.assert_allclose(d.median() - since, np.log(2) / rate, rtol=1e-6)


def test_log_normal_far_in_its_tail():
    one = PRIMITIVES["lognormal"](
        torch.zeros(1, 1).double(), torch.full((1, 1), np.log(0.25)).double()
    )
    d = MixtureDistribution(Mixture(torch.zeros(1, 1).double(), one)).given(20_000.0)
    np.testing.assert_allclose(d.survival(d.median()), 0.5, rtol=1e-9)
    assert len(np.unique(d.sample(100, random_state=0))) == 100


@ALL
def test_weights_sum_to_one_also_after_given(family):
    for d in (
        single(family),
        single(family).given(2.0),
        competing(family).net(2),
        competing(family).given(1.0).net(1),
    ):
        np.testing.assert_allclose(d.weights.sum(1), 1, rtol=1e-12)


@ALL
def test_one_component_is_the_primitive(family):
    m = mixtures(family, 3, 1)
    d = MixtureDistribution(m)
    np.testing.assert_allclose(
        d.survival(2.0), m.components.log_survival(torch.tensor(2.0, dtype=torch.float64)).exp()
    )
    np.testing.assert_allclose(
        d.quantile(0.3), m.components.quantile(torch.tensor(0.3, dtype=torch.float64)), rtol=1e-10
    )


@ALL
def test_one_event_competing_equals_single_risk(family):
    m = mixtures(family, 1, 3, 1, 2)
    joint, alone = (
        CompetingDistribution(m),
        MixtureDistribution(m.map(lambda values: values[0, :, 0])),
    )
    for name in ("survival", "pdf", "hazard", "rmst"):
        np.testing.assert_allclose(
            getattr(joint, name)(T[1:]), getattr(alone, name)(T[1:]), rtol=1e-8
        )
    np.testing.assert_allclose(
        joint.cumulative_incidence(T), alone.cumulative_incidence(T), atol=1e-9
    )
    np.testing.assert_allclose(joint.quantile([0.2, 0.8]), alone.quantile([0.2, 0.8]), rtol=1e-9)


@ALL
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), since=st.none() | st.floats(0.1, 3))
def test_incidences_and_survival_sum_to_one(family, seed, since):
    d = competing(family, events=3, seed=seed, log_precision=(-1.6, 3.0))
    d = d if since is None else d.given(since)
    np.testing.assert_allclose(d.cumulative_incidences(T).sum(0) + d.survival(T), 1, atol=1e-6)


@ALL
def test_the_incidence_of_one_event_is_that_of_all(family):
    d = competing(family, events=3, log_precision=(-1.6, 3.0))
    for each in (d, d.given(0.7)):
        one_by_one = [each.cumulative_incidence(T, event) for event in (1, 2, 3)]
        np.testing.assert_array_equal(one_by_one, each.cumulative_incidences(T))


def test_incidence_of_exponentials_is_their_closed_form():
    rates = np.array([0.3, 1.1, 0.05])
    components = Weibull(
        torch.zeros(1, 1, 3, 1).double(), torch.from_numpy(-np.log(rates)).view(1, 1, 3, 1)
    )
    d = CompetingDistribution(Mixture(torch.zeros(1, 1, 3, 1).double(), components))
    for event, rate in enumerate(rates, 1):
        expected = rate / rates.sum() * -np.expm1(-rates.sum() * T)
        np.testing.assert_allclose(d.cumulative_incidence(T, event)[0], expected, atol=1e-9)


@pytest.mark.parametrize("shape", [0.2, 0.7, 1.0, 3.0, 20.0])
def test_incidence_of_weibulls_of_equal_shape_is_their_closed_form(shape):
    scales = np.array([0.5, 2.0])
    log_shape = torch.full((1, 1, 2, 1), np.log(shape)).double()
    components = Weibull(log_shape, torch.from_numpy(np.log(scales)).view(1, 1, 2, 1))
    d = CompetingDistribution(Mixture(torch.zeros(1, 1, 2, 1).double(), components))
    rates = scales**-shape
    for event in (1, 2):
        expected = rates[event - 1] / rates.sum() * -np.expm1(-rates.sum() * T**shape)
        np.testing.assert_allclose(d.cumulative_incidence(T, event)[0], expected, atol=1e-8)


@pytest.mark.parametrize(
    "shapes", [(0.2, 20.0), (20.0, 0.2), (0.5, 2.0), (7.0, 7.5), (0.2, 0.3), (20.0, 15.0)]
)
def test_each_incidence_equals_adaptive_integration(shapes):
    log_shapes = torch.log(torch.tensor(shapes, dtype=torch.float64)).view(1, 1, 2, 1)
    components = Weibull(log_shapes, torch.tensor([0.3, 0.1], dtype=torch.float64).view(1, 1, 2, 1))
    d = CompetingDistribution(Mixture(torch.zeros(1, 1, 2, 1).double(), components))
    a, b = (
        stats.weibull_min(shape, scale=np.exp(scale))
        for shape, scale in zip(shapes, (0.3, 0.1), strict=True)
    )
    for t in (0.02, 0.9, 1.2, 3.0):
        for event, own, other in ((1, a, b), (2, b, a)):

            def rate(x, own=own, other=other):
                return own.pdf(np.exp(x)) * other.sf(np.exp(x)) * np.exp(x)

            centre = [p for p in (0.0, 0.1, 0.3) if p < np.log(t)] or None
            exact = integrate.quad(rate, -150, np.log(t), limit=2000, points=centre, epsabs=1e-12)[
                0
            ]
            np.testing.assert_allclose(d.cumulative_incidence(t, event)[0, 0], exact, atol=1e-6)


def test_incidence_rises_by_the_density_of_the_event():
    d, h = competing(PRIMITIVES["lognormal"]), 1e-4
    at = np.array([0.5, 1.5, 4.0])
    slopes = sum(
        (d.cumulative_incidence(at + h, m) - d.cumulative_incidence(at - h, m)) / (2 * h)
        for m in (1, 2)
    )
    np.testing.assert_allclose(slopes, d.pdf(at), rtol=1e-4)


def test_net_of_an_ensemble_is_the_mean_of_its_members():
    d = competing(PRIMITIVES["weibull"], members=3)
    members = [
        CompetingDistribution(d._mixtures.map(lambda v, a=a: v[a : a + 1])) for a in range(3)
    ]
    np.testing.assert_allclose(
        d.net(2).survival(T), np.mean([m.net(2).survival(T) for m in members], axis=0)
    )
    np.testing.assert_allclose(d.survival(T), np.mean([m.survival(T) for m in members], axis=0))
    mean_incidence = np.mean([m.cumulative_incidence(T, 1) for m in members], axis=0)
    np.testing.assert_allclose(d.cumulative_incidence(T, 1), mean_incidence, atol=1e-9)


def test_given_reweights_the_members_by_their_survival():
    d, s = competing(PRIMITIVES["weibull"], members=3), 1.3
    members = [
        CompetingDistribution(d._mixtures.map(lambda v, a=a: v[a : a + 1])) for a in range(3)
    ]
    share = np.stack([m.survival(s) for m in members])
    share /= share.sum(0)
    expected = sum(p * m.given(s).net(1).survival(T) for p, m in zip(share, members, strict=True))
    np.testing.assert_allclose(d.given(s).net(1).survival(T), expected, rtol=1e-9)
    later = sum(
        p * m.given(s).cumulative_incidence(T, 2) for p, m in zip(share, members, strict=True)
    )
    np.testing.assert_allclose(d.given(s).cumulative_incidence(T, 2), later, atol=1e-8)


def test_samples_of_competing_events_have_the_right_kinds():
    d = competing(PRIMITIVES["weibull"])
    times, kinds = d.sample(20_000, random_state=1)
    for event in (1, 2):
        share = ((kinds == event) & (times <= 2.5)).mean(1)
        np.testing.assert_allclose(share, d.cumulative_incidence(2.5, event)[:, 0], atol=0.02)


def test_mean_is_infinite_where_a_components_is():
    family = PRIMITIVES["loglogistic"]
    slow = family(torch.tensor([[1.0, -0.1]]).double(), torch.zeros(1, 2).double())
    d = MixtureDistribution(Mixture(torch.log(torch.tensor([[0.9, 0.1]]).double()), slow))
    assert d.mean()[0] == np.inf
    # two competing events whose tails together are light enough
    pair = family(
        torch.log(torch.full((1, 1, 2, 1), 0.8)).double(), torch.zeros(1, 1, 2, 1).double()
    )
    joint = CompetingDistribution(Mixture(torch.zeros(1, 1, 2, 1).double(), pair))
    exact = integrate.quad(lambda x: np.exp(x) / (1 + np.exp(0.8 * x)) ** 2, -80, 300, limit=500)[0]
    np.testing.assert_allclose(joint.mean(), exact, rtol=1e-6)


def test_large_inputs_are_evaluated_in_chunks_with_the_same_result(monkeypatch):
    from lifemix.distribution import base

    whole = single(PRIMITIVES["weibull"], rows=50), competing(PRIMITIVES["weibull"], rows=50)
    expected = [d.quantile([0.2, 0.7]) for d in whole], [d.survival(T) for d in whole]
    monkeypatch.setattr(base, "_BLOCK", 64)
    np.testing.assert_array_equal(expected[0], [d.quantile([0.2, 0.7]) for d in whole])
    np.testing.assert_allclose(expected[1], [d.survival(T) for d in whole], rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.survival([-1.0]), r"t must be finite and >= 0; got -1\.0"),
        (lambda d: d.survival([np.nan]), "t must be finite"),
        (lambda d: d.survival([[1.0]]), "a number or a vector of at least one; got shape"),
        (lambda d: d.quantile(1.5), "from 0 to 1; got 1.5"),
        (lambda d: d.given([1.0, 2.0]), r"one per row \(3\)"),
        (lambda d: d.given(-1.0), "s must be finite and >= 0"),
        (lambda d: d.net(3), "event must be"),
        (lambda d: d.cumulative_incidence(1.0, 0), "event must be"),
    ],
)
def test_bad_questions_are_refused(call, message):
    for d in (single(PRIMITIVES["weibull"]), competing(PRIMITIVES["weibull"])):
        with pytest.raises(InputError, match=message):
            call(d)
