"""Calibration at a horizon: predicted risk against observed risk, by groups of predicted risk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..metrics import calibration_curve
from ..target import TargetLike
from .inputs import named
from .style import colour, empty_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration"]


def calibration(
    y: TargetLike,
    risk: ArrayLike | Mapping[str, ArrayLike],
    horizon: float,
    event: int | None = 1,
    *,
    bins: int = 10,
    level: float = 0.95,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw observed against predicted risk at a horizon, with confidence limits; calibration is the diagonal.

    With one model, ticks along the lower edge show its predicted risks.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    risk : array-like of shape (n,), or dict of name to such an array
        Predicted probability of the event up to the horizon, of one or of several models.
    horizon : float
        Time at which to evaluate.
    event : int or None, default 1
        The event type; None for events of any type.
    bins : int, default 10
        Number of groups, cut at quantiles of the risk.
    level : float, default 0.95
        Confidence level of the limits.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    See Also
    --------
    lifemix.metrics.calibration_curve : what is drawn.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> ax = plots.calibration(y, [0.9, 0.7, 0.4, 0.2], horizon=2.0, bins=2, time_unit="years")
    >>> ax.get_xlabel()
    'predicted risk by 2 years'
    """
    models = named(risk, "model")
    curves = {
        name: calibration_curve(y, values, horizon, event, bins=bins, level=level)
        for name, values in models.items()
    }
    axes = empty_axes(ax, 5.0, 5.0)
    last = _round_up(max(_largest(curve) for curve in curves.values()))
    axes.plot([0, last], [0, last], color="#888888", linewidth=1, linestyle="--", zorder=1)
    for number, (name, curve) in enumerate(curves.items()):
        shade = colour(number)
        axes.vlines(
            curve.predicted, curve.lower, curve.upper, color=shade, alpha=0.45, linewidth=1.5
        )
        label = name if len(models) > 1 else None
        axes.plot(
            curve.predicted,
            curve.observed,
            color=shade,
            marker="o",
            markersize=5,
            linewidth=1.2,
            label=label,
        )
    if len(models) == 1:
        _draw_ticks(axes, np.asarray(next(iter(models.values())), dtype=np.float64))
    by = f"{horizon:g} {time_unit}" if time_unit else f"time {horizon:g}"
    axes.set_xlabel(f"predicted risk by {by}")
    axes.set_ylabel(f"observed risk by {by}")
    axes.set(xlim=(0, last), ylim=(0, last))
    axes.set_aspect("equal")
    if len(models) > 1:
        axes.legend(
            frameon=False, loc="lower right"
        )  # a corner that only a useless model would reach
    return axes


def _largest(curve: Any) -> float:
    return float(np.nanmax([curve.predicted.max(), np.nanmax(curve.upper, initial=0.0)]))


def _round_up(value: float) -> float:
    """Return the next multiple of a tenth, at most 1: small risks deserve a picture of their own size."""
    return float(min(1.0, np.ceil(value * 10 + 0.2) / 10))


def _draw_ticks(ax: Axes, risk: Any, most: int = 300) -> None:
    """Draw a tick for each prediction; where there are many, for an even selection by rank."""
    ordered = np.sort(risk)
    chosen = ordered[np.linspace(0, len(ordered) - 1, min(most, len(ordered))).astype(np.intp)]
    ax.vlines(
        chosen,
        0,
        0.025,
        transform=ax.get_xaxis_transform(),
        color="#444444",
        alpha=0.35,
        linewidth=0.6,
    )
