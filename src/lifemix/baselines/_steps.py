"""Right-continuous step functions of time, and the curves of proportional hazards on them."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray

__all__ = ["check_curve", "from_zero", "net_incidence", "proportional_survival", "step_values"]

_TINY = 1e-12  # of the probability of no event


def step_values(at: FloatArray, values: FloatArray, times: FloatArray, start: float) -> FloatArray:
    """Return the step function with ``values`` (..., K) from the sorted times ``at`` on, and ``start`` before them.

    The result has shape (..., n_times); the last value holds for ever.
    """
    place = np.searchsorted(at, times, side="right")
    before = np.full((*values.shape[:-1], 1), start)
    return np.asarray(np.concatenate([before, values], axis=-1)[..., place])


def proportional_survival(baseline: FloatArray, eta: FloatArray) -> FloatArray:
    """Return ``exp(-H(t) exp(eta))`` of shape (n, n_times) for the cumulative hazard ``baseline`` (n_times,)."""
    with np.errstate(
        divide="ignore", over="ignore"
    ):  # log 0 and exp of large numbers: survival 1 and 0, as it should
        return np.asarray(np.exp(-np.exp(np.log(baseline)[None, :] + eta[:, None])))


def from_zero(ends: FloatArray, at_ends: FloatArray, times: FloatArray) -> FloatArray:
    """Return the piecewise linear functions that are 0 at 0 and have ``at_ends`` (..., K) at the ends of intervals.

    The result has shape (..., n_times); the last value holds for ever.
    """
    at = np.concatenate([[0.0], ends])
    values = np.concatenate([np.zeros((*at_ends.shape[:-1], 1)), at_ends], axis=-1)
    right = np.clip(np.searchsorted(at, times, side="right"), 1, len(ends))
    share = np.clip((times - at[right - 1]) / (at[right] - at[right - 1]), 0.0, 1.0)
    return np.asarray(values[..., right - 1] * (1.0 - share) + values[..., right] * share)


def net_incidence(free: FloatArray, own: FloatArray, some: FloatArray) -> FloatArray:
    """Return what one event type would reach by the ends of intervals (..., K) if there were no other.

    By rates that are constant within an interval: minus log of ``free``, the probability of getting through it, shared
    out as ``own`` events are among ``some``.
    """
    rate = -np.log(np.maximum(free, _TINY))
    share = np.divide(own, some, out=np.zeros_like(some), where=some > 0)
    return np.asarray(-np.expm1(-np.cumsum(rate * share, axis=-1)))


def check_curve(name: str, values: FloatArray, n_times: int, high: float = np.inf) -> None:
    """Raise ``ValueError`` unless a curve has a value from 0 to ``high`` at each time and does not descend."""
    if (
        not isinstance(values, np.ndarray)
        or values.dtype != np.float64
        or values.shape != (n_times,)
    ):
        raise ValueError(f"{name} must be a curve at {n_times} times")
    if not (values >= 0).all() or not (values <= high).all() or (values[1:] < values[:-1]).any():
        raise ValueError(f"{name} must not descend, from 0 to {high:g}")
