"""Right-continuous step functions of time, and the curves of proportional hazards on them."""

from __future__ import annotations

import numpy as np

from ._checks import Floats

__all__ = ["interpolate", "proportional_survival", "step_values"]


def step_values(at: Floats, values: Floats, times: Floats, start: float) -> Floats:
    """Return the step function with ``values`` (..., K) from the sorted times ``at`` on, and ``start`` before them.

    The result has shape (..., n_times); the last value holds for ever.
    """
    place = np.searchsorted(at, times, side="right")
    before = np.full((*values.shape[:-1], 1), start)
    return np.asarray(np.concatenate([before, values], axis=-1)[..., place])


def proportional_survival(baseline: Floats, eta: Floats) -> Floats:
    """Return ``exp(-H(t) exp(eta))`` of shape (n, n_times) for the cumulative hazard ``baseline`` (n_times,)."""
    with np.errstate(divide="ignore", over="ignore"):  # log 0 and exp of large numbers: survival 1 and 0, as it should
        return np.asarray(np.exp(-np.exp(np.log(baseline)[None, :] + eta[:, None])))


def interpolate(at: Floats, values: Floats, times: Floats) -> Floats:
    """Return the piecewise linear functions with ``values`` (n, K) at the sorted times ``at`` (K,).

    The result has shape (n, n_times); the last value holds for ever; ``at`` begins at 0.
    """
    right = np.clip(np.searchsorted(at, times, side="right"), 1, len(at) - 1)
    share = np.clip((times - at[right - 1]) / (at[right] - at[right - 1]), 0.0, 1.0)
    return np.asarray(values[:, right - 1] * (1.0 - share) + values[:, right] * share)
