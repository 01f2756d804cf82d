"""Newton's method for a concave function, with step halving and singular directions left unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._types import FloatArray

__all__ = ["Optimum", "maximise", "pseudo_inverse"]

_GAIN = 1e-12  # stop after a step that promised less than this
_ROUNDING = 1e-13  # of a value that is a sum over many rows
_SINGULAR = 1e-12
_HALVINGS = 40


@dataclass(frozen=True)
class Optimum:
    """Where the function is largest, its value and information (minus the second derivatives) there."""

    parameters: FloatArray
    value: float
    information: FloatArray
    start_value: float
    last_step: FloatArray
    n_iter: int
    converged: bool


def maximise(
    objective: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]],
    start: FloatArray,
    max_iter: int,
) -> Optimum:
    """Maximise ``objective``, which returns value, gradient and information.

    Directions without information (collinear columns) get no step, so that of all maxima the one of least norm results.
    Where no step up can be found in the rounding errors, as far out with separable columns, the last point stays.
    """
    parameters, step, converged, iteration = start, np.zeros_like(start), False, 0
    value, gradient, information = objective(parameters)
    start_value = value
    while not converged and iteration < max_iter:
        iteration += 1
        step = pseudo_inverse(information) @ gradient
        slack = _ROUNDING * abs(value)
        converged = float(gradient @ step) / 2 < _GAIN + slack
        better = _uphill(objective, parameters, step, value - slack)
        if better is None:
            break
        step, (value, gradient, information) = better
        parameters = parameters + step
    return Optimum(parameters, value, information, start_value, step, iteration, converged)


def _uphill(
    objective: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]],
    start: FloatArray,
    step: FloatArray,
    least: float,
) -> tuple[FloatArray, tuple[float, FloatArray, FloatArray]] | None:
    """Return the step, halved until the value is at least this, and what the objective is there; None: no such step."""
    for _ in range(_HALVINGS):
        with np.errstate(all="ignore"):  # far too long a step overflows, and is halved
            new = objective(start + step)
        if new[0] >= least and all(np.isfinite(part).all() for part in new):
            return step, new
        step = step / 2
    return None


def pseudo_inverse(information: FloatArray) -> FloatArray:
    """Return the inverse on the directions that have information, zero on the others."""
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    kept = values > _SINGULAR * max(values.max(initial=0.0), np.finfo(np.float64).tiny)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    return np.asarray((vectors * inverse) @ vectors.T)
