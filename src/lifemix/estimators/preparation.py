"""From a user's table and target to what a fleet trains on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..errors import CovariateError, InputError, LifemixWarning, SettingError, TargetError
from ..likelihood import Observations
from ..model import Architecture
from ..splits import train_validation_split
from ..target import Target
from ..training import Data, Job, warm_start

__all__ = ["TimeScale", "check_target", "check_weight", "make_data", "make_jobs"]

Floats = NDArray[np.float64]
_FLOAT32_MAX = 1e30


@dataclass(frozen=True)
class TimeScale:
    """What is learnt of time before training: the model's unit, and the end of the interval of events at time 0."""

    unit: float
    first_event: float

    @classmethod
    def learn(cls, target: Target) -> TimeScale:
        """Take the median and the smallest of the positive event times."""
        times = np.where(target.interval, (target.time + np.where(target.interval, target.upper, 0)) / 2, target.time)
        positive = times[(target.event > 0) & (times > 0)]
        if len(positive) == 0:
            raise TargetError("all events happened at time 0; got no positive event time. Measure time more finely.")
        return cls(float(np.quantile(positive, 0.5, method="lower")), float(positive.min()))

    def observe(self, target: Target, weight: Floats | None = None, dtype: torch.dtype = torch.float64) -> Observations:
        """Return the target as tensors in the model's unit."""
        return Observations.from_target(target, self.unit, self.first_event, weight, dtype)


def check_target(target: Target, t_max: float | None) -> None:
    """Refuse a training target from which nothing can be learnt."""
    counts = np.bincount(target.event, minlength=2)[1:]
    if not counts.any():
        raise TargetError(
            f"all {len(target)} rows are censored; expected some events (codes 1..M). Check how events are coded."
        )
    missing = [kind for kind, count in enumerate(counts, 1) if count == 0]
    if missing:
        raise TargetError(
            f"event kinds must be 1..M without gaps; got codes up to {len(counts)} but no row with {missing}. "
            "Number the kinds anew, or add rows."
        )
    if t_max is not None and target.time.max() >= t_max:
        raise SettingError(f"t_max must lie beyond every time; got {t_max}, the last time is {target.time.max()}.")


def check_weight(sample_weight: ArrayLike | None, target: Target) -> Floats:
    """Return one case weight a row."""
    if sample_weight is None:
        return np.ones(len(target))
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (len(target),):
        raise InputError(f"sample_weight must have one value a row; got shape {weight.shape} for {len(target)} rows.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError(f"sample_weight must be finite and >= 0; got {weight[~(weight >= 0)][:1]}.")
    kinds = range(1, target.n_events + 1)
    if not all((weight[target.event == kind] > 0).any() for kind in kinds):
        raise InputError("sample_weight must be positive for some row of every kind of event; got only zeros.")
    return weight


def make_data(x: Floats, observed: Observations) -> Data:
    """Return the inputs of a fleet in float32."""
    largest = np.abs(x).max(initial=0.0)
    if largest > _FLOAT32_MAX:
        raise CovariateError(
            f"X is too large for single precision; got {largest}. Scale it, or use preprocessor='auto'."
        )
    return Data(torch.as_tensor(np.ascontiguousarray(x, dtype=np.float32)), observed)


def make_jobs(
    estimator: Any,
    architecture: Architecture,
    scale: TimeScale,
    target: Target,
    weight: Floats,
    seeds: NDArray[Any],
    rows: tuple[Tensor, Tensor] | None,
) -> list[Job]:
    """Return one job a member, each with rows of its own to hold out unless they are given."""
    jobs = []
    usable = np.flatnonzero((weight > 0) & ((target.time > 0) | (target.event > 0)))
    shared = None
    for seed in seeds.tolist():
        train, held_out = rows or _split(target, usable, estimator.validation_fraction, seed)
        if shared is None or rows is None:
            observed = scale.observe(target.take(train.numpy()), weight[train.numpy()])
            shared = warm_start(architecture.law, observed, architecture.n_events)
        jobs.append(
            Job(
                train_rows=train,
                validation_rows=held_out,
                warm_start=shared,
                seed=seed,
                learning_rate=float(estimator.learning_rate),
                discount=float(estimator.discount),
                prior_strength=float(estimator.prior_strength),
                head_prior=float(estimator.head_prior),
                dropout=float(estimator.dropout),
                weight_decay=float(estimator.weight_decay),
            )
        )
    return jobs


def _split(target: Target, usable: NDArray[np.intp], fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Hold out a share of the rows, stratified by event, if both parts then still have every kind of event."""
    everything = torch.as_tensor(usable), torch.empty(0, dtype=torch.long)
    if fraction == 0:
        return everything
    if 1 <= round(fraction * len(usable)) < len(usable):
        train, held_out = train_validation_split(target, usable, fraction, seed)
        kinds = set(range(1, target.n_events + 1))
        if all(kinds <= set(target.event[part].tolist()) for part in (train, held_out)):
            return torch.as_tensor(train), torch.as_tensor(held_out)
    warnings.warn(
        f"too few events to hold rows out: {len(usable)} rows, counts by kind "
        f"{np.bincount(target.event[usable])[1:].tolist()}. Training runs for max_epochs on all rows; "
        "set validation_fraction=0 to choose this.",
        LifemixWarning,
        stacklevel=5,
    )
    return everything
