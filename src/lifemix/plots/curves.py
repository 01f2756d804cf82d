"""Survival and cumulative incidence of single subjects, with the spread of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..metrics.inputs import check_probabilities
from .inputs import check_curves, check_grid, check_labels, check_levels, check_spread
from .style import colour, empty_axes, legend_beside, line_style, probability_axis, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curves", "incidence_curves", "survival_curves"]

_SIDE_BY_SIDE = 5  # values of plateaus along the axis before they begin again
_SPREAD = "spread of the\nensemble members"
_CLOSE = 0.06  # levels whose values would overlap


def survival_curves(
    times: ArrayLike,
    survival: ArrayLike,
    std: ArrayLike | None = None,
    *,
    plateau: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    time_unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the survival curve ``S(t | x)`` of each subject, and on request the plateau that it tends to.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    survival : array-like of shape (n, m)
        One curve per subject; (m,) for one subject.
    std : array-like of shape (n, m), optional
        Standard deviation over the members of an ensemble (``return_std=True``), drawn as a band of one standard
        deviation to each side: the spread of the ensemble members. It is too narrow for a confidence interval.
    plateau : array-like of shape (n,), optional
        The survival at infinity of each subject, such as ``distribution.cure_fraction()``; drawn as a dotted line with
        its value where it is above 0.
    labels : sequence of n names, optional
        One name per subject, for the legend.
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

    Examples
    --------
    >>> from lifemix import plots
    >>> ax = plots.survival_curves([0, 1, 2], [[1.0, 0.8, 0.6], [1.0, 0.5, 0.2]], labels=["A", "B"])
    >>> len(ax.lines)
    2
    >>> ax = plots.survival_curves([0, 1, 2], [1.0, 0.6, 0.5], plateau=[0.4])
    >>> [text.get_text() for text in ax.texts]
    ['S(∞) = 0.40']
    """
    names = ("survival", "probability of survival")
    axes = _probabilities(times, survival, std, labels, time_unit, title, ax, names)
    if plateau is not None:
        grid = check_grid(times)
        n_curves = len(check_curves(survival, len(grid), names[0]))
        _draw_plateaus(axes, float(grid[-1]), check_levels(plateau, n_curves, "plateau"))
    return axes


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
    """Draw the cumulative incidence ``F_m(t | x)``: the probability that event m happened first, and by t.

    One curve per subject, or one per event type of one subject.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    incidence : array-like of shape (n, m)
        One curve per subject or event type; (m,) for a single curve.
    std : array-like of shape (n, m), optional
        Standard deviation over the members of an ensemble (``return_std=True``), drawn as a band of one standard
        deviation to each side: the spread of the ensemble members. It is too narrow for a confidence interval.
    labels : sequence of n names, optional
        One name per curve, for the legend.
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

    See Also
    --------
    stacked_incidence : all event types of one subject, stacked.

    Examples
    --------
    >>> from lifemix import plots
    >>> ax = plots.incidence_curves([0, 1, 2], [[0.0, 0.2, 0.3], [0.0, 0.1, 0.3]], labels=["relapse", "death"])
    >>> ax.get_ylabel()
    'cumulative incidence'
    """
    return _probabilities(
        times, incidence, std, labels, time_unit, title, ax, ("incidence", "cumulative incidence")
    )


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
    times: FloatArray,
    curves: FloatArray,
    spread: FloatArray | None,
    labels: list[str] | None,
    limits: tuple[float, float | None],
) -> None:
    """Draw one line per row of ``curves``, with a band of one standard deviation around it, clipped to the limits.

    The legend names the bands once.
    """
    for number, curve in enumerate(curves):
        shade, name = colour(number), labels[number] if labels else None
        ax.plot(times, curve, color=shade, linestyle=line_style(number), linewidth=1.8, label=name)
        if spread is not None:
            low, high = (np.clip(curve + side * spread[number], *limits) for side in (-1, 1))
            meaning = _SPREAD if number == len(curves) - 1 else None  # after all names
            ax.fill_between(times, low, high, color=shade, alpha=0.18, linewidth=0, label=meaning)


def _draw_plateaus(ax: Axes, last: float, levels: FloatArray) -> None:
    """Draw each level above 0 as a dotted line with its value below it, one beside the other where they are close."""
    before, place = np.inf, 0
    for number in sorted(
        np.flatnonzero(levels > 0).tolist(), key=lambda number: -float(levels[number])
    ):
        level, shade = float(levels[number]), colour(number)
        ax.plot([0, last], [level, level], color=shade, linestyle=":", linewidth=1.1)
        place = (place + 1) % _SIDE_BY_SIDE if before - level < _CLOSE else 0
        at, text = (last * (0.01 + 0.18 * place), level), f"S(∞) = {level:.2f}"
        ax.annotate(
            text, at, (0, -2), textcoords="offset points", color=shade, fontsize=8, va="top"
        )
        before = level
