"""Newton's method for a concave function, with step halving and singular directions left unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._checks import Floats

__all__ = ["Optimum", "maximise", "pseudo_inverse"]

_GAIN = 1e-12  # stop after a step that promised less than this
_ROUNDING = 1e-13  # of a value that is a sum over many rows
_SINGULAR = 1e-12
_HALVINGS = 40


@dataclass(frozen=True)
class Optimum:
    """Where the function is largest, its value and information (minus the second derivatives) there."""

    parameters: Floats
    value: float
    information: Floats
    start_value: float
    last_step: Floats
    n_iter: int
    converged: bool


def maximise(objective: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats, max_iter: int) -> Optimum:
    """Maximise ``objective``, which returns value, gradient and information.

    Directions without information (collinear columns) get no step, so that of all maxima the one of least norm results.
    """
    parameters, step, converged, iteration = start, np.zeros_like(start), False, 0
    value, gradient, information = objective(parameters)
    start_value = value
    while not converged and iteration < max_iter:
        iteration += 1
        step = pseudo_inverse(information) @ gradient
        slack = _ROUNDING * abs(value)
        converged = float(gradient @ step) / 2 < _GAIN + slack
        for _ in range(_HALVINGS):
            new = objective(parameters + step)
            if new[0] >= value - slack:
                break
            step = step / 2
        parameters = parameters + step
        value, gradient, information = new
    return Optimum(parameters, value, information, start_value, step, iteration, converged)


def pseudo_inverse(information: Floats) -> Floats:
    """Return the inverse on the directions that have information, zero on the others."""
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    kept = values > _SINGULAR * max(values.max(initial=0.0), np.finfo(np.float64).tiny)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    return np.asarray((vectors * inverse) @ vectors.T)
