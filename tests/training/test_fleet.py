import importlib
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lifemix import make_target
from lifemix.likelihood import Observations
from lifemix.network import Architecture
from lifemix.primitives import PRIMITIVES, LogLocationScale
from lifemix.target import as_target
from lifemix.training import Data, Fleet, Job, TrainConfig, batches, warm_start
from lifemix.training.batches import Randomness, dropout_masks, shuffled_rows, steps_per_epoch
from lifemix.training.fused import Fused
from lifemix.training.gradients import Autograd, Parameters, penalties
from lifemix.training.optimizers import make_optimizer

N = 120
LOG_LOCATION_SCALE = [
    name for name, family in PRIMITIVES.items() if issubclass(family, LogLocationScale)
]


def sample(events=1, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 5))
    time = rng.weibull(1.3, N) * np.exp(0.5 * x[:, 0])
    event = rng.integers(0, events + 1, N)
    event[:events] = np.arange(1, events + 1)
    weight = rng.uniform(0.5, 2, N)
    observed = Observations.from_target(
        as_target(make_target(time, event)), 1.0, 0.01, weight, dtype
    )
    return Data(torch.as_tensor(x, dtype=dtype), observed)


def jobs_for(data, family, events, settings, n_train=90):
    observed = data.observed.take(torch.arange(n_train))
    double = Observations(
        *(
            v.double() if v.is_floating_point() else v
            for v in vars(observed).values()
            if v is not None
        )
    )
    start = warm_start(family, double, events)
    rows = torch.arange(N)
    return [
        Job(rows[:n_train], rows[n_train:], start, seed=seed, **setting)
        for seed, setting in enumerate(settings, 1)
    ]


DIFFERENT = [
    {
        "learning_rate": 1e-2,
        "discount": 1.0,
        "prior_strength": 0.3,
        "dropout": 0.2,
        "weight_decay": 0.0,
    },
    {
        "learning_rate": 3e-3,
        "discount": 0.5,
        "prior_strength": 0.0,
        "dropout": 0.0,
        "weight_decay": 0.1,
    },
    {
        "learning_rate": 1e-3,
        "discount": 0.0,
        "prior_strength": 1e-8,
        "dropout": 0.5,
        "head_prior": 0.01,
    },
]


@pytest.mark.parametrize("primitive", LOG_LOCATION_SCALE)
@pytest.mark.parametrize("objective", ["exact", "elbo"])
@pytest.mark.parametrize("events", [1, 3])
@pytest.mark.parametrize(
    ("hidden", "activation", "shift_activation", "bias"),
    [
        ((7,), "relu6", None, True),
        ((6, 4), "tanh", "identity", False),
        ((), "relu", "selu", True),
        ((5,), "elu", "tanh", True),
        ((5,), "identity", "relu6", True),
        ((5,), "gelu", "silu", True),
        ((5, 4), "silu", "gelu", False),
    ],
)
def test_written_out_gradient_equals_autograd(
    primitive, objective, events, hidden, activation, shift_activation, bias
):
    architecture = Architecture(5, hidden, 3, events, primitive, activation, shift_activation, bias)
    data, config = sample(events), TrainConfig(objective=objective)
    jobs = jobs_for(data, PRIMITIVES[primitive], events, DIFFERENT)
    fleet = Fleet(architecture, data, jobs, config)
    assert isinstance(fleet.gradient, Fused)
    rows, present = shuffled_rows(jobs, fleet.randoms, 40)
    table, weight = data.observed, data.observed.weight[rows] * present
    masks = next(dropout_masks(jobs, fleet.randoms, rows.shape[2], 1, hidden, torch.device("cpu")))
    masks = masks and [mask.double() for mask in masks]
    results = []
    for way in (Fused(architecture, config), Autograd(architecture, config)):
        target = way.targets(table, rows, weight, fleet.settings)[1]
        x, first = fleet.inputs(rows[:, 1]), fleet.inputs(rows[:, 0])
        loss = way.loss_and_gradient(
            fleet.parameters, fleet.slopes, fleet.settings, x, target, masks
        )
        target = way.held_out_target(table, rows[:, 0], weight[:, 0], fleet.settings)
        held_out = way.held_out(fleet.parameters, fleet.settings, first, target)
        results.append((loss, fleet.slopes.flat.clone(), held_out))
    for ours, reference in zip(*results, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-8, atol=1e-10)


