"""Calibration of the predictions on average, in groups and over all times, and how far they extrapolate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..._types import FittedSurvivalModel, FloatArray
from ...metrics import (
    aalen_johansen,
    d_calibration,
    integrated_calibration_index,
    kaplan_meier,
    predicted_risks,
    survival_at_own_time,
)
from ...preprocessing import TableLike
from ...target import Target
from ..text import counted, p_value, percent
from .findings import Finding

__all__ = ["check_calibration", "check_extrapolation"]

_OFF, _FAR_OFF = 0.02, 0.05
_ICI = 0.05
_NOISE = 2.0  # divided by the root of the number of rows: an ICI that chance alone does not reach
_P = 0.01
_UNEVEN, _VERY_UNEVEN = 0.025, 0.04
_BEYOND = 0.3
_AT_RISK = 20


def check_calibration(
    model: FittedSurvivalModel,
    X: TableLike,
    target: Target,
    horizons: FloatArray,
    names: Sequence[str],
) -> Iterator[Finding]:
    """Yield where predicted and observed risks differ: on average, in groups by risk, or over all times.

    target: exact or right-censored from the origin; horizons within its follow-up.
    """
    if not len(horizons):
        return
    predicted = np.clip(predicted_risks(model, X, horizons, len(names)), 0, 1)
    for event, (name, risks) in enumerate(zip(names, predicted, strict=True), 1):
        if not (target.event == event).any():
            continue
        which = "" if len(names) == 1 else f" of {name}"
        curve = aalen_johansen(target, event, variance="greenwood")
        lower, upper = curve.limits_at(horizons)
        seen = curve.at(horizons)
        means = risks.mean(axis=0)
        off = ((means < lower) | (means > upper)) & (np.abs(means - seen) > _OFF)
        if off.any():
            worst = int(np.argmax(np.where(off, np.abs(means - seen), -1)))
            yield Finding(
                "warn" if abs(means[worst] - seen[worst]) > _FAR_OFF else "note",
                "calibration",
                f"On average the model predicts a risk{which} of {percent(means[worst])} up to {horizons[worst]:g}, "
                f"while {percent(seen[worst])} was observed (95 % interval {percent(lower[worst])} to "
                f"{percent(upper[worst])}): its risks are {'too high' if means[worst] > seen[worst] else 'too low'}.",
                "Check that these rows come from the same population and unit of time as the training rows; otherwise "
                "fit again, with other settings or on newer data.",
            )
            continue
        index = [
            integrated_calibration_index(target, risk, float(t), event)
            for risk, t in zip(risks.T, horizons, strict=True)
        ]
        if np.nanmax([*index, -1.0]) > max(_ICI, _NOISE / np.sqrt(len(target))):
            worst = int(np.nanargmax(index))
            yield Finding(
                "warn",
                "calibration",
                f"Risks{which} up to {horizons[worst]:g} are off by {percent(index[worst])} per subject (integrated "
                "calibration index), though their mean is right: some groups get too high and others too low a risk.",
                "Look at the calibration curve; a smaller model, weight_decay or an ensemble often helps.",
            )
    if len(names) == 1 and (target.event > 0).any():
        yield from _check_uniform(model, X, target)


def _check_uniform(model: FittedSurvivalModel, X: TableLike, target: Target) -> Iterator[Finding]:
    result = d_calibration(target, np.clip(survival_at_own_time(model, X, target), 0, 1))
    shares = result.counts / len(target)
    worst = int(np.abs(shares - 0.1).argmax())
    if result.p_value < _P and abs(shares[worst] - 0.1) > _UNEVEN:
        yield Finding(
            "warn" if abs(shares[worst] - 0.1) > _VERY_UNEVEN else "note",
            "calibration",
            f"Over all times the model is miscalibrated (D-calibration, {p_value(result.p_value)}): "
            f"{percent(shares[worst])} of the subjects had the event when their predicted survival was {worst * 10} "
            f"to {worst * 10 + 10} %, where 10 % are expected.",
            "Try another primitive, more components (k) or longer training: the shape of the curves may be wrong even "
            "where they rank the subjects well.",
        )


def check_extrapolation(
    model: FittedSurvivalModel, X: TableLike, train: Target
) -> Iterator[Finding]:
    """Yield how much of the predicted probability lies beyond the follow-up of the training data."""
    last = float(train.time.max())
    beyond = np.asarray(model.predict_survival_function(X, [last]))[:, 0]
    share = float(beyond.mean())
    if share > _BEYOND:
        medians = float((beyond > 0.5).mean())
        yield Finding(
            "note",
            "extrapolation",
            f"{percent(share)} of the predicted probability lies beyond the end of follow-up, {last:g}"
            f"{f', and so does the median of {percent(medians)} of the subjects' if medians > 0 else ''}: there the "
            "curves are extrapolated.",
            f"Report survival at horizons, or rmst(t), up to {last:g}; report no means, and no medians beyond it.",
        )
    enough = np.sort(train.time)[-min(len(train), _AT_RISK)]
    if train.interval.any() or enough <= 0:
        return
    curve = kaplan_meier(train)
    seen, (lower, upper) = float(curve.at(enough)), curve.limits_at(enough)
    mean = float(np.asarray(model.predict_survival_function(X, [enough])).mean())
    if not lower - 0.05 <= mean <= upper + 0.05:
        yield Finding(
            "warn",
            "late survival",
            f"At {enough:g}, when {counted(_AT_RISK, 'training subject')} were at risk, survival in the training data "
            f"was {percent(seen)} (Kaplan-Meier); the model predicts {percent(mean)} for these rows.",
            "If the rows come from the same population, try another primitive or more components: the tail may be "
            "wrong.",
        )
