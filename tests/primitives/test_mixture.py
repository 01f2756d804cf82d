"""Mixtures of several families: every component is its own family's, and so is what is fitted, saved and shown."""

import numpy as np
import pytest
import torch

from helpers.custom_primitives import members
from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import SettingError
from lifemix.primitives import PRIMITIVES
from lifemix.primitives.cure import Never
from lifemix.primitives.mixture import choose_families, mixed

BUILT_IN = [family for family in PRIMITIVES.values() if family.__module__.startswith("lifemix.")]
TIMES = torch.tensor([1e-3, 0.5, 2.0, 30.0], dtype=torch.float64)[:, None]
LEVELS = torch.log(torch.tensor([0.99, 0.5, 0.1], dtype=torch.float64))[:, None]


def every_family():
    """Return one component of each built-in family, joined, and the same separately."""
    families = (*BUILT_IN, Never)
    location, log_precision = (
        torch.full((len(families),), value, dtype=torch.float64) for value in (0.4, 0.3)
    )
    separate = [members(family, location, log_precision) for family in BUILT_IN] + [
        Never(torch.zeros_like(location))
    ]
    return mixed(families).join(separate, torch.arange(len(families))), separate


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
    joined, separate = every_family()
    values = getattr(joined, name)(*FUNCTIONS[name])
    for i, member in enumerate(separate):
        expected = getattr(member, name)(*FUNCTIONS[name]).expand(*values.shape[:-1], len(separate))
        torch.testing.assert_close(values[..., i], expected[..., i], rtol=1e-11, atol=0)


def test_what_is_gathered_moved_and_rescaled_keeps_its_family():
    joined, separate = every_family()
    order = torch.tensor([3, 0, 5, 5])
    moved = (
        joined.rescaled(0.7)
        .displaced(torch.full((len(separate),), 0.2).double())
        .map(lambda values: values[order])
    )
    for i, kind in enumerate(order.tolist()):
        alone = separate[kind].rescaled(0.7).displaced(torch.full((len(separate),), 0.2).double())
        torch.testing.assert_close(
            moved.log_survival(TIMES)[:, i], alone.log_survival(TIMES)[:, kind]
        )


def test_gradients_are_those_of_the_families():
    joined, separate = every_family()
    leaves = [parameter.clone().requires_grad_() for parameter in joined.parameters]
    type(joined)(*leaves).log_survival(TIMES).sum().backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves if leaf.grad is not None)
    weibull = BUILT_IN.index(PRIMITIVES["weibull"])
    separate_leaves = [
        parameter.clone().requires_grad_() for parameter in separate[weibull].parameters
    ]
    PRIMITIVES["weibull"](*separate_leaves).log_survival(TIMES)[:, weibull].sum().backward()
    for at, leaf in zip(
        type(joined).parameter_index(PRIMITIVES["weibull"]), separate_leaves, strict=True
    ):
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
