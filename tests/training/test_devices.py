"""A training step asks no device for a number, and computes everything where its data are.

No GPU is needed: synchronisations are counted on the CPU, taken for another device, and what would be mixed with
numbers of the host shows on the device ``meta``, which has no numbers at all.
"""

import math
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators.fleet_groups import _fleets_of
from lifemix.estimators.preparation import TrainingSet, prepare
from lifemix.estimators.settings import choose_device
from lifemix.training import Fleet, autograd

# Each makes the host wait for the device: it needs a number, or a size that depends on numbers.
WAITING = (
    "_local_scalar_dense",
    "item",
    "is_nonzero",
    "equal",
    "nonzero",
    "masked_select",
    "_unique2",
    "bincount",
)
N = 140
META = torch.device("meta")


class Watch(TorchDispatchMode):
    """Counts the calls that make the host wait, and those that take a tensor from elsewhere."""

    def __init__(self, device):
        super().__init__()
        self.device, self.waits, self.foreign, self.calls = device, Counter(), Counter(), 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        self.calls += 1
        if name in WAITING:
            self.waits[name] += 1
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if any(tensor.device != self.device for tensor in tensors):
            self.foreign[name] += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)).astype(np.float32)
    return X, rng.weibull(1.5, N) * np.exp(0.5 * X[:, 0]) + 0.01


def targets(time):
    """Return targets of every sort of rows."""
    rng = np.random.default_rng(1)
    upper = np.where(rng.random(N) < 0.3, 1.5 * time, np.nan)
    entry = np.where(rng.random(N) < 0.4, 0.3 * time, 0.0)
    single, pair = (
        np.where(np.isnan(upper), rng.integers(0, n + 1, N), rng.integers(1, n + 1, N))
        for n in (1, 2)
    )
    early = np.where(np.arange(N) < 20, 0.0, time)
    interval_end = np.where(np.arange(N) < 20, 0.5, upper)
    return {
        "plain": make_target(time, rng.integers(0, 2, N)),
        "competing": make_target(time, rng.integers(0, 3, N)),
        "odd": make_target(time, single, entry=entry, upper=upper),
        "from origin": make_target(early, np.maximum(single, early == 0), upper=interval_end),
        "odd competing": make_target(time, pair, entry=entry, upper=upper),
    }


def encoder():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh())


CASES = {
    "analytic": ("plain", {}),
    "analytic competing": ("competing", {"primitive": "log_logistic", "dropout": 0.3}),
    "members": ("plain", {"n_members": 3, "weight_decay": 0.1}),
    "sgd": ("plain", {"optimizer": "sgd", "head_prior": 0.1}),
    "rmsprop": ("plain", {"optimizer": "rmsprop"}),
    "odd rows, log-normal": ("odd", {"primitive": "log_normal"}),
    "odd rows from the origin": ("from origin", {"primitive": "log_normal"}),
    "joint intervals": ("odd competing", {}),
    "slopes": ("plain", {"primitive": "spline"}),
    "autograd": ("odd", {"primitive": "gompertz"}),
    "cure": ("plain", {"cure": True}),
    "families": (
        "competing",
        {"primitive": {1: ["weibull", "log_normal"], 2: ["weibull", "log_normal"]}},
    ),
    "encoder, odd rows": ("odd", {"encoder": encoder, "primitive": "log_normal"}),
}


# Rows whose likelihood is an integral are picked out by number, so the host has to wait.
WITHOUT_WAITING = [case for case, (rows, _) in CASES.items() if rows != "odd competing"]


def fleet_of(table, case, **options):
    X, time = table
    rows, changes = CASES[case]
    settings = {
        "hidden": (5,),
        "k": 2,
        "max_epochs": 1,
        "batch_size": 64,
        "learning_rate": 0.01,
        "n_members": 1,
    }
    settings |= {"dropout": 0.0} | changes | options
    if "encoder" in settings:
        settings["encoder"] = settings["encoder"]()
    training_table = TrainingSet(X, targets(time)[rows])
    return next(iter(_fleets_of(prepare(DeepSurvivalMachines(**settings), training_table))))


def first_step(fleet):
    """Let a fleet run an epoch; return what its first step was given, and what all of them were."""
    steps, step = [], fleet.step
    fleet.step = lambda *arguments: steps.append(arguments) or step(*arguments)
    fleet.run_epoch()
    fleet.step = step
    return steps


