"""The work of an experiment, cut into jobs that give some records each.

A job always does the same work whatever is known already, so that its records are the same in every run: of the models
that train together all are in one job.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

import lifemix

from ..errors import DivergedError, LifemixWarning
from ..estimators.many import FitRequest, fit_many
from .learners import Learner, learner
from .protocol import Protocol, times_of
from .records import Key, Record, key_of, rounded
from .scores import CHOSEN_BY_BRIER, calibration, inner_scores, missing_scores, scores_on_test, survivals

__all__ = ["Job", "make_jobs", "parameters_of", "run_job"]


@dataclass(frozen=True)
class Job:
    """Some settings of one model on some folds with one level of censoring."""

    protocol: Protocol
    model: str
    settings: tuple[Any, ...]
    level: float
    folds: tuple[int, ...]
    chosen: bool  # whether settings are to be chosen from, so that scores on the inner validation part are needed

    def keys(self) -> list[Key]:
        """Return the keys of the records that the job gives."""
        p = self.protocol
        return [
            key_of(p.source.name, self.model, setting, self.level, fold, p.seed, p.run)
            for setting in self.settings
            for fold in self.folds
        ]

    def run(self) -> Iterator[Record]:
        """Fit and score, and yield the records."""
        return _run_fleet(self) if learner(self.model).fleet else _run_alone(self)


def make_jobs(protocol: Protocol, models: Sequence[str]) -> list[Job]:
    """Return all jobs of some models, those of one model after those of the one before."""
    return [job for name in models for job in _jobs_of(protocol, learner(name))]


def _jobs_of(protocol: Protocol, one: Learner) -> Iterator[Job]:
    settings = one.candidates(protocol.source.name, protocol.run, protocol.grid)
    several = len(settings) > 1
    for level in protocol.levels:
        if one.fleet:
            for _, alike in groupby(sorted(settings, key=_shape), key=_shape):
                yield Job(protocol, one.name, tuple(alike), level, protocol.folds, True)
        else:
            for setting in settings:
                for fold in protocol.folds:
                    yield Job(protocol, one.name, (setting,), level, (fold,), several)


def _shape(setting: dict[str, Any]) -> str:
    return str([setting.get(name) for name in ("primitive", "k", "hidden", "bias")])


def run_job(job: Any) -> list[Record]:
    """Do the work of a job of any kind, with one thread: jobs run side by side, and wherever give the same numbers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            for kind in (LifemixWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", kind)
            return list(job.run())
    finally:
        torch.set_num_threads(before)


def _run_fleet(job: Job) -> Iterator[Record]:
    build, protocol = learner(job.model).build, job.protocol
    times = times_of(protocol)
    folds = [protocol.fold(number, job.level) for number in job.folds]
    places = [(setting, fold) for fold in folds for setting in job.settings]
    fittings = [
        FitRequest(
            build(protocol.source.name, setting, _seed(protocol, fold.number)), *fold.inner_train, fold.inner_validation
        )
        for setting, fold in places
    ]
    for done in fit_many(fittings):
        setting, fold = places[done.number]
        model = None if done.error is not None else done.model
        yield _record(job, setting, fold, times, model, model, done.seconds)


def _run_alone(job: Job) -> Iterator[Record]:
    build, protocol = learner(job.model).build, job.protocol
    times = times_of(protocol)
    for setting in job.settings:
        for number in job.folds:
            fold, seed = protocol.fold(number, job.level), _seed(protocol, number)
            start = time.process_time()
            model = _fitted(build(protocol.source.name, setting, seed), fold.X_train, fold.y_train)
            seconds = time.process_time() - start
            inner = None
            if job.chosen:
                inner = _fitted(build(protocol.source.name, setting, seed), *fold.inner_train)
            yield _record(job, setting, fold, times, model, inner, seconds)


def _fitted(model: Any, X: Any, y: Any) -> Any:
    """Return the fitted model, or None where its training diverges."""
    try:
        return model.fit(X, y)
    except DivergedError:
        return None


def _record(job: Job, setting: dict[str, Any], fold: Any, times: Any, model: Any, inner: Any, seconds: float) -> Record:
    """Score a model on the test rows, and the one for the choice of settings on the inner validation part."""
    protocol = job.protocol
    on_inner: dict[str, Any] = {}
    if job.chosen:
        by_brier = job.model in CHOSEN_BY_BRIER
        on_inner = missing_scores(times) if inner is None else inner_scores(inner, fold, times, by_brier)
    on_test, curves = missing_scores(times), None
    if model is not None:
        survival = survivals(model, fold.X_test, times)
        on_test = scores_on_test(model, fold, times, survival)
        curves = calibration(fold, times, survival) if job.level == 0 else None
    return Record(
        data=protocol.source.name,
        model=job.model,
        setting=setting,
        censoring=job.level,
        fold=fold.number,
        seed=protocol.seed,
        run=protocol.run,
        test=on_test,
        inner=on_inner,
        calibration=curves,
        seconds=rounded(seconds, 3),
        parameters=parameters_of(model),
        version=lifemix.__version__,
    )


def parameters_of(model: Any) -> int | None:
    """Return the number of parameters of a model, where it has a fixed number."""
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_) * int(getattr(model, "n_members", 1))
    if hasattr(model, "network_"):
        return sum(parameter.numel() for parameter in model.network_.parameters())
    if hasattr(model, "coef_"):
        coefficients = model.coef_.values() if isinstance(model.coef_, dict) else [model.coef_]
        return sum(np.size(values) for values in coefficients)
    return None


def _seed(protocol: Protocol, fold: int) -> int:
    return 1000 * protocol.seed + fold
