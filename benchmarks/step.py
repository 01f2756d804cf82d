"""A training step of a fleet against its bare matrix products.

SUPPORT, batch 100, one hidden layer of 100, K = 4, Weibull, float32. The bare products are those that no implementation
can avoid: ``X W`` of each layer forward, ``X' G`` for the weights backward, and ``G W'`` for the layer below.

``python -m benchmarks.step`` prints where the time of a step goes.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import torch

from lifemix import datasets
from lifemix.estimators.fitted_network import TimeScale
from lifemix.network import Architecture
from lifemix.preprocessing import TabularPreprocessor
from lifemix.primitives import PRIMITIVES
from lifemix.target import as_target
from lifemix.training import Data, Fleet, Job, TrainConfig, warm_start
from lifemix.training.batches import shuffled_rows
from lifemix.training.fleet import training_arithmetic

from .harness import Call, Table, alternate, one_thread

BATCH, HIDDEN, K, STEPS = 100, 100, 4, 60


def run(quick: bool) -> list[Table]:
    """Return one row per size of fleet."""
    rows = []
    for n_models in (1, 4, 16, 64):
        fleet = make_fleet(n_models)
        n_inputs = fleet.data.x.shape[1]
        calls = {
            "products": repeat(bare_products(n_models, n_inputs)),
            "step": repeat(training_step(fleet)),
            "epoch": make_fleet(n_models).run_epoch,
        }
        with training_arithmetic(0):
            seconds = alternate(calls, repeats=5 if quick else 25)
        products = 1e3 * seconds["products"]["wall"] / STEPS
        step = 1e3 * seconds["step"]["wall"] / STEPS
        epoch = 1e3 * seconds["epoch"]["wall"] / STEPS
        cpu_ratio = seconds["step"]["cpu"] / seconds["products"]["cpu"]
        ratios = [step / products, cpu_ratio, epoch / products]
        rows.append([n_models, products, step, step / n_models, *ratios])
    columns = ["models", "products, ms", "step, ms", "step, ms per model", "step / products"]
    columns += ["(CPU)", "epoch / products"]
    note = "epoch: a training epoch divided by its steps, with shuffling and preparing the batches."
    return [Table("A training step (SUPPORT, batch 100, hidden 100, K = 4)", columns, rows, note)]


def make_fleet(n_models: int) -> Fleet:
    """Return a fleet on SUPPORT, ready for its first step."""
    data = datasets.load_support()
    target = as_target(data.y)
    X = TabularPreprocessor(missing_indicators=False).fit_transform(data.X)
    x = torch.as_tensor(X, dtype=torch.float32).contiguous()
    scale = TimeScale.learn(target)
    start = warm_start(PRIMITIVES["weibull"], scale.observe(target), 1)
    generator = torch.Generator().manual_seed(0)
    training_rows = torch.randperm(len(target), generator=generator)[: STEPS * BATCH]
    validation_rows = torch.empty(0, dtype=torch.long)
    jobs = [Job(training_rows, validation_rows, start, seed=seed) for seed in range(n_models)]
    return Fleet(
        Architecture(X.shape[1], (HIDDEN,), K, 1, "weibull"),
        Data(x, scale.observe(target, None, torch.float32)),
        jobs,
        TrainConfig(batch_size=BATCH, max_epochs=10**9),
    )


def training_step(fleet: Fleet) -> Call:
    """Return a function that takes one training step, from the row numbers of its batch to new parameters."""
    rows, _ = shuffled_rows(fleet.jobs, fleet.randoms, BATCH)
    observations = fleet.data.observed.take(rows)
    batches = fleet.loss.batches(observations, fleet.settings)
    weight = torch.ones(len(fleet.running))
    steps = count()

    def step() -> None:
        number = next(steps) % len(batches)
        x = fleet.inputs(rows[:, number])
        fleet.step(x, batches[number], None, weight)

    return step


def bare_products(n_models: int, n_inputs: int) -> Call:
    """Return a function that computes the matrix products of a step and nothing else."""
    n_outputs = 3 * K
    x = torch.randn(n_models, BATCH, n_inputs)
    first_layer = torch.randn(n_models, n_inputs, HIDDEN)
    second_layer = torch.randn(n_models, HIDDEN, n_outputs)
    d_output = torch.randn(n_models, BATCH, n_outputs)

    def products() -> None:
        hidden = torch.bmm(x, first_layer)
        torch.bmm(hidden, second_layer)
        torch.bmm(hidden.transpose(1, 2), d_output)
        d_hidden = torch.bmm(d_output, second_layer.transpose(1, 2))
        torch.bmm(x.transpose(1, 2), d_hidden)

    return products


def repeat(call: Call) -> Call:
    """Return a function that makes as many calls as an epoch has steps."""

    def calls() -> None:
        for _ in range(STEPS):
            call()

    return calls


def profile(n_models: int) -> Any:
    """Return PyTorch's profile of some steps."""
    steps = repeat(training_step(make_fleet(n_models)))
    activities = [torch.profiler.ProfilerActivity.CPU]
    with training_arithmetic(0), torch.profiler.profile(activities=activities) as measured:
        steps()
    return measured.key_averages().table(sort_by="self_cpu_time_total", row_limit=30)


if __name__ == "__main__":
    one_thread()
    for size in (1, 16):
        print(f"{size} model(s), {STEPS} steps\n{profile(size)}")
