"""Delayed entry, intervals, left-censored times and ``t_max`` in the training step with its gradient written out."""

import numpy as np
import pytest
import torch

from lifemix import make_target
from lifemix.likelihood import Observations
from lifemix.network import Architecture
from lifemix.primitives import PRIMITIVES, LogLocationScale
from lifemix.target import as_target
from lifemix.training import Data, Fleet, Job, TrainConfig, warm_start
from lifemix.training.batches import shuffled_rows
from lifemix.training.fused import Fused
from lifemix.training.gradients import Autograd

N = 120
FAMILIES = [name for name, family in PRIMITIVES.items() if issubclass(family, LogLocationScale)]
SETTINGS = [
    {"discount": 1.0, "prior_strength": 0.3},
    {"discount": 0.5, "head_prior": 0.1},
    {"discount": 0.0},
]
KINDS = [
    ("late", None),
    ("left", None),
    ("narrow", None),
    ("all", None),
    ("all", 60.0),
    ("one", 60.0),
]


def target(kind, events, rng):
    """Return rows of which some, or one, are odd."""
    time = rng.weibull(1.3, N) * 3 + 0.01
    event = rng.integers(0, events + 1, N)
    event[:events] = np.arange(1, events + 1)
    entry, upper = np.zeros(N), np.full(N, np.nan)
    chosen = np.arange(N) == 7 if kind == "one" else rng.random(N) < 0.6
    if kind in ("late", "all", "one"):
        entry = np.where(chosen, time * rng.uniform(0.01, 0.99, N), 0.0)
    inside = rng.random(N) < (0 if kind in ("plain", "late", "one", "left") else 0.5)
    upper[inside] = time[inside] * (
        1 + 10 ** rng.uniform(*((-3.5, -2) if kind == "narrow" else (-2, 1)), inside.sum())
    )
    event[inside] = rng.integers(1, events + 1, inside.sum())
    if kind in ("left", "all"):
        first = rng.random(N) < 0.2
        entry[first], time[first], event[first] = 0.0, 0.0, rng.integers(0, events + 1, first.sum())
        upper[first] = np.where((event[first] > 0) & (rng.random(first.sum()) < 0.5), 1.5, np.nan)
    return make_target(time, event, entry=entry, upper=upper)


def make_fleet(kind, events, architecture, config, dtype=torch.float64, n_models=3):
    rng = np.random.default_rng(3)
    y = as_target(target(kind, events, rng))
    double = Observations.from_target(y, 1.0, 0.02, rng.uniform(0.5, 2, N))
    observed = (
        double if dtype == torch.float64 else Observations.from_target(y, 1.0, 0.02, None, dtype)
    )
    start, rows = warm_start(architecture.family, double, events), torch.arange(N)
    jobs = [
        Job(rows[:90], rows[90:], start, seed, **SETTINGS[seed % 3]) for seed in range(n_models)
    ]
    return Fleet(
        architecture,
        Data(torch.as_tensor(rng.normal(size=(N, 5)), dtype=dtype), observed),
        jobs,
        config,
    )


def numbers(way, fleet):
    """Return losses, gradient and held-out losses of one batch."""
    rows, present = shuffled_rows(fleet.jobs, [type(one)(5) for one in fleet.randoms], 40)
    table, weight = fleet.data.observed, fleet.data.observed.weight[rows] * present
    batch = way.targets(table, rows, weight, fleet.settings)[1]
    given = (fleet.parameters, fleet.slopes, fleet.settings, fleet.inputs(rows[:, 1]), batch, None)
    loss = way.loss_and_gradient(*given)
    held_out = way.held_out_target(table, rows[:, 0], weight[:, 0], fleet.settings)
    found = way.held_out(fleet.parameters, fleet.settings, fleet.inputs(rows[:, 0]), held_out)
    return loss, fleet.slopes.flat.clone(), found


@pytest.mark.parametrize("primitive", FAMILIES)
@pytest.mark.parametrize(("objective", "events"), [("exact", 1), ("exact", 2), ("elbo", 2)])
@pytest.mark.parametrize(("kind", "t_max"), KINDS)
def test_gradient_of_odd_rows_equals_autograd(primitive, objective, events, t_max, kind):
    architecture = Architecture(5, (6,), 3, events, primitive, "tanh")
    config = TrainConfig(objective=objective, t_max=t_max)
    fleet = make_fleet(kind, events, architecture, config)
    assert isinstance(fleet.gradient, Fused)
    ours, reference = (numbers(way(architecture, config), fleet) for way in (Fused, Autograd))
    for one, other in zip(ours, reference, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("primitive", ["weibull", "lognormal", "loglogistic"])
@pytest.mark.parametrize(("kind", "events"), [("narrow", 1), ("narrow", 2), ("all", 2)])
def test_single_precision_follows_double(primitive, kind, events):
    architecture = Architecture(5, (6,), 3, events, primitive, "tanh")
    config = TrainConfig(t_max=60.0)
    found = []
    for dtype in (torch.float32, torch.float64):
        fleet = make_fleet(kind, events, architecture, config, dtype, n_models=1)
        if dtype == torch.float64:
            own = fleet.data.observed
            fleet.data = Data(fleet.data.x, own.reweighted((own.weight > 0).double()))
        found.append(numbers(fleet.gradient, fleet))
    for single, double in zip(*found, strict=True):
        np.testing.assert_allclose(single, double, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", ["all", "one"])
def test_rows_picked_out_of_a_fleet_are_those_of_each_model(kind):
    architecture, config = (
        Architecture(5, (6,), 3, 1, "weibull"),
        TrainConfig(batch_size=32, max_epochs=6),
    )
    together = make_fleet(kind, 1, architecture, config, torch.float32)
    jobs, data = list(together.jobs), together.data
    for job, fit in zip(jobs, together.train(), strict=True):
        (alone,) = Fleet(architecture, data, [job], config).train()
        assert alone.best_epoch == fit.best_epoch
        np.testing.assert_allclose(fit.parameters, alone.parameters, atol=2e-4)


@pytest.mark.parametrize("events", [1, 2])
def test_what_is_kept_of_a_table_is_not_taken_for_another(events):
    architecture, config = Architecture(5, (6,), 3, events, "weibull"), TrainConfig()
    one, other, plain = (
        make_fleet(kind, events, architecture, config) for kind in ("all", "late", "plain")
    )
    kept = Fused(architecture, config)
    for fleet in (one, other, plain, one, one):
        for ours, fresh in zip(
            numbers(kept, fleet), numbers(Fused(architecture, config), fleet), strict=True
        ):
            assert torch.equal(ours, fresh)