def test_gradient_is_the_difference_quotient():
    architecture = Architecture(5, (4,), 2, 2, "lognormal", "tanh")
    data, config = sample(2), TrainConfig()
    fleet = Fleet(
        architecture, data, jobs_for(data, architecture.family, 2, DIFFERENT[1:2]), config
    )
    rows = torch.arange(40)[None, None]
    target = fleet.gradient.targets(
        data.observed, rows, data.observed.weight[rows], fleet.settings
    )[0]

    def loss(values):
        at = Parameters(architecture.layout, values, 1)
        x = data.x[None, :40]
        return fleet.gradient.loss_and_gradient(at, fleet.slopes, fleet.settings, x, target, None)

    loss(fleet.values)
    gradient = fleet.slopes.flat.clone()
    for place in range(0, len(gradient), 7):
        step = torch.zeros_like(fleet.values)
        step[place] = 1e-6
        ends = [fleet.values + step, fleet.values - step]
        high, low = (
            loss(end) + penalties(architecture.layout.blocks(end, 1), fleet.settings)
            for end in ends
        )
        quotient = (high - low) / 2e-6
        np.testing.assert_allclose(gradient[place], quotient[0], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kinds", ["plain", "intervals"])
def test_a_model_in_a_fleet_equals_the_model_alone(kinds):
    data = sample(2, torch.float32)
    if kinds == "intervals":  # the general path
        observed = data.observed
        interval = (observed.event > 0) & (torch.arange(N) % 4 == 0)
        values = {**vars(observed), "upper": observed.time * 2, "interval": interval}
        data = Data(data.x, Observations(**values))
    architecture = Architecture(5, (8,), 3, 2, "weibull")
    config = TrainConfig(batch_size=32, max_epochs=12, patience=3)
    jobs = jobs_for(sample(2, torch.float32), architecture.family, 2, DIFFERENT)
    together = Fleet(architecture, data, jobs, config).train()
    for job, fit in zip(jobs, together, strict=True):
        (alone,) = Fleet(architecture, data, [job], config).train()
        assert alone.best_epoch == fit.best_epoch
        np.testing.assert_allclose(fit.parameters, alone.parameters, atol=2e-4)
        np.testing.assert_allclose(fit.validation_loss, alone.validation_loss, rtol=1e-4)


def test_each_model_stops_by_itself_and_keeps_its_best_epoch():
    data = sample(1, torch.float32)
    architecture = Architecture(5, (8,), 3, 1, "weibull")
    settings = [{"learning_rate": 0.1}, {"learning_rate": 1e-4}]
    fleet = Fleet(
        architecture,
        data,
        jobs_for(data, architecture.family, 1, settings),
        TrainConfig(patience=4, max_epochs=25),
    )
    quick, slow = fleet.train()
    assert len(quick.validation_loss) < len(slow.validation_loss)
    assert quick.best_epoch == int(np.argmin(quick.validation_loss)) + 1
    assert len(quick.validation_loss) == quick.best_epoch + 4


def test_batches_cover_every_row_once_and_are_of_nearly_equal_size():
    jobs = [
        Job(torch.arange(10, 10 + n), torch.empty(0), torch.zeros(1, 2), seed=n) for n in (101, 100)
    ]
    assert steps_per_epoch(101, 25) == 5
    rows, present = shuffled_rows(jobs[:1], [Randomness(1)], 25)
    assert sorted(rows[present].tolist()) == list(range(10, 111))
    assert set(present.sum(-1).flatten().tolist()) == {20, 21}
    rows, present = shuffled_rows([jobs[0], jobs[0]], [Randomness(1), Randomness(2)], 25)
    assert not torch.equal(rows[0], rows[1])


def test_dropout_leaves_out_the_asked_share_and_keeps_the_mean():
    job = Job(torch.arange(3), torch.empty(0), torch.zeros(1, 2), seed=0, dropout=0.25)
    ((mask,),) = dropout_masks([job], [Randomness(0)], 400, 1, [500], torch.device("cpu"))
    np.testing.assert_allclose((mask == 0).float().mean(), 0.25, atol=0.005)
    np.testing.assert_allclose(mask.mean(), 1, atol=0.005)


@settings(deadline=None, max_examples=30)
@given(
    dropouts=st.lists(st.floats(0, 0.95), min_size=1, max_size=3),
    widths=st.lists(st.integers(1, 9), max_size=3),
    n_rows=st.integers(1, 9),
    n_steps=st.integers(1, 9),
    drawn=st.integers(1, 500),
)
def test_masks_are_drawn_for_many_steps_as_for_one(dropouts, widths, n_rows, n_steps, drawn):
    jobs = [
        Job(torch.arange(3), torch.empty(0), torch.zeros(1, 2), seed=0, dropout=share)
        for share in dropouts
    ]
    randoms, plain = ([Randomness(seed) for seed in range(len(jobs))] for _ in range(2))
    with patch.object(batches, "_DRAWN", drawn):
        found = dropout_masks(jobs, randoms, n_rows, n_steps, widths, torch.device("cpu"))
        found = [masks and [mask.clone() for mask in masks] for masks in found]
    assert len(found) == n_steps
    out = [round(256 * share) for share in dropouts]
    if not any(out) or not widths:
        assert found == [None] * n_steps
        return
    for masks in found:
        for width, mask in zip(widths, masks, strict=True):
            for own, random, bytes_out in zip(mask, plain, out, strict=True):
                drawn_alone = random.dropout.integers(0, 256, (n_rows, width), dtype=np.uint8)
                np.testing.assert_allclose(
                    own, (drawn_alone >= bytes_out) * 256 / (256 - bytes_out), rtol=1e-6
                )
    for ours, alone in zip(randoms, plain, strict=True):
        assert ours.dropout.bit_generator.state == alone.dropout.bit_generator.state


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("adam", lambda p: torch.optim.Adam(p, lr=0.01)),
        ("rmsprop", lambda p: torch.optim.RMSprop(p, lr=0.01)),
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
    ],
)
def test_optimizers_equal_those_of_torch(name, reference):
    start = torch.linspace(-1, 1, 12, dtype=torch.float64)
    theirs = start.clone().requires_grad_()
    optimizer, ours = reference([theirs]), start.clone()
    own, rates = make_optimizer(name, ours), torch.full_like(start, 0.01)
    for step in range(20):
        theirs.grad = torch.sin(theirs.detach() * (step + 1))
        own.update(ours, torch.sin(ours * (step + 1)), rates if step % 2 else 0.01, None)
        optimizer.step()
        np.testing.assert_allclose(ours, theirs.detach(), rtol=1e-10)