def elsewhere(value, device=META):
    """Return tensors, however nested, on another device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if is_dataclass(value) and not isinstance(value, type):
        moved = {
            field.name: elsewhere(getattr(value, field.name), device) for field in fields(value)
        }
        return replace(value, **moved)
    if isinstance(value, (list, tuple)):
        return type(value)(elsewhere(item, device) for item in value)
    return value


@pytest.mark.parametrize("case", WITHOUT_WAITING)
def test_no_step_makes_the_host_wait(table, case, monkeypatch):
    monkeypatch.setattr(autograd, "HOSTS", set())
    watch = Watch(torch.device("cpu"))
    fleet = fleet_of(table, case)
    step = fleet.step

    def watched(*arguments):
        with watch:
            return step(*arguments)

    fleet.step = watched
    fleet.run_epoch()
    assert watch.calls > 30
    assert not watch.waits


def test_the_watch_sees_what_makes_the_host_wait(table):
    fleet = fleet_of(table, "analytic", max_epochs=2)
    arguments = first_step(fleet)[0]
    with Watch(torch.device("cpu")) as watch:
        fleet.step(*arguments)
    assert watch.waits == {
        "_local_scalar_dense": 1
    }  # the norm of the gradient, for which the CPU need not wait


@pytest.mark.parametrize("case", WITHOUT_WAITING)
def test_a_step_computes_on_the_device_of_its_data(table, case):
    host = fleet_of(table, case)
    arguments = elsewhere(first_step(host)[0])
    remote = Fleet(host.architecture, host.data.to(META), host.jobs, host.config)
    if host.architecture.module is not None:
        host.architecture.module.to(META)
    remote.loss.with_gradient(
        remote.parameters, remote.gradient, remote.settings, *arguments[:3]
    )  # copies constants
    with Watch(META) as watch:
        loss = remote.step(*arguments)
    assert loss.device == META
    assert set(watch.foreign) <= ({"_to_copy"} if case == "families" else set())
    assert not watch.waits


@pytest.mark.parametrize("case", CASES)
def test_without_waiting_a_fit_is_the_same(table, case, monkeypatch):
    plain = fleet_of(table, case, dropout=0.0).train()
    monkeypatch.setattr(autograd, "HOSTS", set())
    device_fits = fleet_of(table, case, dropout=0.0).train()
    for expected, fit in zip(plain, device_fits, strict=True):
        assert torch.equal(fit.parameters, expected.parameters)


def test_a_gradient_beyond_the_limit_or_not_finite_is_treated_alike(table, monkeypatch):
    def clipped(hosts):
        monkeypatch.setattr(autograd, "HOSTS", hosts)
        fleet = fleet_of(table, "members")
        gradient = fleet.gradient
        gradient.flat.copy_(torch.linspace(-3, 3, len(gradient.flat)))
        gradient.blocks["heads"][1] = math.inf
        gradient.clip_norms_(10.0)
        return gradient.flat

    host, remote = clipped({"cpu"}), clipped(set())
    assert torch.equal(host, remote)
    assert bool(torch.isfinite(host).all())


def test_a_fitted_network_is_computed_on_its_device(table):
    X, time = table
    for case in ("analytic", "families", "encoder, odd rows"):
        rows, changes = CASES[case]
        changes = changes | ({"encoder": encoder()} if "encoder" in case else {})
        model = DeepSurvivalMachines(hidden=(5,), k=2, max_epochs=1, n_members=2, **changes).fit(
            X, targets(time)[rows]
        )
        network = model.network_
        for architecture, flat in network._groups():
            parameters = elsewhere(architecture.layout.views(flat))
            parameters = {name: value.to(META) for name, value in parameters.items()}
            x = torch.zeros(len(flat), 3, 4, device=META)
            architecture.mixtures(parameters, x)  # copies constants
            state = architecture.module_state()
            with Watch(META) as watch:
                mixtures = architecture.mixtures(parameters, x)
            assert mixtures.log_weights.device == META
            assert set(watch.foreign) <= (
                {"_to_copy"} if state or case == "families" else set()
            )  # the state of a module and the positions of absent components are copied


def test_a_gpu_is_taken_for_large_steps_of_all_members_only(monkeypatch):
    def device(n_members, device="auto", module=None):
        layout = SimpleNamespace(size=10_000)
        return choose_device(
            SimpleNamespace(device=device, batch_size=100, n_members=n_members),
            SimpleNamespace(layout=layout, module=module),
        ).type

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device(66) == "cpu"
    assert device(67) == "cuda"
    assert device(1, module=torch.nn.Identity()) == "cuda"
    assert device(10_000, "cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device(10_000) == "cpu"
