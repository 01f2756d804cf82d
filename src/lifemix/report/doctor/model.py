"""The doctor after the fit: a model on rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError, LifemixWarning
from ...splits import horizons as event_quantiles
from ...target import Target, as_target
from ..predictions import fitted_model, has_mixture, kinds_of_event, take_rows, training_target
from ..text import counted
from .calibration import check_calibration, check_reach
from .dataset_shift import check_dataset_shift
from .findings import Finding, in_order
from .training import check_training
from .variables import Floats

__all__ = ["check_model"]

_ENOUGH = 50
_DISAGREE = 0.08
_APART = 0.1


def check_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    horizons: ArrayLike | None = None,
    max_rows: int = 5000,
    random_state: int = 0,
) -> list[Finding]:
    """Look for what speaks against trusting a fitted model; the gravest findings come first.

    model: a ``DeepSurvivalMachines``, a search, or any baseline; what only a mixture has is then left out.
    X, y: rows that the model was not fitted to. horizons: where calibration is judged; by default the quartiles of
    the event times in y.
    max_rows: so many rows at most are looked at, drawn at random; a note says so.
    """
    model, target = fitted_model(model), as_target(y)
    n = len(X)
    if n != len(target):
        raise InputError(f"X and y must have the same rows; got {n} in X and {len(target)} in y.")
    rows = np.sort(np.random.default_rng(random_state).permutation(n)[:max_rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # what they say is among the findings
        findings = list(_findings(model, take_rows(X, rows), target.take(rows), horizons))
    if len(rows) < n:
        text = f"The model was checked on {len(rows):,} of {n:,} rows, drawn at random."
        findings.append(Finding("note", "sample", text, "Nothing to do; max_rows takes more."))
    return in_order(findings)


def _findings(model: Any, X: Any, target: Target, horizons: ArrayLike | None) -> Iterator[Finding]:
    n_events = kinds_of_event(model, target)
    yield from check_dataset_shift(model, X)
    if target.n_events > n_events:
        yield Finding(
            "stop",
            "unknown event",
            f"These rows have event {target.n_events}; the model knows 1 to {n_events} only.",
            "Leave such rows out, or code the event as censored (0).",
        )
        return
    if has_mixture(model):
        from .mixture import check_mixture, describe_mixture  # imports PyTorch

        yield from check_mixture(describe_mixture(model, X, target), model.objective)
        yield from check_training(model.history_, model.best_epoch_, model.max_epochs, model.patience)
        yield from check_reach(model, X, model._training_target)
    usable = ~target.interval & ~target.truncated
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
    at = _horizons(seen, horizons, training_target(model))
    if has_mixture(model):
        yield from _check_members(model, part, at)
    yield from check_calibration(model, part, seen, at, n_events)


def _horizons(target: Target, horizons: ArrayLike | None, train: Target | None) -> Floats:
    """Return the horizons that lie within the follow-up; by default the quartiles of the event times."""
    last = float(target.time.max() if train is None else min(target.time.max(), train.time.max()))
    if horizons is None:
        if not (target.event > 0).any():
            return np.empty(0)
        anything = Target((target.event > 0).astype(np.int64), target.time, target.entry, target.upper)
        return np.unique(event_quantiles(anything))
    values = np.unique(np.atleast_1d(np.asarray(horizons, dtype=np.float64)))
    return values[(values > 0) & (values <= last)]


def _check_members(model: Any, X: Any, horizons: Floats) -> Iterator[Finding]:
    """Yield whether the members of an ensemble disagree, or one stands apart."""
    members = model._network.members()
    if len(members) < 2 or not len(horizons):
        return
    matrix = model._matrix(X)
    curves = np.stack([member.distribution(matrix).survival(horizons) for member in members])  # [members, rows, times]
    spread = curves.std(axis=0, ddof=1).mean(axis=0)
    worst = int(spread.argmax())
    if spread[worst] > _DISAGREE:
        yield Finding(
            "warn",
            "members disagree",
            f"The {len(members)} members differ by {spread[worst]:.2f} (standard deviation) in a subject's survival at "
            f"{horizons[worst]:g}: what a single fit says depends much on its seed.",
            "Use more members, a smaller model or more weight_decay, and show the ensemble's bands.",
        )
    means = curves.mean(axis=(1, 2))
    for number, mean in enumerate(means):
        others = float(np.delete(means, number).mean())
        if len(members) > 2 and abs(mean - others) > _APART:
            yield Finding(
                "warn",
                "member apart",
                f"Member {number} predicts a mean survival of {mean:.2f}, the others {others:.2f}: its training "
                "probably failed.",
                "Look at its curve in history_, and fit again with another random_state.",
            )
