"""Brier score and concordance at many horizons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..metrics import aalen_johansen, brier_score, concordance_td, kaplan_meier
from ..target import TargetLike, as_target
from .inputs import check_curves, check_grid, named
from .style import colour, empty_axes, legend_beside, line_style, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["brier_over_time", "concordance_over_time"]

_GREY = "#888888"


def brier_over_time(
    y_train: TargetLike,
    y_test: TargetLike,
    survival: ArrayLike | Mapping[str, ArrayLike],
    times: ArrayLike,
    event: int | None = None,
    *,
    reference: bool = True,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the Brier score at each time; lower is better.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution and the reference are estimated from it.
    y_test : target
        n subjects, observed from the origin.
    survival : array-like of shape (n, m), or dict of name to such an array
        Predicted survival at the times, of one or of several models; with ``event=m`` one minus the cumulative
        incidence.
    times : array-like of shape (m,)
        Increasing times.
    event : int, optional
        The event type; None for events of any type.
    reference : bool, default True
        Also draw, in grey, a model without covariates: the Kaplan-Meier (Aalen-Johansen) curve of ``y_train`` as the
        prediction for everyone. A model above it has learned nothing.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into. Where the score is NaN there is a gap.

    See Also
    --------
    lifemix.metrics.brier_score : what is drawn.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> survival = [[0.5, 0.2], [0.8, 0.4], [0.9, 0.7], [0.9, 0.8]]
    >>> ax = plots.brier_over_time(y, y, {"DSM": survival}, [1.5, 2.5])
    >>> [line.get_label() for line in ax.lines]
    ['DSM', 'no covariates']
    """
    grid = check_grid(times)
    axes = empty_axes(ax)
    for number, (name, values) in enumerate(named(survival, "model").items()):
        scores = brier_score(
            y_train, y_test, check_curves(values, len(grid), "survival"), grid, event
        )
        axes.plot(
            grid,
            scores,
            color=colour(number),
            linestyle=line_style(number),
            linewidth=1.8,
            label=name,
        )
    if reference:
        known, scores = _reference(y_train, y_test, grid, event)
        axes.plot(
            known,
            scores,
            color=_GREY,
            linestyle="--",
            linewidth=1.2,
            label="no covariates",
            zorder=1,
        )
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel("Brier score (lower is better)")
    axes.set_ylim(bottom=0)
    legend_beside(axes)
    return axes


def concordance_over_time(
    y_train: TargetLike,
    y_test: TargetLike,
    risk: ArrayLike | Mapping[str, ArrayLike],
    times: ArrayLike,
    event: int = 1,
    *,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw C^td at each time: the share of comparable pairs up to then that are ranked correctly; higher is better.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    risk : array-like of shape (n, m), or dict of name to such an array
        Risk of each subject at each time, such as one minus survival or the cumulative incidence; a risk score that is
        the same at all times may be (n, 1).
    times : array-like of shape (m,)
        Increasing times.
    event : int, default 1
        The event type.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into. Where the concordance is NaN there is a gap.

    See Also
    --------
    lifemix.metrics.concordance_td : what is drawn.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> ax = plots.concordance_over_time(y, y, [[3.0], [2.0], [1.0], [0.5]], [1.5, 2.5])
    >>> ax.lines[0].get_ydata()
    array([1., 1.])
    """
    grid = check_grid(times)
    axes = empty_axes(ax)
    for number, (name, values) in enumerate(named(risk, "model").items()):
        array = np.asarray(values)
        wide = (
            np.repeat(array, len(grid), axis=1)
            if array.ndim == 2 and array.shape[1] == 1
            else array
        )
        ranks = check_curves(wide, len(grid), "risk")
        scores = [
            concordance_td(y_train, y_test, ranks[:, i], float(t), event)
            for i, t in enumerate(grid)
        ]
        axes.plot(
            grid,
            scores,
            color=colour(number),
            linestyle=line_style(number),
            linewidth=1.8,
            label=name,
        )
    axes.axhline(0.5, color=_GREY, linestyle="--", linewidth=1.2, zorder=1, label="by chance")
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel("concordance Cᵗᵈ (higher is better)")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.48), min(max(high, 0.52), 1.0))
    legend_beside(axes)
    return axes


def _reference(
    y_train: TargetLike, y_test: TargetLike, grid: FloatArray, event: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the times that both samples reach, and the Brier score there of one curve for everyone."""
    train, test = as_target(y_train).joined(), as_target(y_test).joined()
    known = grid[grid <= min(train.time.max(), test.time.max())]
    if not len(known):
        return known, known
    estimate = (
        kaplan_meier(train).at(known)
        if event is None
        else 1 - aalen_johansen(train, event).at(known)
    )
    everyone = np.tile(estimate, (len(test), 1))
    return known, np.asarray(brier_score(train, test, everyone, known, event))
