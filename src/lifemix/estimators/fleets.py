"""Which planned fits can train together, and training them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from ..likelihood import Observations
from ..model import Architecture
from ..training import Data, Fit, Fleet, steps_per_epoch
from .members import train_members
from .plan import Plan

__all__ = ["Planned", "group", "train_fleet"]

_BYTES_TOGETHER = 2**28  # inputs of several folds are put side by side as long as they are smaller than this


@dataclass(frozen=True, eq=False)
class Planned:
    """A candidate on a fold, ready to train, and what it will be scored on."""

    key: tuple[int, int]  # number of the candidate, number of the fold
    model: Any
    X: Any
    plan: Plan
    test: Any


def group(planned: Sequence[Planned], max_fleet: int) -> list[list[Planned]]:
    """Sort plans into fleets: same shape, same shared settings, same number of steps, at most so many models each."""
    alike: dict[Any, list[Planned]] = {}
    for one in planned:
        plan = one.plan
        large = plan.data.x.numel() * 4 > _BYTES_TOGETHER
        alone = one.key if plan.architecture.module is not None else None
        steps = tuple(sorted({steps_per_epoch(len(job.train_rows), plan.config.batch_size) for job in plan.jobs}))
        held_out = bool(len(plan.jobs[0].validation_rows))
        kinds = tuple(getattr(plan.data.observed, name) is None for name in ("interval", "truncated", "at_origin"))
        place = (str(plan.data.x.device), one.key[1] if large else None)
        key = (plan.architecture, plan.config, steps, held_out, kinds, place, alone)
        alike.setdefault(key, []).append(one)
    return [fleet for members in alike.values() for fleet in _portions(members, max_fleet)]


def _portions(members: list[Planned], max_fleet: int) -> list[list[Planned]]:
    """Cut a group into parts of nearly equal size, by learning rate: with one rate a step is quicker."""
    members = sorted(members, key=lambda one: one.plan.jobs[0].learning_rate)
    size = max(1, max_fleet // len(members[0].plan.jobs))
    parts = -(-len(members) // size)
    return [members[i * len(members) // parts : (i + 1) * len(members) // parts] for i in range(parts)]


def train_fleet(plans: Sequence[Plan]) -> list[tuple[list[Fit], tuple[Architecture, ...]]]:
    """Train plans of one group together; return for each its fits and architectures."""
    first = plans[0]
    if first.architecture.module is not None:
        return [train_members(first.architecture, first.data, first.jobs, first.config, None, False)]
    data, starts = _side_by_side([plan.data for plan in plans])
    jobs = [
        replace(job, train_rows=job.train_rows + start, validation_rows=job.validation_rows + start)
        for plan, start in zip(plans, starts, strict=True)
        for job in plan.jobs
    ]
    fits = iter(Fleet(first.architecture, data, jobs, first.config).train())
    return [([next(fits) for _ in plan.jobs], (first.architecture,)) for plan in plans]


def _side_by_side(parts: Sequence[Data]) -> tuple[Data, list[int]]:
    """Join the data of several folds, each once; return where the rows of every part begin."""
    begins: dict[int, int] = {}
    different: list[Data] = []
    total = 0
    for part in parts:
        if id(part) not in begins:
            begins[id(part)] = total
            different.append(part)
            total += len(part.x)
    if len(different) == 1:
        return different[0], [0] * len(parts)
    joined: dict[str, Tensor | None] = {}
    for field in fields(Observations):
        values = [getattr(part.observed, field.name) for part in different]
        joined[field.name] = None if values[0] is None else torch.cat(values)
    observed = Observations(**joined)  # type: ignore[arg-type]
    return Data(torch.cat([part.x for part in different]), observed), [begins[id(part)] for part in parts]
