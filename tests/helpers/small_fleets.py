"""Small data, jobs and fleets for the tests of training."""

import numpy as np
import torch

from lifemix import make_target
from lifemix.likelihood import Observations
from lifemix.target import as_target
from lifemix.training import Data, Fleet, Job, TrainConfig, warm_start

N = 120
N_TRAIN = 90
DIFFERENT_JOBS = [
    {"learning_rate": 1e-2, "discount": 1.0, "prior_strength": 0.3, "dropout": 0.2},
    {"learning_rate": 3e-3, "discount": 0.5, "prior_strength": 0.0, "weight_decay": 0.1},
    {"discount": 0.0, "prior_strength": 1e-8, "dropout": 0.5, "head_prior": 0.01},
]


def make_rows(n_events=1, kind="plain", seed=0):
    """Return covariates, a target with rows of this kind, and case weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 5))
    time = rng.weibull(1.3, N) * np.exp(0.5 * x[:, 0]) + 0.01
    event = rng.integers(0, n_events + 1, N)
    event[:n_events] = np.arange(1, n_events + 1)
    weight, entry, upper = rng.uniform(0.5, 2, N), np.zeros(N), np.full(N, np.nan)
    if kind in ("late", "all"):
        entry = np.where(rng.random(N) < 0.6, time * rng.uniform(0.01, 0.99, N), 0.0)
    if kind in ("intervals", "all"):
        inside = rng.random(N) < 0.5
        upper[inside] = time[inside] * (1 + 10 ** rng.uniform(-2, 1, inside.sum()))
        event[inside] = rng.integers(1, n_events + 1, inside.sum())
    if kind in ("left", "all"):
        left = rng.random(N) < 0.2
        entry[left], time[left], event[left] = 0.0, 0.0, rng.integers(0, n_events + 1, left.sum())
        upper[left] = np.where((event[left] > 0) & (rng.random(left.sum()) < 0.5), 1.5, np.nan)
    return x, make_target(time, event, entry=entry, upper=upper), weight


def make_fleet(
    architecture, jobs=({},), config=None, kind="plain", dtype=torch.float32, seed=0, **options
):
    """Return a fleet with one model per dict of settings of a job."""
    x, y, weight = make_rows(architecture.n_events, kind, seed)
    observed, double = (
        Observations.from_target(as_target(y), 1.0, 0.02, weight, dtype)
        for dtype in (dtype, torch.float64)
    )
    rows = torch.arange(N)
    start = warm_start(architecture.family, double.take(rows[:N_TRAIN]), architecture.n_events)
    jobs = [
        Job(rows[:N_TRAIN], rows[N_TRAIN:], start, seed=number, **settings)
        for number, settings in enumerate(jobs, 1)
    ]
    data = Data(torch.as_tensor(x, dtype=dtype), observed, **options)
    return Fleet(architecture, data, jobs, config or TrainConfig())
