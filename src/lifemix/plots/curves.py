"""Survival, cumulative incidence and hazard of single subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..errors import InputError
from ..metrics.inputs import check_probabilities, check_risk
from ._axes import (
    check_curves,
    check_grid,
    check_labels,
    check_spread,
    draw_spread,
    empty_axes,
    legend_beside,
    line_format,
    probability_axis,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["hazard_curves", "incidence_curves", "stacked_incidence", "survival_curves"]


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
    """Draw the survival curve ``S(t | x)`` of each subject.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    survival : array-like of shape (n, m)
        One curve per subject; (m,) for one subject.
    std : array-like of shape (n, m), optional
        Standard deviation over the members of an ensemble (``return_std=True``), drawn as a band of
        one standard deviation to each side: the spread of the ensemble members. It is too narrow
        for a confidence interval.
    plateau : array-like of shape (n,), optional
        The survival at infinity of each subject, such as ``distribution.cure_fraction()``; drawn as
        a dotted line, with its value in the legend, where it is above 0.
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
    >>> ax.lines[1].get_label()
    'S(∞) = 0.40'
    """
    axes, n_curves = _probability_curves(
        times, survival, "survival", "probability of survival", std, labels, time_unit, ax
    )
    if plateau is not None:
        levels = check_risk(check_probabilities(plateau, "plateau"), n_curves, "plateau")
        for number, level in enumerate(levels.tolist()):
            if level > 0:
                style = line_format(number) | {"linestyle": ":", "linewidth": 1.1}
                axes.axhline(level, label=f"S(∞) = {level:.2f}", **style)
    legend_beside(axes, title)
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
    """Draw the cumulative incidence ``F_m(t | x)``.

    It is the probability that event m happened first, and by time t. One curve per subject, or one
    per event type of one subject.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    incidence : array-like of shape (n, m)
        One curve per subject or event type; (m,) for a single curve.
    std : array-like of shape (n, m), optional
        Standard deviation over the members of an ensemble (``return_std=True``), drawn as a band of
        one standard deviation to each side: the spread of the ensemble members. It is too narrow
        for a confidence interval.
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
    >>> incidences = [[0.0, 0.2, 0.3], [0.0, 0.1, 0.3]]
    >>> ax = plots.incidence_curves([0, 1, 2], incidences, labels=["relapse", "death"])
    >>> ax.get_ylabel()
    'cumulative incidence'
    """
    axes, _ = _probability_curves(
        times, incidence, "incidence", "cumulative incidence", std, labels, time_unit, ax
    )
    legend_beside(axes, title)
    return axes


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
        One curve per subject; (m,) for one subject. Infinite values leave a gap: the hazard of a
        Weibull distribution with a shape below 1 is infinite at time 0.
    std : array-like of shape (n, m), optional
        Standard deviation over the members of an ensemble (``return_std=True``), drawn as a band of
        one standard deviation to each side: the spread of the ensemble members. It is too narrow
        for a confidence interval.
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
    axes = empty_axes(ax)
    limits = (0.0, None)
    _draw_curves(axes, grid, np.where(gaps, np.nan, curves), std, labels, limits)
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel(f"hazard (1/{time_unit or 'time'})")
    if log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    legend_beside(axes, title)
    return axes


def stacked_incidence(
    times: ArrayLike,
    incidences: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    time_unit: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cumulative incidences of one subject on top of each other, and ``S(t)`` above.

    ``sum_m F_m(t) + S(t) = 1``. One minus net survival does not add up like this: stacked, such
    curves exceed 1 and are refused.

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
    >>> incidences = [[0.0, 0.2, 0.3], [0.0, 0.1, 0.3]]
    >>> ax = plots.stacked_incidence([0, 1, 2], incidences, labels=["relapse", "death"])
    >>> ax.get_legend_handles_labels()[1]
    ['relapse', 'death', 'no event yet']
    """
    grid = check_grid(times)
    curves = check_probabilities(check_curves(incidences, len(grid), "incidences"), "incidences")
    total = curves.sum(axis=0).max()
    if total > 1 + 1e-6:
        raise InputError(
            f"incidences of one subject add up to at most 1 at any time; got {total:.4g}. Give "
            "cumulative incidences, predict_cumulative_incidence(X, times, event), not one minus "
            "net survival."
        )
    names = check_labels(labels, [f"event {number + 1}" for number in range(len(curves))])
    axes = empty_axes(ax)
    axes.stackplot(
        grid,
        *curves,
        np.maximum(1 - curves.sum(axis=0), 0.0),
        labels=[*map(str, names), "no event yet"],
        colors=[*(line_format(number)["color"] for number in range(len(curves))), "#DDDDDD"],
        alpha=0.85,
        linewidth=0,
    )
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, "probability")
    axes.set_ylim(0, 1)
    legend_beside(axes, title, reverse=True)
    return axes


def _probability_curves(
    times: ArrayLike,
    values: ArrayLike,
    name: str,
    label: str,
    std: ArrayLike | None,
    labels: Sequence[Any] | None,
    time_unit: str | None,
    ax: Axes | None,
) -> tuple[Axes, int]:
    """Draw curves of probabilities; return the axes and the number of curves."""
    grid = check_grid(times)
    curves = check_probabilities(check_curves(values, len(grid), name), name)
    axes = empty_axes(ax)
    _draw_curves(axes, grid, curves, std, labels, limits=(0.0, 1.0))
    time_axis(axes, float(grid[-1]), time_unit)
    probability_axis(axes, label)
    return axes, len(curves)


def _draw_curves(
    ax: Axes,
    times: FloatArray,
    curves: FloatArray,
    std: ArrayLike | None,
    labels: Sequence[Any] | None,
    limits: tuple[float, float | None],
) -> None:
    """Draw one line per row of ``curves``, each with a band of one standard deviation."""
    spread = check_spread(std, curves.shape)
    names = check_labels(labels, [None] * len(curves))
    for number, (curve, name) in enumerate(zip(curves, names, strict=True)):
        style = line_format(number)
        ax.plot(times, curve, label=name, **style)
        if spread is not None:
            is_last = number == len(curves) - 1  # the legend explains the bands once
            meaning = "spread of the\nensemble members" if is_last else None
            draw_spread(ax, times, curve, spread[number], style["color"], limits, meaning)
