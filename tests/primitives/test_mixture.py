"""Mixtures of several families: every component is its own family's, and so is what is fitted, saved and shown."""

import numpy as np
import pytest
import torch
from hypothesis import given

from helpers.custom_primitives import members
from helpers.primitive_references import ALL, locations, log_precisions, make, number, times
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import SettingError
from lifemix.export import export_survival
from lifemix.primitives import PRIMITIVES, Mixture, Primitive
from lifemix.primitives.cure import Never
from lifemix.primitives.mixture import Mixed, choose_families, mixed

BUILT_IN = [family for family in PRIMITIVES.values() if family.__module__.startswith("lifemix.")]
TIMES = torch.tensor([1e-3, 0.5, 2.0, 30.0], dtype=torch.float64)[:, None]
LEVELS = torch.log(torch.tensor([0.99, 0.5, 0.1], dtype=torch.float64))[:, None]


def every_family():
    """Return one component of each built-in family, joined, and the same apart."""
    families = (*BUILT_IN, Never)
    place, log_precision = (
        torch.full((len(families),), value, dtype=torch.float64) for value in (0.4, 0.3)
    )
    apart = [members(family, place, log_precision) for family in BUILT_IN] + [
        Never(torch.zeros_like(place))
    ]
    return mixed(families).join(apart, torch.arange(len(families))), apart


FUNCTIONS = dict.fromkeys(("log_pdf", "log_survival", "log_cdf"), (TIMES,)) | {
    "log_interval": (TIMES, 2 * TIMES),
    "inverse_log_survival": (LEVELS,),
    "survival_curve": (torch.log(TIMES),),
    "tail_index": (),
    "cure_fraction": (),
    "steepness": (),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_component_is_its_familys(name):
    together, apart = every_family()
    found = getattr(together, name)(*FUNCTIONS[name])
    for place, member in enumerate(apart):
        expected = getattr(member, name)(*FUNCTIONS[name])
        expected = expected.expand(*found.shape[:-1], len(apart))
        torch.testing.assert_close(found[..., place], expected[..., place], rtol=1e-11, atol=0)


def test_what_is_gathered_moved_and_rescaled_keeps_its_family():
    together, apart = every_family()
    order = torch.tensor([3, 0, 5, 5])
    moved = (
        together.rescaled(0.7)
        .displaced(torch.full((len(apart),), 0.2).double())
        .map(lambda values: values[order])
    )
    for place, kind in enumerate(order.tolist()):
        alone = apart[kind].rescaled(0.7).displaced(torch.full((len(apart),), 0.2).double())
        torch.testing.assert_close(
            moved.log_survival(TIMES)[:, place], alone.log_survival(TIMES)[:, kind]
        )


def test_gradients_are_those_of_the_families():
    together, apart = every_family()
    leaves = [parameter.clone().requires_grad_() for parameter in together.parameters]
    type(together)(*leaves).log_survival(TIMES).sum().backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves if leaf.grad is not None)
    weibull = BUILT_IN.index(PRIMITIVES["weibull"])
    own = [parameter.clone().requires_grad_() for parameter in apart[weibull].parameters]
    PRIMITIVES["weibull"](*own).log_survival(TIMES)[:, weibull].sum().backward()
    for at, leaf in zip(type(together).parameter_index(PRIMITIVES["weibull"]), own, strict=True):
        torch.testing.assert_close(leaves[at].grad[weibull], leaf.grad[weibull])


def test_what_primitive_may_be():
    weibull, lognormal = PRIMITIVES["weibull"], PRIMITIVES["lognormal"]
    assert choose_families("weibull", 3, 2) is weibull
    assert choose_families(["weibull", weibull], 2, 1) is weibull
    assert choose_families(["weibull", "log-normal"], 2, 1) == (
        (weibull, weibull, lognormal, lognormal),
    )
    assert choose_families({"weibull": 1, "lognormal": 2}, 7, 1) == (
        (weibull, lognormal, lognormal),
    )
    by_event = choose_families({1: {"weibull": 2}, 2: ["lognormal", "weibull"]}, 1, 2)
    assert by_event == ((weibull, weibull), (lognormal, weibull))
    assert choose_families("weibull", 1, 1, cure=True) == ((weibull, Never),)
    for wrong, words in (
        ([], "at least one family"),
        ({}, "at least one family"),
        (
            {"weibull": 0},
            "number of components of 'weibull' must be a whole number from 1 to 1000; got 0",
        ),
        ({"weibull": True}, "from 1 to 1000; got True"),
        ({"weibull": 1001}, "from 1 to 1000; got 1001"),
        (["gumbel"], "unknown primitive; got 'gumbel'"),
    ):
        with pytest.raises(SettingError, match=words):
            DeepSurvivalMachines(wrong).fit(*sample())
    with pytest.raises(SettingError, match=r"for each event type \[1\]; got \[1, 2\]"):
        DeepSurvivalMachines({1: "weibull", 2: "weibull"}).fit(*sample())
    with pytest.raises(SettingError, match=r"every event type as many components; got \[4, 8\]"):
        DeepSurvivalMachines({1: "weibull", 2: ["lognormal", "burr"]}).fit(*sample(2))


