"""Kaplan-Meier and Nelson-Aalen: survival and cumulative hazard of a sample, left-truncated rows included."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .curve import Curve, limits, risk_table
from .inputs import Floats, check_event, observed

__all__ = ["kaplan_meier", "nelson_aalen"]


def kaplan_meier(
    y: Any,
    event: int | None = None,
    *,
    level: float = 0.95,
    transform: Literal["log-log", "log", "plain"] = "log-log",
) -> Curve:
    """Kaplan-Meier estimate of survival.

    S(t) = prod_{u <= t} (1 - d(u) / Y(u)), with d events among the Y subjects at risk at u (entry < u <= time);
    standard error by Greenwood, S(t)^2 sum d / (Y (Y - d)). As ``survival::survfit`` in R, whose limits are
    ``transform="log"``.

    event: None for any event; with ``event=m`` the others are censorings (net survival).
    Where the curve has come down to 0 its standard error and limits are NaN.
    """
    table = risk_table(observed(y, "y", truncation=True), check_event(event))
    d, at_risk = table.events.astype(np.float64), table.at_risk.astype(np.float64)
    estimate: Floats = np.cumprod(1 - d / at_risk, dtype=np.float64)
    alive = estimate > 0
    terms = np.divide(d, at_risk * (at_risk - d), out=np.zeros(len(d)), where=alive)
    standard_error = np.where(alive, estimate * np.sqrt(np.cumsum(terms)), np.nan)
    lower, upper = limits(estimate, standard_error, level, transform, (0.0, 1.0))
    return Curve(table.time, estimate, standard_error, lower, upper, table.at_risk, table.events, 1.0)


def nelson_aalen(
    y: Any, event: int | None = None, *, level: float = 0.95, transform: Literal["log", "plain"] = "log"
) -> Curve:
    """Nelson-Aalen estimate of the cumulative hazard.

    H(t) = sum_{u <= t} d(u) / Y(u);  variance  sum_{u <= t} d(u) / Y(u)^2.  As ``survival::survfit`` in R
    (``cumhaz``, ``std.chaz``).

    event: None for any event; with ``event=m`` the hazard of that event alone.
    """
    table = risk_table(observed(y, "y", truncation=True), check_event(event))
    d, at_risk = table.events.astype(np.float64), table.at_risk.astype(np.float64)
    estimate: Floats = np.cumsum(d / at_risk)
    standard_error = np.sqrt(np.cumsum(d / at_risk**2))
    lower, upper = limits(estimate, standard_error, level, transform, (0.0, np.inf))
    return Curve(table.time, estimate, standard_error, lower, upper, table.at_risk, table.events, 0.0)
