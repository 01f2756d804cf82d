"""From plans to trained models: the members of one fit, and many fits at once as fleets.

A fleet is a group of models of one shape that train together, in one matrix product. The members of an ensemble are
one; so are the fits of a search, or of any list of fits, whose plans have the same shape.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..encoders import redrawn
from ..errors import DivergedError
from ..files import folder_lock
from ..likelihood import Observations
from ..network import Architecture
from ..preprocessing import TableLike
from ..training import (
    Callback,
    Checkpoint,
    Data,
    Fit,
    Fleet,
    ModuleFleet,
    Ranks,
    steps_per_epoch,
    trains_alone,
)
from .plan import Plan
from .progress import progress_bar

__all__ = ["Planned", "check_finite", "group", "train_fleet", "train_plan"]

_ENOUGH = 8  # models in a fleet: with more of them a step is hardly cheaper for each
_WIDER = 1.25  # the most inputs of a model in a fleet, over the fewest
_BYTES_TOGETHER = (
    2**28
)  # inputs of several folds are put side by side as long as they are smaller than this


def train_plan(
    plan: Plan,
    checkpoint_folder: str | os.PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    verbose: bool = False,
    ranks: Ranks | None = None,
) -> tuple[list[Fit], tuple[Architecture, ...]]:
    """Return what training gives for each job, and one architecture, or one per job where each has its own module.

    The checkpoints are removed once all jobs are done; as long as it lasts, no other fit may use their folder. Of
    several processes, the first calls the callbacks and writes the checkpoints, which all read.
    """
    ranks = ranks or Ranks()
    if ranks.rank > 0:
        callbacks, verbose = (), False
    if checkpoint_folder is None:
        return _train(plan, None, callbacks, verbose, ranks)
    with folder_lock(Path(checkpoint_folder), "checkpoint") if ranks.rank == 0 else nullcontext():
        return _train(plan, Path(checkpoint_folder), callbacks, verbose, ranks)


def _train(
    plan: Plan, folder: Path | None, callbacks: Sequence[Callback], verbose: bool, ranks: Ranks
) -> tuple[list[Fit], tuple[Architecture, ...]]:
    fits: list[Fit] = []
    architectures, checkpoints = [], []
    for number, fleet in enumerate(_fleets_of(plan, ranks)):
        hooks = [*callbacks]
        if folder is not None:
            checkpoint = Checkpoint(
                folder / f"lifemix-checkpoint-{number}.safetensors", fleet, writes=ranks.rank == 0
            )
            checkpoint.restore(fleet)
            checkpoints.append(checkpoint)
            hooks.insert(
                0, checkpoint
            )  # a callback of the user's that fails does not lose the epoch
        with progress_bar(verbose) as bar:
            fits += fleet.train([*hooks, bar])
        architectures.append(fleet.architecture)
    check_finite(fits)
    for checkpoint in checkpoints:
        checkpoint.remove()
    alike = plan.architecture.module is None
    return fits, tuple(architectures[:1] if alike else architectures)


def _fleets_of(plan: Plan, ranks: Ranks | None = None) -> Iterator[Fleet]:
    """Yield the fleets of one fit: all members together, or one by one where they cannot be."""
    if plan.architecture.module is not None:
        for job in plan.jobs:
            own = replace(plan.architecture, module=redrawn(plan.architecture.module, job.seed))
            yield ModuleFleet(own, plan.data, job, plan.config)
    elif trains_alone(plan.config.optimizer):
        for job in plan.jobs:
            yield Fleet(plan.architecture, plan.data, [job], plan.config, ranks)
    else:
        yield Fleet(plan.architecture, plan.data, plan.jobs, plan.config, ranks)


def check_finite(fits: Sequence[Fit]) -> None:
    """Raise ``DivergedError`` where some fits have no finite weights or no finite loss."""
    bad = [fit for fit in fits if _diverged(fit)]
    if bad:
        raise DivergedError(
            f"training diverged: the weights or the loss of {len(bad)} of {len(fits)} models are not finite after "
            f"{len(bad[0].train_loss)} epochs. Lower learning_rate, or scale X (preprocessor='auto' does)."
        )


def _diverged(fit: Fit) -> bool:
    """Tell whether a fit has no usable epoch: its weights, or its validation and last training loss, are not finite."""
    losses = [fit.best_loss, *fit.train_loss[-1:]]
    finite = fit.parameters is None or bool(torch.isfinite(fit.parameters).all())
    return not finite or (bool(fit.train_loss) and not any(math.isfinite(loss) for loss in losses))


@dataclass(frozen=True, eq=False)
class Planned:
    """A candidate on a fold, ready to train, and what it will be scored on."""

    key: tuple[int, int]  # number of the candidate, number of the fold
    model: Any
    X: TableLike
    plan: Plan
    test: Any


def group(planned: Sequence[Planned], max_fleet: int) -> list[list[Planned]]:
    """Sort plans into fleets: same shape, same shared settings, same number of steps, at most so many models each."""
    alike: dict[Any, list[Planned]] = {}
    for one in planned:
        plan = one.plan
        large = plan.data.x.numel() * 4 > _BYTES_TOGETHER
        alone = (
            one.key
            if trains_alone(plan.config.optimizer) or plan.architecture.module is not None
            else None
        )
        steps = tuple(
            sorted(
                {steps_per_epoch(len(job.train_rows), plan.config.batch_size) for job in plan.jobs}
            )
        )
        held_out = bool(len(plan.jobs[0].validation_rows))
        kinds = tuple(
            getattr(plan.data.observed, name) is None
            for name in ("interval", "truncated", "at_origin")
        )
        place = (str(plan.data.x.device), one.key[1] if large else None)
        key = (_joined(plan.architecture), plan.config, steps, held_out, kinds, place, alone)
        alike.setdefault(key, []).append(one)
    near = [part for members in alike.values() for part in _of_similar_width(members)]
    return [fleet for members in near for fleet in _portions(members, max_fleet)]


def _joined(architecture: Architecture) -> Architecture:
    """Return what models must have in common to train together: the inputs may be more or less, where layers follow."""
    alone = architecture.module is not None or not architecture.hidden
    return architecture if alone else replace(architecture, n_inputs=0)


def _of_similar_width(members: list[Planned]) -> list[list[Planned]]:
    """Part those with many more inputs than others, such as another encoding has: inputs that are 0 cost as others do.

    Folds differ by the levels that some of them lack.
    """
    parts: list[list[Planned]] = []
    least = 0
    for one in sorted(members, key=_width):
        if not parts or _width(one) > _WIDER * least + 1:
            parts.append([])
            least = _width(one)
        parts[-1].append(one)
    return parts


def _width(one: Planned) -> int:
    return one.plan.architecture.n_inputs


def _portions(members: list[Planned], max_fleet: int) -> list[list[Planned]]:
    """Cut a group into parts of nearly equal size; by learning rate where enough share one, as a step is quicker."""
    members = sorted(members, key=_rate)
    size = max(1, max_fleet // len(members[0].plan.jobs))
    alike = [list(some) for _, some in groupby(members, key=_rate)]
    if min(len(some) for some in alike) * len(members[0].plan.jobs) < _ENOUGH:
        alike = [members]
    return [part for some in alike for part in _parts(some, -(-len(some) // size))]


def _rate(one: Planned) -> float:
    return one.plan.jobs[0].learning_rate


def _parts(members: list[Planned], parts: int) -> list[list[Planned]]:
    return [
        members[i * len(members) // parts : (i + 1) * len(members) // parts] for i in range(parts)
    ]


def train_fleet(plans: Sequence[Plan]) -> list[tuple[list[Fit], tuple[Architecture, ...]]]:
    """Train the plans of one group together; return for each its fits and architectures, diverged ones included."""
    first = plans[0]
    if first.architecture.module is not None or trains_alone(first.config.optimizer):
        trained = [(fleet.train(), fleet.architecture) for fleet in _fleets_of(first)]
        architectures = tuple(architecture for _, architecture in trained)
        fits = [fit for found, _ in trained for fit in found]
        return [
            (fits, architectures if first.architecture.module is not None else architectures[:1])
        ]
    widest = max(
        (plan.architecture for plan in plans), key=lambda architecture: architecture.n_inputs
    )
    data, starts = _side_by_side([plan.data for plan in plans], widest.n_inputs)
    jobs = [
        replace(
            job,
            train_rows=job.train_rows + start,
            validation_rows=job.validation_rows + start,
            n_inputs=None if plan.architecture == widest else plan.architecture.n_inputs,
        )
        for plan, start in zip(plans, starts, strict=True)
        for job in plan.jobs
    ]
    done = iter(Fleet(widest, data, jobs, first.config).train())
    return [
        ([_own(next(done), widest, plan) for _ in plan.jobs], (plan.architecture,))
        for plan in plans
    ]


def _own(fit: Fit, widest: Architecture, plan: Plan) -> Fit:
    """Take the inputs away that only others of the fleet have."""
    if plan.architecture != widest and fit.parameters is not None:
        fit.parameters = widest.narrowed(fit.parameters, plan.architecture.n_inputs)
    return fit


def _side_by_side(parts: Sequence[Data], n_inputs: int) -> tuple[Data, list[int]]:
    """Join the data of several folds, each once, with zeros for inputs that others have; return where each begins."""
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
    x = torch.cat(
        [torch.nn.functional.pad(part.x, (0, n_inputs - part.x.shape[1])) for part in different]
    )
    return Data(x, observed), [begins[id(part)] for part in parts]
