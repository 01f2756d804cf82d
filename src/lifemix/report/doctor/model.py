"""The doctor after the fit: a model on rows that it was not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..._types import FittedSurvivalModel
from ...checks import check_same_rows
from ...errors import LifemixWarning
from ...histories import as_input
from ...metrics.predictions import take_rows
from ...preprocessing import TableLike, shape_of
from ...target import Target, TargetLike, as_target
from ...target import event_names as all_event_names
from ..inputs import (
    best_model,
    horizons_within,
    measurable,
    mixture_of,
    n_event_types,
    training_target,
)
from ..text import counted
from .calibration import check_calibration, check_extrapolation
from .dataset_shift import check_dataset_shift
from .findings import Finding, most_severe_first
from .follow_up import check_follow_up
from .training import check_training

__all__ = ["check_model"]

_ENOUGH = 50


def check_model(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    *,
    horizons: ArrayLike | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    max_rows: int = 5000,
    random_state: int = 0,
) -> list[Finding]:
    """Check a fitted model on held-out rows: calibration, training, components, dataset shift, extrapolation.

    Parameters
    ----------
    model : fitted model
        A ``DeepSurvivalMachines``, a search, or any baseline; checks that need a mixture are left out for others.
    X : DataFrame or array of shape (n, n_features)
        Rows that the model was not fitted to.
    y : target
        Their outcomes.
    horizons : array-like of float, optional
        Times at which calibration is checked; those outside the follow-up are left out. By default
        ``lifemix.splits.default_horizons`` of the training data.
    event_names : mapping from code to name, or sequence of names, optional
        What the event types are called in the findings.
    max_rows : int, default 5000
        At most so many rows are used, drawn at random; a note says so.
    random_state : int, default 0
        Random seed of the drawing.

    Returns
    -------
    list of Finding
        The most severe first.

    Raises
    ------
    InputError
        Where ``X`` and ``y`` have different numbers of rows.
    SettingError
        Where ``event_names`` does not name the event types of the model.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import KaplanMeier
    >>> from lifemix.report import check_model
    >>> data = datasets.load_metabric()
    >>> model = KaplanMeier().fit(data.X, data.y)
    >>> check_model(model, data.X, data.y)
    []
    >>> late = check_model(model, data.X, (3 * data.y["time"], data.y["event"]))
    >>> late[0].topic
    'calibration'

    """
    model, target, X = best_model(model), as_target(y), as_input(X)
    names = all_event_names(event_names, n_event_types(model, target))
    check_same_rows(shape_of(X)[0], len(target))
    rows = np.sort(np.random.default_rng(random_state).permutation(len(target))[:max_rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # what they say is among the findings
        findings = list(_findings(model, take_rows(X, rows), target.take(rows), horizons, names))
    if len(rows) < len(target):
        text = f"The model was checked on {len(rows):,} of {len(target):,} rows, drawn at random."
        findings.append(Finding("note", "sample", text, "Nothing to do; max_rows takes more."))
    return most_severe_first(findings)


def _findings(
    model: FittedSurvivalModel,
    X: TableLike,
    target: Target,
    horizons: ArrayLike | None,
    names: Sequence[str],
) -> Iterator[Finding]:
    yield from check_dataset_shift(model, X)
    if target.n_events > len(names):
        yield Finding(
            "stop",
            "unknown event type",
            f"These rows have event code {target.n_events}; the model has event types 1 to {len(names)} only.",
            "Leave such rows out, or code the event as censored (0).",
        )
        return
    if target.path is not None:
        yield from _of_paths(model, X, target)
        return
    train, mixture = training_target(model), mixture_of(model)
    if mixture is not None:
        from .mixture import check_mixture, describe_mixture  # imports PyTorch

        yield from check_mixture(describe_mixture(mixture, X, target), mixture.objective)
        patience = mixture.settings_["patience"]
        yield from check_training(
            mixture.history_, mixture.best_epoch_, mixture.max_epochs, patience
        )
        yield from check_extrapolation(mixture, X, mixture.training_target_)
        if mixture.cure:
            cured = float(mixture.predict_distribution(X).cure_fraction().mean())
            yield from check_follow_up(mixture.training_target_, cured)
    usable = measurable(target)
    if usable.sum() < _ENOUGH:
        yield Finding(
            "note",
            "calibration not checked",
            f"Only {counted(int(usable.sum()), 'row')} were followed from the origin with exact times; calibration "
            f"needs at least {_ENOUGH}.",
            "Judge such data by log_likelihood on held-out rows.",
        )
        return
    seen, part = target.take(usable), take_rows(X, np.flatnonzero(usable))
    at = horizons_within(horizons, train or seen, seen)
    if mixture is not None:
        from .mixture import check_members

        yield from check_members(mixture, part, at)
    yield from check_calibration(model, part, seen, at, names)


def _of_paths(model: FittedSurvivalModel, X: TableLike, target: Target) -> Iterator[Finding]:
    """Find what can be said from the intervals of paths, none of which is a prediction from the origin on."""
    mixture = mixture_of(model)
    if mixture is not None:
        from .mixture import check_mixture, describe_mixture  # imports PyTorch

        yield from check_mixture(describe_mixture(mixture, X, target), mixture.objective)
    yield Finding(
        "note",
        "calibration not checked",
        f"The rows are {len(target):,} intervals of paths; no row is a prediction from the origin on.",
        "Look at the quality at landmarks: metrics.evaluate_landmarks.",
    )