def test_weight_decay_is_decoupled_and_spares_base_values():
    data = sample(1)
    architecture = Architecture(5, (4,), 2, 1, "weibull")
    fleet = Fleet(
        architecture,
        data,
        jobs_for(data, architecture.family, 1, [{"weight_decay": 0.5}]),
        TrainConfig(),
    )
    decay = architecture.layout.blocks(fleet.settings.decay, 1)
    assert (decay["heads"] == 0.5).all()
    assert (decay["encoder.0.weight"] == 0.5).all()
    assert not decay["base"].any()
    assert not decay["encoder.0.bias"].any()


def test_layouts_of_rows_and_of_a_fleet_hold_the_same_parameters():
    layout = Architecture(5, (4, 3), 2, 2, "weibull").layout
    rows = torch.arange(3 * layout.size, dtype=torch.float64).view(3, -1)
    flat = layout.pack(rows)
    for (name, view), (again, block) in zip(
        layout.views(rows).items(), layout.blocks(flat, 3).items(), strict=True
    ):
        assert name == again
        assert torch.equal(view, block)
        assert block.is_contiguous()
    assert torch.equal(layout.unpack(flat, 3), rows)


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_warm_start_is_a_maximum_of_the_likelihood(primitive):
    module = importlib.import_module("lifemix.training.warm_start")
    data = sample(2)
    family = PRIMITIVES[primitive]
    fits = warm_start(family, data.observed, 2)
    n_trained = len(family.parameter_names())
    assert fits.shape == (2, n_trained + len(family.fixed_names))
    for event in (1, 2):
        alone = Observations(
            **{**vars(data.observed), "event": (data.observed.event == event).long()}
        )
        problem = module._by_parameters(family, alone)
        fit = fits[event - 1, :n_trained]
        _, gradient, curvature = module._differenced(problem.slopes, fit)
        free = (fit > problem.low) & (fit < problem.high)  # Weibull times are a limit of the others
        assert gradient[free].abs().max() < 1e-8
        assert (torch.linalg.eigvalsh(curvature()[free][:, free]) < 0).all()
        assert (gradient[~free] * (fit - problem.start)[~free] > 0).all()


def test_a_gradient_that_is_no_number_is_not_followed():
    layout = Architecture(2, (), 2, 1, "weibull", bias=False).layout
    slopes = Parameters(layout, torch.full((2 * layout.size,), 3.0), 2)
    slopes.blocks["heads"][1, 0, 0] = torch.nan
    slopes.clip_norm_(1.0)
    first, second = layout.unpack(slopes.flat, 2)
    np.testing.assert_allclose(first.norm(), 1.0, rtol=1e-6)
    assert not second.any()


def test_a_held_out_loss_that_is_no_number_is_never_the_best():
    data = sample(1, torch.float32)
    architecture = Architecture(5, (4,), 2, 1, "weibull")
    fleet = Fleet(
        architecture, data, jobs_for(data, architecture.family, 1, [{}]), TrainConfig(patience=3)
    )
    fleet.run_epoch()
    best = fleet.best.clone()
    fleet.values.fill_(torch.nan)
    (fit,) = fleet.train()
    assert fit.best_epoch == 1
    assert len(fit.train_loss) == 4
    assert torch.equal(fit.parameters, best[0])
