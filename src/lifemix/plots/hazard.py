"""Hazard curves of single subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .curves import draw_curves
from .inputs import check_curves, check_grid, check_labels, check_spread
from .style import empty_axes, legend_beside, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["hazard_curves"]


def hazard_curves(
    times: ArrayLike,
    hazard: ArrayLike,
    std: ArrayLike | None = None,
    *,
    labels: Sequence[Any] | None = None,
    time_unit: str | None = None,
    title: str | None = None,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the hazard ``h(t | x) = f(t | x) / S(t | x)`` of each subject, per unit of time.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    hazard : array-like of shape (n, m)
        One curve per subject; (m,) for one subject. Infinite values leave a gap: the hazard of a Weibull distribution
        with a shape below 1 is infinite at time 0.
    std : array-like of shape (n, m), optional
        Standard deviation over the members of an ensemble (``return_std=True``), drawn as a band of one standard
        deviation to each side: the spread of the ensemble members. It is too narrow for a confidence interval.
    labels : sequence of n names, optional
        One name per subject, for the legend.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    title : str, optional
        Title of the legend.
    log : bool, default False
        A logarithmic vertical axis; values of 0 leave a gap.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Examples
    --------
    >>> from lifemix import plots
    >>> ax = plots.hazard_curves([0, 1, 2], [0.1, 0.2, 0.15], time_unit="years")
    >>> ax.get_ylabel()
    'hazard (1/years)'
    """
    grid = check_grid(times)
    curves = check_curves(hazard, len(grid), "hazard")
    if np.isnan(curves).any() or (curves < 0).any():
        raise InputError(
            f"hazard must hold numbers >= 0; got {int(np.isnan(curves).sum())} NaN and "
            f"{int((curves < 0).sum())} negative values."
        )
    gaps = np.isinf(curves) | (log & (curves == 0))
    shown = np.where(gaps, np.nan, curves)
    spread = check_spread(std, curves.shape)
    axes = empty_axes(ax)
    draw_curves(axes, grid, shown, spread, check_labels(labels, len(curves)), limits=(0.0, None))
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel(f"hazard (1/{time_unit})" if time_unit else "hazard (1/time)")
    if log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    legend_beside(axes, title)
    return axes
