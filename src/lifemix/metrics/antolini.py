"""Antolini's time-dependent concordance: the order of the survival curves at the time of each event."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..checks import check_times
from ..errors import InputError
from ..target import TargetLike
from .concordance import order_key
from .inputs import (
    check_event,
    check_horizon,
    check_probabilities,
    observed,
    status,
    undefined,
)
from .tree import compare

__all__ = ["concordance_antolini"]


def concordance_antolini(
    y: TargetLike,
    survival: ArrayLike,
    times: ArrayLike,
    event: int | None = 1,
    *,
    horizon: float | None = None,
) -> float:
    """Antolini's time-dependent concordance of predicted survival curves.

    ``C^td = P(S_i(T_i) < S_j(T_i) | T_i < T_j, event i)``, with pairs and ties as in ``concordance``: a subject
    censored at ``T_i`` is compared, another with the event at ``T_i`` is not, and equal survival counts one half.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    survival : array-like of shape (n, n_times)
        Non-increasing step curves: between two times the curve has the value of the earlier one. With competing risks,
        one minus the cumulative incidence of ``event``.
    times : array-like of shape (n_times,)
        Increasing, from at most the first to at least the last event that is counted.
    event : int or None, default 1
        The event type; other events count as censored. None for events of any type.
    horizon : float, optional
        Only events up to this time count; None for all.

    Returns
    -------
    float
        The concordance; NaN, with a warning, where no pair is comparable.

    See Also
    --------
    concordance : the same for one risk score per subject.

    Notes
    -----
    A model with continuous curves is evaluated exactly with ``times`` the distinct event times of ``y``. The time
    needed is O(n_times n log n).

    References
    ----------
    Antolini, Boracchi and Biganzoli (2005). A time-dependent discrimination index for survival data. Statistics in
    Medicine 24, 3927-3944. https://doi.org/10.1002/sim.2427

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0], [1, 1, 0])
    >>> survival = [[0.4, 0.1], [0.7, 0.5], [0.9, 0.4]]
    >>> round(metrics.concordance_antolini(y, survival, times=[1.0, 2.0]), 3)
    0.667
    """
    target = observed(y, "y", truncation=True)
    grid = check_times(times)
    curves = check_probabilities(survival, "survival")
    if curves.shape != (len(target), len(grid)):
        raise InputError(
            f"survival must have shape ({len(target)}, {len(grid)}), rows by times; got {curves.shape}."
        )
    if (np.diff(grid) <= 0).any():
        raise InputError("times must be strictly increasing, as the columns of survival.")
    kind = status(target, check_event(event), rivals_censored=True)
    limit = np.inf if horizon is None else check_horizon(horizon)
    cases = np.flatnonzero((kind == 1) & (target.time <= limit))
    _check_reach(target.time[cases], grid)

    key = order_key(target.time, kind == 1)
    column_of = np.searchsorted(grid, target.time[cases], side="right") - 1
    agreeing, pairs = 0.0, 0.0
    for column in np.unique(column_of):
        rows = cases[column_of == column]
        risk = -curves[:, column]
        concordant, comparable = compare(key, risk, key[rows] + np.uint64(1), risk[rows])
        if target.truncated.any():
            absent = compare(target.entry, risk, target.time[rows], risk[rows])
            concordant, comparable = concordant - absent[0], comparable - absent[1]
        agreeing, pairs = agreeing + concordant.sum(), pairs + comparable.sum()
    if not pairs > 0:
        return undefined(
            f"no pair is comparable: {len(cases)} of {len(target)} rows have a counted event"
        )
    return float(agreeing / pairs)


def _check_reach(event_times: FloatArray, grid: FloatArray) -> None:
    if not len(event_times):
        return
    first, last = event_times.min(), event_times.max()
    if first < grid[0] or last > grid[-1]:
        raise InputError(
            f"times must reach from the first to the last counted event, {first:g} to {last:g}; got {grid[0]:g} to "
            f"{grid[-1]:g}. Predict at more times, for instance from 0, or give a horizon within them."
        )
