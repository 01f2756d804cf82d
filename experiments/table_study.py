"""The tables of models by horizons: which models on which data, and their jobs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lifemix
from lifemix.errors import DivergedError
from lifemix.estimators.fleet_groups import FitRequest, fit_many

from .learners import LEARNERS, TUNED_FOREST, Learner, TableModel, learner
from .names import model_title
from .protocol import COMPETING, DataSource, Fold, Protocol, n_events, times_of
from .provenance import provenance
from .records import Key, Record, Setting, key_of, rounded
from .scores import calibration, inner_scores, missing_scores, risks, scores_on_test
from .selection import BY_BRIER, summarise
from .study import Study

__all__ = [
    "TABLES",
    "TableJob",
    "make_jobs",
    "models_of",
    "parameters_of",
    "table_study",
    "table_studies",
]

TABLES = {
    "support": ("support",),
    "metabric": ("metabric",),
    "synthetic": ("synthetic",),
    "seer": ("seer",),
    "standins": ("flchain", "ebmt", "metabric_causes"),
}
"""The experiments of this form, and the data sets of each."""
_LEVELS = (0.0, 0.25, 0.5)
_SINGLE = ("support", "metabric")
_QUICK_ROWS = {"synthetic": 6000, "seer": 6000}


def table_studies(
    name: str, quick: bool = False, path: str | None = None, grid: str = "reduced"
) -> list[Study]:
    """Return the study of every data set of an experiment.

    grid: ``"reduced"`` is for competing risks, whose data are large: DSM has 16 of the paper's 144 settings,
    each without and with biases, and on SYNTHETIC and SEER the forests have fewer trees. SUPPORT and
    METABRIC always have the paper's grids.
    """
    return [
        table_study(name, _protocol(DataSource(data, path), quick, grid)) for data in TABLES[name]
    ]


def table_study(experiment: str, protocol: Protocol) -> Study:
    """Return the table of models by horizons of one data set."""
    data = protocol.source.name
    chosen = data not in _SINGLE and protocol.run == "full" and protocol.grid == "full"
    return Study(
        experiment=experiment,
        place=data,
        data=data,
        protocol=protocol,
        models=tuple(models_of(protocol, tuple(LEARNERS))),
        jobs=lambda wanted: make_jobs(protocol, models_of(protocol, wanted)),
        summarise=lambda records, selection: summarise(records, protocol.quantiles, selection),
        options=" --grid full" if chosen else "",
        notes=_notes(protocol),
        tabular=True,
    )


def _protocol(source: DataSource, quick: bool, grid: str) -> Protocol:
    n_folds = 10 if source.name == "metabric" else 5
    folds = (0, 1) if quick else tuple(range(n_folds))
    run = "quick" if quick else "full"
    if source.name in _SINGLE:
        return Protocol(source, n_folds, folds, (0.0,) if quick else _LEVELS, run=run)
    rows = _QUICK_ROWS.get(source.name) if quick else None
    return Protocol(source, n_folds, folds, (0.0,), COMPETING, run=run, rows=rows, grid=grid)


def _notes(protocol: Protocol) -> tuple[str, ...]:
    """Return what differs from the paper's protocol, and where the tuned forest is smaller than on SUPPORT."""
    data, events, notes = protocol.source.name, n_events(protocol), []
    for one in (learner(name) for name in ("dsm", "rsf", "cs-rsf", "forest", "cs-forest")):
        own, whole = one.candidates(data, protocol.run, protocol.grid), one.settings(data)
        if own == whole or not one.covers(data, events):
            continue
        title = model_title(one.name, data)
        alone = f" ({_words(own[0])})" if len(own) == 1 else ""
        if "forest" in one.name:
            notes.append(
                f"{title}: smaller{alone} than in a full run on SUPPORT ({_words(TUNED_FOREST)})."
            )
        elif all(setting in whole for setting in own):
            twice = (
                ", each without and with biases, which the paper leaves open"
                if "bias" in own[0]
                else ""
            )
            notes.append(
                f"{title}: {len(own)} of the {len(whole)} settings of the paper's grid{twice}{alone}."
            )
        else:
            notes.append(
                f"{title}: {len(own)} setting{alone} in place of the {len(whole)} of the paper's grid."
            )
    if protocol.rows is not None:
        notes.append(f"{protocol.rows:,} rows of the data, drawn at random.")
    return tuple(notes)


def _words(setting: Setting) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def models_of(protocol: Protocol, wanted: Sequence[str] | None = None) -> list[str]:
    """Return the models of an experiment that are wanted; with None, all but the optional ones."""
    events = n_events(protocol)
    found = [
        one for one in LEARNERS.values() if (one.name in wanted if wanted else not one.optional)
    ]
    return [one.name for one in found if one.covers(protocol.source.name, events)]


