"""Permutation importance over time, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .inputs import check_curves, check_grid, check_labels, check_spread
from .style import colour, empty_axes, legend_beside, line_style, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["importance_over_time"]


def importance_over_time(
    times: ArrayLike,
    importance: ArrayLike,
    std: ArrayLike | None = None,
    *,
    features: Sequence[Any],
    show: int = 7,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much the Brier score rises at each time when a feature is shuffled.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    importance : array-like of shape (d, m)
        The ``mean`` of ``metrics.permutation_importance``.
    std : array-like of shape (d, m), optional
        Its ``std``; drawn as a band to each side.
    features : sequence of d names
        One name per row.
    show : int, default 7
        How many features, those of largest mean importance, have a line.
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
    lifemix.metrics.permutation_importance : what is drawn.

    Examples
    --------
    >>> from lifemix import plots
    >>> importance = [[0.00, 0.01], [0.03, 0.05]]
    >>> ax = plots.importance_over_time([1.0, 2.0], importance, features=["sex", "age"])
    >>> ax.lines[0].get_label()
    'age'
    """
    grid = check_grid(times)
    curves = check_curves(importance, len(grid), "importance")
    spread = check_spread(std, curves.shape)
    names = check_labels(features, len(curves), "features") or []
    axes = empty_axes(ax)
    order = np.argsort(-np.nanmean(curves, axis=1), kind="stable")[:show]
    for number, row in enumerate(order):
        shade = colour(number)
        axes.plot(
            grid,
            curves[row],
            color=shade,
            linestyle=line_style(number),
            linewidth=1.8,
            label=names[row],
        )
        if spread is not None:
            low, high = curves[row] - spread[row], curves[row] + spread[row]
            axes.fill_between(grid, low, high, color=shade, alpha=0.15, linewidth=0)
    axes.axhline(0, color="#888888", linewidth=1, zorder=1)
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel("rise of the Brier score when shuffled")
    legend_beside(axes)
    return axes
