"""One job of a fleet for every member of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..model import Architecture
from ..training import Job, warm_start
from .sample import Rows, Sample
from .settings import root_seed
from .timescale import TimeScale

__all__ = ["make_jobs"]

_SETTINGS = ("learning_rate", "discount", "prior_strength", "head_prior", "dropout", "weight_decay")


def make_jobs(
    estimator: Any, architecture: Architecture, sample: Sample, scale: TimeScale, validation_fraction: float
) -> list[Job]:
    """Return one job a member, each with a seed and rows to hold out of its own, unless these were given."""
    settings = {name: float(getattr(estimator, name)) for name in _SETTINGS}
    seeds = np.random.SeedSequence(root_seed(estimator.random_state)).generate_state(estimator.n_members)
    jobs: list[Job] = []
    start = None
    for seed in seeds.tolist():
        train, held_out = sample.split(validation_fraction, seed)
        if start is None or (len(held_out) and not sample.n_given):  # every member trains on other rows
            start = _warm_start(architecture, sample, scale, train)
        jobs.append(Job(torch.as_tensor(train), torch.as_tensor(held_out), start, seed, **settings))
    return jobs


def _warm_start(architecture: Architecture, sample: Sample, scale: TimeScale, rows: Rows) -> Tensor:
    observed = scale.observe(sample.target.take(rows), sample.weight[rows])
    return warm_start(architecture.law, observed, architecture.n_events)