@dataclass(frozen=True)
class TableJob:
    """Some settings of one model on some folds with one level of censoring.

    Models that train together are all in one job, so that its records are the same in every run.
    """

    protocol: Protocol
    model: str
    settings: tuple[Setting, ...]
    level: float
    folds: tuple[int, ...]
    several: bool  # whether there are settings to select from, so that scores on the inner validation part are needed

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
        return self._run_fleet() if learner(self.model).fleet else self._run_alone()

    def _run_fleet(self) -> Iterator[Record]:
        folds = [self.protocol.fold(number, self.level) for number in self.folds]
        places = [(setting, fold) for fold in folds for setting in self.settings]
        fittings = [
            FitRequest(self._model(setting, fold), *fold.inner_train, fold.inner_validation)
            for setting, fold in places
        ]
        for done in fit_many(fittings):
            model = None if done.error is not None else done.model
            yield self._record(*places[done.number], model, model, done.seconds)

    def _run_alone(self) -> Iterator[Record]:
        for setting in self.settings:
            for number in self.folds:
                fold = self.protocol.fold(number, self.level)
                start = time.process_time()
                model = _fitted(self._model(setting, fold), fold.X_train, fold.y_train)
                seconds = time.process_time() - start
                inner = (
                    _fitted(self._model(setting, fold), *fold.inner_train) if self.several else None
                )
                yield self._record(setting, fold, model, inner, seconds)

    def _model(self, setting: Setting, fold: Fold) -> TableModel:
        seed = 1000 * self.protocol.seed + fold.number
        return learner(self.model).build(self.protocol.source.name, setting, seed)

    def _record(
        self,
        setting: Setting,
        fold: Fold,
        model: TableModel | None,
        inner: TableModel | None,
        seconds: float,
    ) -> Record:
        """Score a model on the test rows, and the one for the selection of settings on the inner validation part."""
        protocol, times = self.protocol, times_of(self.protocol)
        on_inner: dict[str, Any] = {}
        if self.several:
            by_brier = self.model in BY_BRIER
            on_inner = (
                missing_scores(times)
                if inner is None
                else inner_scores(inner, fold, times, by_brier)
            )
        on_test, curves = missing_scores(times), None
        if model is not None:
            risk = risks(model, fold.X_test, times)
            on_test = scores_on_test(model, fold, times, risk)
            curves = calibration(fold, times, risk) if self.level == 0 else None
        return Record(
            data=protocol.source.name,
            model=self.model,
            setting=setting,
            censoring=self.level,
            fold=fold.number,
            seed=protocol.seed,
            run=protocol.run,
            test=on_test,
            inner=on_inner,
            calibration=curves,
            seconds=rounded(seconds, 3),
            parameters=parameters_of(model),
            version=lifemix.__version__,
            made=provenance(),
        )


def make_jobs(protocol: Protocol, models: Sequence[str]) -> list[TableJob]:
    """Return all jobs of some models, model by model."""
    return [job for name in models for job in _jobs_of(protocol, learner(name))]


def _jobs_of(protocol: Protocol, one: Learner) -> Iterator[TableJob]:
    settings = one.candidates(protocol.source.name, protocol.run, protocol.grid)
    several = len(settings) > 1
    for level in protocol.levels:
        if one.fleet:
            for _, alike in groupby(sorted(settings, key=_shape), key=_shape):
                yield TableJob(protocol, one.name, tuple(alike), level, protocol.folds, True)
        else:
            for setting in settings:
                for fold in protocol.folds:
                    yield TableJob(protocol, one.name, (setting,), level, (fold,), several)


def _shape(setting: Setting) -> str:
    return str([setting.get(name) for name in ("primitive", "k", "hidden", "bias")])


def _fitted(model: TableModel, X: pd.DataFrame, y: NDArray[np.void]) -> TableModel | None:
    """Return the fitted model, or None where its training diverges."""
    try:
        return model.fit(X, y)
    except DivergedError:
        return None


def parameters_of(model: object) -> int | None:
    """Return the number of parameters of a model, where it has a fixed number."""
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_) * len(getattr(model, "best_epoch_", (None,)))
    if hasattr(model, "network_"):
        return sum(parameter.numel() for parameter in model.network_.parameters())
    if hasattr(model, "coef_"):
        coefficients = model.coef_.values() if isinstance(model.coef_, dict) else [model.coef_]
        return sum(np.size(values) for values in coefficients)
    return None
