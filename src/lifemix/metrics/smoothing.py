"""The observed risk as a smooth function of the predicted risk: a flexible regression of the outcome on the prediction.

A Fine-Gray model of one covariate, log(-log(1 - p)), as a restricted cubic spline, with the censoring weights of
``FineGray`` and R's ``crr``; without other events, a Cox model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import BoolArray, FloatArray, IntArray
from ..checks import warn_user
from ..errors import SettingError
from ..target import Target
from .censoring import censoring_curve
from .inputs import status, undefined

__all__ = ["smooth_risk", "spline_basis"]

_MARGIN = 1e-8
_KNOTS = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
}


def smooth_risk(
    target: Target, risk: FloatArray, horizon: float, event: int | None, knots: int = 3
) -> FloatArray:
    """Return the smoothed observed risk up to the horizon at each predicted risk; risk and result: (n,)."""
    if knots not in _KNOTS:
        raise SettingError(f"knots must be 3, 4 or 5; got {knots!r}.")
    kind = status(target, event)
    nothing = np.full(len(target), np.nan)
    if horizon > target.time.max():
        return nothing + undefined(
            f"the horizon {horizon:g} lies beyond the follow-up, {target.time.max():g}"
        )
    if not (kind == 1).any():
        return nothing + undefined("no row has the event")
    basis = spline_basis(_complementary_log_log(risk), _KNOTS[knots])
    sample = _sort(target.time, kind, basis)
    coefficients = _maximise(sample)
    if coefficients is None:
        return nothing + undefined(
            "the smooth calibration curve could not be fitted: its likelihood has no maximum"
        )
    jumps = sample.deaths / _sums(sample, coefficients)[0]
    hazard = jumps[sample.time <= horizon].sum()
    return np.asarray(-np.expm1(-hazard * np.exp(basis @ coefficients)))


def spline_basis(x: FloatArray, quantiles: tuple[float, ...]) -> FloatArray:
    """Return the columns of a restricted cubic spline, each of mean 0 and standard deviation 1; (n, k - 1) for k knots.

    It is linear beyond its outer knots, which lie at quantiles of x. Where fewer than three are distinct only the
    linear term is left, and no column where all x are equal.
    """
    knots = np.unique(np.quantile(x, quantiles))
    columns = [x]
    if len(knots) > 2:
        last, before = knots[-1], knots[-2]
        for knot in knots[:-2]:
            inner = ((last - knot) * _cube(x - before) - (before - knot) * _cube(x - last)) / (
                last - before
            )
            columns.append(_cube(x - knot) - inner)
    basis = np.column_stack(columns)
    spread = basis.std(axis=0)
    kept = spread > 1e-10 * np.abs(basis).max(axis=0, initial=1.0)
    return np.asarray((basis[:, kept] - basis[:, kept].mean(axis=0)) / spread[kept])


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows in order of time; for each distinct event time the number of events and where its risk set begins."""

    basis: FloatArray
    rival_weight: FloatArray
    is_case: BoolArray
    time: FloatArray
    deaths: IntArray
    first: IntArray
    chance: FloatArray


def _sort(time: FloatArray, kind: IntArray, basis: FloatArray) -> _Sample:
    order = np.argsort(time, kind="stable")
    ordered, kind = time[order], kind[order]
    curve = censoring_curve(ordered, kind == 0, events_first=False)
    rival_weight = np.where(kind == 2, 1 / curve.before(ordered), 0.0)
    event_time, deaths = np.unique(ordered[kind == 1], return_counts=True)
    first = np.searchsorted(ordered, event_time, side="left")
    return _Sample(
        basis[order], rival_weight, kind == 1, event_time, deaths, first, curve.before(event_time)
    )


def _sums(sample: _Sample, coefficients: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sums of w, w z and w z z' over the risk set of each event time, w = exp(z' b).

    A row with another event stays in the risk set after its time, with weight G(u-) / G(T-).
    """
    z = sample.basis
    w = np.exp(z @ coefficients)
    columns = (
        np.column_stack([np.ones(len(w)), z, (z[:, :, None] * z[:, None, :]).reshape(len(w), -1)])
        * w[:, None]
    )
    later = np.cumsum(columns[::-1], axis=0)[::-1]
    rivals = np.vstack(
        [np.zeros(columns.shape[1]), np.cumsum(columns * sample.rival_weight[:, None], axis=0)]
    )
    total = later[sample.first] + sample.chance[:, None] * rivals[sample.first]
    p = z.shape[1]
    return total[:, 0], total[:, 1 : 1 + p], total[:, 1 + p :].reshape(len(total), p, p)


def _maximise(sample: _Sample) -> FloatArray | None:
    """Return the maximum of the log partial likelihood (ties after Breslow) by Newton's method, or None."""
    b = np.zeros(sample.basis.shape[1])
    observed = sample.basis[sample.is_case].sum(axis=0)

    @np.errstate(over="ignore", invalid="ignore")  # a step too far gives NaN, and is halved
    def evaluate(b: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        s0, s1, s2 = _sums(sample, b)
        mean = s1 / s0[:, None]
        spread = s2 / s0[:, None, None] - mean[:, :, None] * mean[:, None, :]
        value = observed @ b - sample.deaths @ np.log(s0)
        return (
            float(value),
            observed - sample.deaths @ mean,
            np.tensordot(sample.deaths, spread, axes=1),
        )

    value, gradient, information = evaluate(b)
    for _ in range(50):
        if np.abs(gradient).max(initial=0.0) <= 1e-9 * sample.deaths.sum():
            return b
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        step *= min(1.0, 5.0 / np.abs(step).max())  # covariates have spread 1: exp stays finite
        trial = evaluate(b + step)
        while not trial[0] >= value - 1e-12 * abs(value) and np.abs(step).max() > 1e-12:
            step /= 2
            trial = evaluate(b + step)
        b = b + step
        value, gradient, information = trial
        if np.abs(b).max() > 100:
            return None
    return None


def _complementary_log_log(risk: FloatArray) -> FloatArray:
    inside = np.clip(risk, _MARGIN, 1 - _MARGIN)
    moved = int(np.sum(inside != risk))
    if moved:
        warn_user(
            f"{moved} predicted risks are 0, 1 or within {_MARGIN:g} of them, and were moved inside for the smooth "
            "calibration curve."
        )
    return np.asarray(np.log(-np.log1p(-inside)))


def _cube(x: FloatArray) -> FloatArray:
    return np.maximum(x, 0.0) ** 3
