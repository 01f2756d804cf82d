"""Distributions of every kind, three rows each, for tests of what they have in common."""

from functools import partial

import numpy as np
import torch

from helpers.custom_primitives import members
from lifemix.distribution import (
    AverageDistribution,
    CompetingDistribution,
    GridDistribution,
    MixtureDistribution,
)
from lifemix.primitives import PRIMITIVES, Mixture

__all__ = ["BUILT_IN", "DISTRIBUTIONS", "GRID_TIMES", "competing", "grid", "mixtures", "single"]

BUILT_IN = [name for name, family in PRIMITIVES.items() if family.__module__.startswith("lifemix.")]
GRID_TIMES = np.array([0.2, 0.5, 0.9, 1.4])


def mixtures(family, *shape, seed=0, log_precision=(0.2, 1.0)):
    rng = np.random.default_rng(seed)
    log_weights = torch.log_softmax(torch.from_numpy(rng.normal(size=shape)), -1)
    location = torch.from_numpy(rng.normal(0.3, 0.7, shape))
    log_precision = torch.from_numpy(rng.uniform(*log_precision, shape))
    return Mixture(log_weights, members(family, location, log_precision))


def single(family, seed=0, rows=3):
    return MixtureDistribution(mixtures(PRIMITIVES[family], rows, 3, seed=seed))


def competing(family, seed=0, n_members=2, rows=3, n_events=2, log_precision=(0.2, 1.0)):
    shape = n_members, rows, n_events, 2
    family = PRIMITIVES[family]
    return CompetingDistribution(mixtures(family, *shape, seed=seed, log_precision=log_precision))


def grid(n_events, tail=True):
    """Return curves at the times of the grid; without a tail hazards are constant after them."""
    n_times = len(GRID_TIMES)
    steps = np.random.default_rng(5).dirichlet(np.ones(n_times * n_events + 2), size=3)
    steps = steps[:, : n_times * n_events].reshape(3, n_events, n_times)
    incidences = np.moveaxis(steps, 1, 0).cumsum(-1)
    nets = None if n_events == 1 else 1 - 0.9 * incidences / incidences.sum(0).max()
    rest = (single if n_events == 1 else competing)("weibull") if tail else None
    return GridDistribution.of(GRID_TIMES, incidences, nets, rest)


def average(n_events):
    make = single if n_events == 1 else competing
    first, second = make("weibull"), make("lognormal", seed=7)
    return AverageDistribution([first, second, grid(n_events)], [1.0, 2.0, 1.5])


DISTRIBUTIONS = {
    **{f"single {name}": partial(single, name) for name in PRIMITIVES},
    **{f"competing {name}": partial(competing, name) for name in BUILT_IN},
    **{f"grid {n_events}": partial(grid, n_events) for n_events in (1, 2)},
    **{f"grid {n_events}, no tail": partial(grid, n_events, False) for n_events in (1, 2)},
    **{f"average {n_events}": partial(average, n_events) for n_events in (1, 2)},
}
for _name in ("single lognormal", "competing weibull", "grid 1", "grid 2, no tail", "average 2"):
    for _since in (0.3, 3.0):
        DISTRIBUTIONS[f"{_name} given {_since}"] = lambda make=DISTRIBUTIONS[_name], since=_since: (
            make().given(since)
        )
