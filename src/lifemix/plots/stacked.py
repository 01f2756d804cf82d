"""Stacked cumulative incidences of one subject: with the probability of no event they add up to one."""

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

    ``sum_m F_m(t) + S(t) = 1``. One minus net survival does not add up like this: stacked, such curves exceed 1 and are
    refused.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    incidences : array-like of shape (n_events, m)
        Cumulative incidences of one subject, ``distribution.cumulative_incidences(times)[:, row]``.
    labels : sequence of n_events names, optional
        One name per event type.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    title : str, optional
        Title of the legend.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Raises
    ------
    InputError
        Where the incidences add up to more than 1.

    Examples
    --------
    >>> from lifemix import plots
    >>> ax = plots.stacked_incidence([0, 1, 2], [[0.0, 0.2, 0.3], [0.0, 0.1, 0.3]], labels=["relapse", "death"])
    >>> ax.get_legend_handles_labels()[1]
    ['no event yet', 'death', 'relapse']
    """
    grid = check_grid(times)
    curves = check_probabilities(check_curves(incidences, len(grid), "incidences"), "incidences")
    total = curves.sum(axis=0)
    if (total > 1 + 1e-6).any():
        raise InputError(
            f"incidences of one subject add up to at most 1 at any time; got {total.max():.4g}. Give cumulative "
            "incidences, predict_cumulative_incidence(X, times, event), not one minus net survival."
        )
    names = check_labels(labels, len(curves)) or [
        f"event {number}" for number in range(1, len(curves) + 1)
    ]
    axes = empty_axes(ax)
    top = np.minimum(np.cumsum(curves, axis=0), 1.0)
    axes.fill_between(grid, top[-1], 1, color="#DDDDDD", linewidth=0, label="no event yet")
    for number in reversed(range(len(curves))):
        floor = top[number - 1] if number else np.zeros(len(grid))
        axes.fill_between(
            grid,
            floor,
            top[number],
            color=colour(number),
            alpha=0.85,
            linewidth=0,
            label=names[number],
        )
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, "probability")
    axes.set_ylim(0, 1)
    legend_beside(axes, title)
    return axes
