"""Inverse-probability-of-censoring weights of the rows at a horizon.

At a horizon ``t`` a subject is a case if its event was observed up to ``t``, a rival if another event was, and a
control if it was under observation beyond ``t``. One censored before ``t`` has no weight: the others are weighted up
for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._types import BoolArray, FloatArray
from ..checks import Choice, warn_user
from ..target import TargetLike
from .censoring import censoring_curve
from .inputs import check_event, observed, status

__all__ = ["HorizonWeights", "horizon_weights"]


@dataclass(frozen=True, eq=False)
class HorizonWeights:
    """The weights of n test rows at h horizons.

    ``case`` and ``rival``, shape (n,): the weight of a row from its ``time`` on, 0 where it is neither.
    ``control``, shape (h,): the weight of every row whose time lies beyond the horizon.
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
    """Estimate the weights: 1 / G(T-) for cases and rivals, 1 / G(t) for controls, with ``G`` from ``y_train``.

    With ``compat="sksurv"`` cases have weight 1 / G(T), and other events are censorings. One warning names the
    horizons that are not defined: beyond the follow-up of either sample, where ``G`` is zero, or all if no test row
    has the event.
    """
    Choice(None, "sksurv")("compat", compat)
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    code = check_event(event)
    curve = censoring_curve(train.time, status(train, code, compat is not None) == 0)
    kind = status(test, code, compat is not None)
    chance = (curve.at if compat else curve.before)(test.time)
    chance_at_horizon = curve.at(horizons)
    weight = _inverse(chance)

    last = min(curve.follow_up, float(test.time.max()))
    # Beyond the training follow-up a row is a control at every horizon within it, so that only a zero matters here.
    unweighted = test.time[(kind > 0) & (chance == 0)].min(initial=np.inf)
    no_controls = horizons >= test.time.max()
    reachable = (
        (horizons <= last) & (horizons < unweighted) & ((chance_at_horizon > 0) | no_controls)
    )
    defined = reachable if (kind == 1).any() else np.zeros(len(horizons), dtype=np.bool_)
    _warn(horizons[~defined], last, bool((kind == 1).any()))
    return HorizonWeights(
        test.time, weight * (kind == 1), weight * (kind == 2), _inverse(chance_at_horizon), defined
    )


def _inverse(chance: FloatArray) -> FloatArray:
    return np.divide(1.0, chance, out=np.zeros(len(chance)), where=chance > 0)


def _warn(undefined: FloatArray, last: float, any_case: bool) -> None:
    if not len(undefined):
        return
    reason = "no row of y_test has the event"
    if any_case:
        reason = f"both samples are followed up to {last:g} only, or all that are left in y_train are censored there"
    listed = ", ".join(f"{t:g}" for t in undefined[:5]) + (", ..." if len(undefined) > 5 else "")
    warn_user(f"not defined at the horizons {listed}: {reason}; the result is NaN.")
