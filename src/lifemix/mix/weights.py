"""How much each part counts: the weights with the least Brier score on rows that the part has not seen.

The censoring-weighted Brier score of ``sum_j w_j F_j`` is a quadratic function of w. Integrated over time and summed
over event types, it is minimised over weights that are not negative and add up to 1, with a penalty towards equal
weights that fades as the number of events grows: few events cannot tell the parts apart.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..errors import LifemixWarning
from ..metrics.weights import horizon_weights
from ..target import Target

__all__ = ["best_weights", "on_simplex"]

Floats = NDArray[np.float64]


def best_weights(curves: Floats, target: Target, times: Floats, weight: Floats, prior_events: float) -> Floats:
    """Return the weights of the parts.

    Parameters
    ----------
    curves : array of shape (n_parts, n_events, n_rows, n_times)
        Cumulative incidences of rows that the parts have not seen.
    target : Target
        The same rows, all observed from the origin, without intervals.
    times : array of shape (n_times,)
        At which the curves are compared, ascending.
    weight : array of shape (n_rows,)
        Case weights.
    prior_events : float
        As many events as the penalty towards equal weights is worth.

    Returns
    -------
    array of shape (n_parts,)
        Not negative, with sum 1.
    """
    parts = len(curves)
    products, gains = np.zeros((parts, parts)), np.zeros(parts)
    steps = np.gradient(times)
    for event in range(1, curves.shape[1] + 1):
        own, happened = _error_weights(target, times, event if curves.shape[1] > 1 else None)
        own = own * weight[:, None] * steps
        flat = curves[:, event - 1].reshape(parts, -1)
        products += (flat * own.ravel()) @ flat.T
        gains += flat @ (own * happened).ravel()
    n_events = max(1, int((target.event > 0).sum()))
    centre = np.eye(parts) - 1 / parts
    penalty = prior_events / n_events * np.trace(centre @ products @ centre) / parts
    return on_simplex(products + penalty * np.eye(parts), gains + penalty / parts)


def _error_weights(target: Target, times: Floats, event: int | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the weight of the squared error of each row and time, and whether the event has happened by then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # times at which nobody is left have no weight
        known = horizon_weights(target, target, times, event, None)
    past = target.time[:, None] <= times
    happened = past & (known.case > 0)[:, None]
    weight = np.where(past, (known.case + known.rival)[:, None], known.control)
    return np.where(known.defined, weight, 0.0), happened


def on_simplex(quadratic: Floats, linear: Floats) -> Floats:
    """Minimise ``w'Aw - 2 b'w`` over weights that are not negative and add up to 1, by trying every set of parts."""
    count = len(linear)
    best, least = np.full(count, 1 / count), np.inf
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            some = list(chosen)
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = quadratic[np.ix_(some, some)]
            system[size, :size] = system[:size, size] = 1.0
            solution = np.linalg.lstsq(system, np.append(linear[some], 1.0), rcond=None)[0][:size]
            if (solution < 0).any() or abs(solution.sum() - 1) > 1e-6:
                continue
            value = solution @ quadratic[np.ix_(some, some)] @ solution - 2 * linear[some] @ solution
            if value < least - 1e-12 * abs(least if np.isfinite(least) else 1.0):
                least, best = value, np.zeros(count)
                best[some] = solution / solution.sum()
    return best
