"""Calibration and reach of the predictions: right on average, right in groups, and within what was observed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...metrics import aalen_johansen, d_calibration, integrated_calibration_index, kaplan_meier
from ...target import Target
from ..predictions import incidences, survival_at_own_time
from ..text import counted, percent
from .findings import Finding
from .variables import Floats

__all__ = ["check_calibration", "check_reach"]

_OFF, _FAR_OFF = 0.02, 0.05
_ICI = 0.05
_NOISE = 2.0  # over the root of the rows: an index that chance alone does not reach
_P = 0.01
_UNEVEN, _VERY_UNEVEN = 0.025, 0.04
_BEYOND = 0.3
_AT_RISK = 20


def check_calibration(model: Any, X: Any, target: Target, horizons: Floats, n_events: int) -> Iterator[Finding]:
    """Yield where predicted and observed risks differ: on average, along the risk, or over the whole of time.

    target: exact or right-censored from the origin; horizons within its follow-up.
    """
    if not len(horizons):
        return
    predicted = np.clip(incidences(model, X, horizons, n_events), 0, 1)
    for event, risks in enumerate(predicted, 1):
        if not (target.event == event).any():
            continue
        name = "" if n_events == 1 else f" of event {event}"
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
                f"On average the model predicts a risk{name} of {percent(means[worst])} up to {horizons[worst]:g}, "
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
                f"Risks{name} up to {horizons[worst]:g} are off by {percent(index[worst])} on average over the "
                "subjects, though not in the mean: some groups get too high and others too low a risk.",
                "Look at the calibration curve; a smaller model, weight_decay or an ensemble often helps.",
            )
    if n_events == 1 and (target.event > 0).any():
        yield from _check_uniform(model, X, target)


def _check_uniform(model: Any, X: Any, target: Target) -> Iterator[Finding]:
    result = d_calibration(target, np.clip(survival_at_own_time(model, X, target), 0, 1))
    shares = result.counts / len(target)
    worst = int(np.abs(shares - 0.1).argmax())
    if result.p_value < _P and abs(shares[worst] - 0.1) > _UNEVEN:
        yield Finding(
            "warn" if abs(shares[worst] - 0.1) > _VERY_UNEVEN else "note",
            "calibration",
            f"Over the whole of time the model is not calibrated (D-calibration, p = {result.p_value:.2g}): "
            f"{percent(shares[worst])} of the subjects had the event at a predicted survival of {worst * 10} to "
            f"{worst * 10 + 10} %, where 10 % should.",
            "Try another primitive, more components (k) or a longer training; curves may have the wrong shape even "
            "where their order is right.",
        )


def check_reach(model: Any, X: Any, train: Target) -> Iterator[Finding]:
    """Yield how much of the predictions lies beyond what was observed in training."""
    last = float(train.time.max())
    beyond = np.asarray(model.predict_survival_function(X, [last]))[:, 0]
    share = float(beyond.mean())
    if share > _BEYOND:
        medians = float((beyond > 0.5).mean())
        yield Finding(
            "note",
            "beyond follow-up",
            f"{percent(share)} of the predicted probability lies beyond the end of follow-up, {last:g}, and so does "
            f"the median of {percent(medians)} of the subjects: there the curves come from the model's form, not from "
            "data.",
            f"Report survival at horizons, or rmst(t), up to {last:g}; give no means, and no medians beyond it.",
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
            f"At {enough:g}, when {counted(_AT_RISK, 'training subject')} were left, Kaplan-Meier has {percent(seen)} "
            f"of the training subjects alive, and the model {percent(mean)} of these.",
            "If the rows are of the same kind, try another primitive or more components; the tail may be wrong.",
        )
