"""Survival and cumulative incidence of single subjects, with the spread of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..metrics.inputs import check_probabilities
from .inputs import Floats, check_curves, check_grid, check_labels, check_spread
from .style import colour, empty_axes, legend_beside, line_style, probability_axis, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curves", "incidence_curves", "survival_curves"]


def survival_curves(
    times: ArrayLike,
    survival: ArrayLike,
    std: ArrayLike | None = None,
    *,
    labels: Sequence[Any] | None = None,
    time_unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the survival curve ``S(t | x)`` of each subject.

    times: (m,), rising; survival: (n, m), or (m,) for one subject.
    std: (n, m), the standard deviation over the members of an ensemble; drawn as a band of one of them to each side.
    labels: one name a subject. time_unit: such as ``"days"``. title: of the legend.
    """
    return _probabilities(times, survival, std, labels, time_unit, title, ax, ("survival", "probability of survival"))


def incidence_curves(
    times: ArrayLike,
    incidence: ArrayLike,
    std: ArrayLike | None = None,
    *,
    labels: Sequence[Any] | None = None,
    time_unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cumulative incidence ``F_m(t | x)``: the probability that the event has come, and came first.

    One curve a subject, or one a kind of event; the arguments are those of ``survival_curves``.
    """
    return _probabilities(times, incidence, std, labels, time_unit, title, ax, ("incidence", "cumulative incidence"))


def _probabilities(
    times: ArrayLike,
    values: ArrayLike,
    std: ArrayLike | None,
    labels: Sequence[Any] | None,
    time_unit: str | None,
    title: str | None,
    ax: Axes | None,
    names: tuple[str, str],
) -> Axes:
    grid = check_grid(times)
    curves = check_probabilities(check_curves(values, len(grid), names[0]), names[0])
    spread = check_spread(std, curves.shape)
    axes = empty_axes(ax)
    draw_curves(axes, grid, curves, spread, check_labels(labels, len(curves)), limits=(0.0, 1.0))
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, names[1])
    legend_beside(axes, title)
    return axes


def draw_curves(
    ax: Axes,
    times: Floats,
    curves: Floats,
    spread: Floats | None,
    labels: list[str] | None,
    limits: tuple[float, float | None],
) -> None:
    """Draw one line a row of ``curves``, and around it a band of one standard deviation, cut to the limits."""
    for number, curve in enumerate(curves):
        shade, name = colour(number), labels[number] if labels else None
        ax.plot(times, curve, color=shade, linestyle=line_style(number), linewidth=1.8, label=name)
        if spread is not None:
            low, high = (np.clip(curve + side * spread[number], *limits) for side in (-1, 1))
            ax.fill_between(times, low, high, color=shade, alpha=0.18, linewidth=0)
