"""Many fits at once: those whose plans have one shape train as a fleet, whatever rows they learn from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import LifemixError
from ..preprocessing import TableLike
from ..target import TargetLike
from .dsm import DeepSurvivalMachines
from .fleets import Planned, check_finite, group, train_fleet
from .plan import Memo, make_plan

__all__ = ["FitRequest", "FitResult", "fit_many"]


@dataclass(frozen=True, eq=False)
class FitRequest:
    """A model and what it is to be fitted to; where several have the same objects, work on the rows is done once."""

    model: DeepSurvivalMachines
    X: TableLike
    y: TargetLike
    validation_data: tuple[Any, Any] | None = None
    sample_weight: Any = None


@dataclass(frozen=True, eq=False)
class FitResult:
    """The result of a request: its number, the model or the error, and its share of the processor time in seconds."""

    number: int
    model: DeepSurvivalMachines
    error: LifemixError | None
    seconds: float


def fit_many(requests: Sequence[FitRequest], max_fleet: int = 32) -> Iterator[FitResult]:
    """Fit models in fleets, and yield each as its fleet is done; a model that diverges comes with its error.

    Which models train together depends on the requests alone, so the same list gives the same numbers.
    """
    memos: dict[tuple[int, int, int, int], Memo] = {}
    planned = []
    for number, one in enumerate(requests):
        place = (id(one.X), id(one.y), id(one.validation_data), id(one.sample_weight))
        memo = memos.setdefault(place, Memo())
        kept, plan = make_plan(
            one.model, one.X, one.y, one.sample_weight, one.validation_data, memo
        )
        planned.append(Planned((number, list(memos).index(place)), one.model, kept, plan, None))
    for fleet in group(planned, max_fleet):
        start = time.process_time()
        results = train_fleet([member.plan for member in fleet])
        seconds = (time.process_time() - start) / len(fleet)
        for member, (fits, architectures) in zip(fleet, results, strict=True):
            error: LifemixError | None = None
            try:
                check_finite(fits)
                member.model._learn(member.X, member.plan, fits, architectures)
            except LifemixError as problem:
                error = problem
            yield FitResult(member.key[0], member.model, error, seconds)
