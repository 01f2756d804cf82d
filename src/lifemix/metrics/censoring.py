"""The distribution of the censoring times, and the weights by its inverse.

``G(t)`` is the probability of being uncensored after ``t``, estimated by Kaplan-Meier with the
censorings as events. Events precede censorings at the same time and have left their risk set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._types import BoolArray, FloatArray
from ..checks import Choice, warn_user
from ..target import TargetLike
from .inputs import check_event, look_up, observed, status

__all__ = ["CensoringCurve", "HorizonWeights", "censoring_curve", "horizon_weights"]


@dataclass(frozen=True, eq=False)
class CensoringCurve:
    """Kaplan-Meier curve of the censoring times.

    ``values[0]`` = 1 holds before the first censoring, ``values[k]`` from ``time[k - 1]`` on. The
    curve is NaN beyond ``follow_up``, the last time of the sample.
    """

    time: FloatArray
    values: FloatArray
    follow_up: float

    def at(self, t: FloatArray) -> FloatArray:
        """Return ``G(t)``."""
        return self._values_at(t, "right")

    def before(self, t: FloatArray) -> FloatArray:
        """Return ``G(t-)``, the value just before each time."""
        return self._values_at(t, "left")

    def _values_at(self, t: FloatArray, side: Literal["left", "right"]) -> FloatArray:
        return np.where(t > self.follow_up, np.nan, self.values[look_up(self.time, t, side)])


def censoring_curve(
    time: FloatArray, censored: BoolArray, *, events_first: bool = True
) -> CensoringCurve:
    """Estimate ``G(t) = prod_{u <= t} (1 - c(u) / (Y(u) - d(u)))`` from vectors of shape (n,).

    ``c`` counts the censorings at ``u``, ``d`` the events at ``u``, ``Y`` the subjects with a time
    of at least ``u``. Without ``events_first`` the events at ``u`` are still at risk, as in Fine
    and Gray's regression by R's ``crr``.
    """
    censoring_times, counts = np.unique(time[censored], return_counts=True)
    event_times = np.sort(time[~censored])
    side: Literal["left", "right"] = "right" if events_first else "left"
    n_events_left = len(event_times) - np.searchsorted(event_times, censoring_times, side)
    at_risk = np.cumsum(counts[::-1])[::-1] + n_events_left
    values = np.append(1.0, np.cumprod(1 - counts / at_risk))
    return CensoringCurve(censoring_times, values, float(time.max()))


@dataclass(frozen=True, eq=False)
class HorizonWeights:
    """The weights of n test rows at h horizons.

    At a horizon ``t`` a subject is a case if its event was observed up to ``t``, a rival if another
    event was, and a control if it was under observation beyond ``t``. One censored before ``t`` has
    no weight: the others are weighted up for it.

    ``case`` and ``rival``, shape (n,): the weight of a row from its ``time`` on, 0 if it is
    neither. ``control``, shape (h,): the weight of every row whose time lies beyond the horizon.
    ``defined``, shape (h,): at which horizons the weights are known.
    """

    time: FloatArray
    case: FloatArray
    rival: FloatArray
    control: FloatArray
    defined: BoolArray


def horizon_weights(
    y_train: TargetLike,
    y_test: TargetLike,
    horizons: FloatArray,
    event: int | None,
    compat: Literal["sksurv"] | None,
) -> HorizonWeights:
    """Return the weights: 1 / G(T-) of cases and rivals, 1 / G(t) of controls.

    ``G`` is estimated from ``y_train``. With ``compat="sksurv"`` cases have weight 1 / G(T), and
    other events are censorings. One warning lists the horizons that are not defined: beyond the
    follow-up of either sample, at or after a ``G`` of zero, or all if no test row has the event.
    """
    Choice(None, "sksurv")("compat", compat)
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    event = check_event(event)
    is_compat = compat is not None
    curve = censoring_curve(train.time, status(train, event, is_compat) == 0)
    kind = status(test, event, is_compat)
    g = (curve.at if is_compat else curve.before)(test.time)
    g_horizon = curve.at(horizons)
    has_case = bool((kind == 1).any())

    last = min(curve.follow_up, float(test.time.max()))
    # Rows beyond the training follow-up (NaN) are controls at every horizon within it.
    first_zero = test.time[(kind > 0) & (g == 0)].min(initial=np.inf)
    has_no_controls = horizons >= test.time.max()
    defined = (horizons <= last) & (horizons < first_zero) & ((g_horizon > 0) | has_no_controls)
    defined &= has_case
    if not defined.all():
        undefined = horizons[~defined]
        listed = ", ".join(f"{t:g}" for t in undefined[:5]) + (
            ", ..." if len(undefined) > 5 else ""
        )
        reason = (
            f"both samples are followed up to {last:g} only, or all that are left in y_train are "
            "censored there"
            if has_case
            else "no row of y_test has the event"
        )
        warn_user(f"not defined at the horizons {listed}: {reason}; the result is NaN.")
    weight = np.divide(1.0, g, out=np.zeros(len(g)), where=g > 0)
    control = np.divide(1.0, g_horizon, out=np.zeros(len(horizons)), where=g_horizon > 0)
    return HorizonWeights(test.time, weight * (kind == 1), weight * (kind == 2), control, defined)