def sample(n_events=1, n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, make_target(
        rng.weibull(1.4, n) * 20 * np.exp(0.5 * X[:, 0]) + 0.01, rng.integers(0, n_events + 1, n)
    )


def model(primitive, **settings):
    usual = {"hidden": (6,), "k": 2, "max_epochs": 3, "learning_rate": 0.02, "batch_size": 40}
    return DeepSurvivalMachines(primitive, **(usual | settings))


CASES = {
    "list": (["weibull", "lognormal"], 1, False),
    "counts": ({"spline": 1, "weibull": 2, PRIMITIVES["burr"]: 1}, 2, False),
    "by event": ({1: {"weibull": 4}, 2: ["gompertz", "spline"]}, 2, False),
    "cure": ("weibull", 1, True),
    "cure by event": ({1: {"lognormal": 4}, 2: ["gamma", "gompertz"]}, 2, True),
}


@pytest.mark.parametrize(("primitive", "n_events", "cure"), CASES.values(), ids=CASES.keys())
def test_fits_predicts_is_saved_and_exported(primitive, n_events, cure, tmp_path):
    X, y = sample(n_events)
    fitted = model(primitive, cure=cure, n_members=2).fit(X, y)
    times = np.array([0.0, 0.5, 4.0, 15.0, 60.0])
    distribution = fitted.predict_distribution(X)
    survival = fitted.predict_survival_function(X, times)
    incidences = sum(
        fitted.predict_cumulative_incidence(X, times, event) for event in range(1, n_events + 1)
    )
    np.testing.assert_allclose(incidences + survival, 1, atol=1e-8)
    assert isinstance(distribution.net(1).components, Mixed)
    np.testing.assert_allclose(distribution.net(1).weights.sum(1), 1, rtol=1e-12)
    quantile = distribution.quantile(0.2)[:, 0]
    np.testing.assert_allclose(
        distribution.survival(quantile)[np.diag_indices(len(X))], 0.8, rtol=1e-9
    )
    assert np.isfinite(fitted.log_likelihood(X, y))
    save(fitted, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_survival_function(X, times), survival)
    found = export_survival(fitted, times, event=n_events).module()(torch.as_tensor(X[:40]))
    expected = fitted.predict_cumulative_incidence(X[:40], times, n_events)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_families_of_each_event_type_are_those_asked_for():
    X, y = sample(2)
    fitted = model({1: {"weibull": 2}, 2: ["lognormal", "spline"]}, k=1).fit(X, y)
    components, weights = (
        getattr(fitted.predict_distribution(X).net(2), name) for name in ("components", "weights")
    )
    assert [components.families[int(kind)].name for kind in components.kind[0]] == [
        "lognormal",
        "spline",
    ]
    first = fitted.predict_distribution(X).net(1)
    assert [first.components.families[int(kind)].name for kind in first.components.kind[0]] == [
        "weibull",
        "weibull",
    ]
    assert (first.weights > 0).all()
    assert (weights > 0).all()


def test_mixed_is_no_primitive_by_name():
    assert not any(issubclass(family, (Mixed, Never)) for family in PRIMITIVES.values())
    assert issubclass(Mixed, Primitive)


@ALL
@given(location=locations, log_precision=log_precisions, t=times)
def test_mixture_of_one_component_is_the_primitive(family, location, log_precision, t):
    p = make(family, [location], [log_precision])
    mixture = Mixture(torch.zeros(1, dtype=torch.float64), p)
    for name in ("log_pdf", "log_survival", "log_cdf"):
        expected = getattr(p, name)(number([t]))[0]
        np.testing.assert_allclose(getattr(mixture, name)(number(t)), expected, rtol=1e-12)
