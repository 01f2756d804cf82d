"""A training step of a fleet against its bare matrix products.

python -m benchmarks.step [--quick] [--profile]

SUPPORT, batch 100, one hidden layer of 100, K = 4, Weibull, float32, one thread. The bare products are those that no
implementation can leave out: of each layer ``X W`` forward, and backward ``X' G`` for the weights and, but for the
first layer, ``G W'`` for the layer below; ``torch.bmm`` on tensors of the same shapes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
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

from .harness import alternate, main_of, one_thread
from .tables import Table

__all__ = ["plot", "run", "tables"]

BATCH, HIDDEN, K, STEPS = 100, 100, 4, 60
SIZES = (1, 4, 16, 64)


def make_fleet(n_models: int) -> Fleet:
    """Return a fleet on SUPPORT, ready for its first step."""
    data = datasets.load_support()
    y, X = as_target(data.y), TabularPreprocessor(missing_indicators=False).fit_transform(data.X)
    scale = TimeScale.learn(y)
    start = warm_start(PRIMITIVES["weibull"], scale.observe(y), 1)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    nothing = torch.empty(0, dtype=torch.long)
    jobs = [Job(order[: STEPS * BATCH], nothing, start, seed=seed) for seed in range(n_models)]
    inputs = Data(
        torch.as_tensor(X, dtype=torch.float32).contiguous(), scale.observe(y, None, torch.float32)
    )
    config = TrainConfig(batch_size=BATCH, max_epochs=10**9)
    return Fleet(Architecture(X.shape[1], (HIDDEN,), K, 1, "weibull"), inputs, jobs, config)


def whole_step(fleet: Fleet) -> Callable[[], None]:
    """Return a function that takes one training step, from the row numbers of its batch to new parameters."""
    rows, _ = shuffled_rows(fleet.jobs, fleet.randoms, BATCH)
    batches, steps = fleet.loss.batches(fleet.data.observed.take(rows), fleet.settings), count()

    def step() -> None:
        number = next(steps) % len(batches)
        x = fleet.inputs(rows[:, number])
        fleet.step(x, batches[number], None, torch.ones(len(fleet.running)))

    return step


def bare_products(n_models: int, n_inputs: int) -> Callable[[], None]:
    """Return a function that computes the matrix products of a step and nothing else."""
    random = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(n_models, *shape, generator=random)

    x, first, second, by_out = (
        draw(BATCH, n_inputs),
        draw(n_inputs, HIDDEN),
        draw(HIDDEN, 3 * K),
        draw(BATCH, 3 * K),
    )

    def products() -> None:
        hidden = torch.bmm(x, first)
        torch.bmm(hidden, second)
        torch.bmm(hidden.transpose(1, 2), by_out)
        by_hidden = torch.bmm(by_out, second.transpose(1, 2))
        torch.bmm(x.transpose(1, 2), by_hidden)

    return products


def run(quick: bool) -> dict[str, Any]:
    """Return the best seconds of a step, of an epoch by its steps and of the products, for each size of fleet."""
    one_thread()
    sizes = {}
    for n_models in SIZES:
        fleet = make_fleet(n_models)
        calls = {
            "products": bare_products(n_models, fleet.data.x.shape[1]),
            "step": whole_step(fleet),
        }
        calls = {name: partial(repeat, call, STEPS) for name, call in calls.items()}
        with training_arithmetic(0):  # as in training
            times = alternate(
                {**calls, "epoch": make_fleet(n_models).run_epoch}, repeats=5 if quick else 25
            )
        sizes[str(n_models)] = {
            name: {kind: seconds / STEPS for kind, seconds in found.items()}
            for name, found in times.items()
        }
    return {
        "sizes": sizes,
        "profile": {str(n_models): profile(n_models)[:12] for n_models in (1, 16)},
    }


def repeat(call: Callable[[], None], times: int) -> None:
    """Call a function several times."""
    for _ in range(times):
        call()


def tables(results: dict[str, Any]) -> list[Table]:
    """Return one row per size of fleet."""
    columns = [
        "models",
        "products, ms",
        "step, ms",
        "step, ms per model",
        "step / products",
        "(CPU)",
    ]
    columns.append("epoch / products")
    rows = []
    for n_models, times in results["sizes"].items():
        products, step, epoch = (
            1e3 * times[name]["wall"] for name in ("products", "step", "epoch")
        )
        cpu = times["step"]["cpu"] / times["products"]["cpu"]
        size = int(n_models)
        rows.append([size, products, step, step / size, step / products, cpu, epoch / products])
    note = "epoch: a whole epoch without held-out rows by its steps, so shuffling and preparing the batches included."
    steps = Table("A training step (SUPPORT, batch 100, hidden 100, K = 4)", columns, rows, note)
    return [
        steps,
        *[profile_table(n_models, calls) for n_models, calls in results["profile"].items()],
    ]


def profile_table(n_models: str, calls: list[list[Any]]) -> Table:
    """Return the profile of a step as a table."""
    columns = ["call", "calls per step", "µs per step", "share"]
    return Table(
        f"Where the time of a step goes, {n_models} model(s); with the profiler's own cost",
        columns,
        calls,
    )


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show the time per model and step against the size of the fleet."""
    axes = figure.subplots()
    times = results["sizes"]
    sizes = [int(n_models) for n_models in times]
    for name in ("epoch", "step", "products"):
        axes.plot(sizes, [1e3 * times[str(n)][name]["wall"] / n for n in sizes], "o-", label=name)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="models in the fleet",
        ylabel="ms per step and model",
        xticks=sizes,
    )
    axes.set_xticklabels(sizes)
    axes.legend()


def profile(n_models: int, steps: int = 60) -> list[list[Any]]:
    """Return what takes the time of a step by PyTorch's profiler: call, calls, microseconds, share of the whole."""
    step = whole_step(make_fleet(n_models))
    step()
    with (
        training_arithmetic(0),
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as measured,
    ):
        repeat(step, steps)
    entries = sorted(measured.key_averages(), key=lambda entry: -entry.self_cpu_time_total)
    total = sum(entry.self_cpu_time_total for entry in entries)
    return [
        [
            entry.key,
            entry.count // steps,
            entry.self_cpu_time_total / steps,
            entry.self_cpu_time_total / total,
        ]
        for entry in entries[:30]
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--profile", action="store_true")
    if parser.parse_known_args()[0].profile:
        one_thread()
        for size in (1, 16):
            print(profile_table(str(size), profile(size)).text(), end="\n\n")
    else:
        main_of("step", __doc__)
