"""What becomes of one subject: the shares of all kinds of event and of no event, which add up to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..metrics.inputs import check_probabilities
from .inputs import check_curves, check_grid, check_labels
from .style import colour, empty_axes, legend_beside, probability_axis, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["stacked_incidence"]


def stacked_incidence(
    times: ArrayLike,
    incidences: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    time_unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cumulative incidences of one subject on top of each other; what is left above is ``S(t)``.

    ``sum_m F_m(t) + S(t) = 1``, which net curves do not obey: stacked they pass 1 and are refused.

    times: (m,), rising; incidences: (n_events, m), from ``law.cumulative_incidences(times)[:, row]``.
    labels: one name a kind of event.
    """
    grid = check_grid(times)
    curves = check_probabilities(check_curves(incidences, len(grid), "incidences"), "incidences")
    total = curves.sum(axis=0)
    if (total > 1 + 1e-6).any():
        raise InputError(
            f"incidences of one subject add up to at most 1 at any time; got {total.max():.4g}. Give cumulative "
            "incidences, predict_cumulative_incidence(X, times, event), not one minus net survival."
        )
    names = check_labels(labels, len(curves)) or [f"event {number}" for number in range(1, len(curves) + 1)]
    axes = empty_axes(ax)
    top = np.minimum(np.cumsum(curves, axis=0), 1.0)
    axes.fill_between(grid, top[-1], 1, color="#DDDDDD", linewidth=0, label="no event yet")
    for number in reversed(range(len(curves))):
        floor = top[number - 1] if number else np.zeros(len(grid))
        axes.fill_between(grid, floor, top[number], color=colour(number), alpha=0.85, linewidth=0, label=names[number])
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, "probability")
    axes.set_ylim(0, 1)
    legend_beside(axes, title)
    return axes
