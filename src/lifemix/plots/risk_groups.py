"""Observed curves of groups by predicted risk, with the numbers at risk below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import IntArray
from ..checks import Whole, check_times
from ..errors import InputError
from ..metrics import aalen_johansen, kaplan_meier
from ..metrics.calibration import quantile_groups
from ..metrics.inputs import check_risk, observed
from ..target import Target, TargetLike
from ._axes import (
    check_curves,
    check_grid,
    check_labels,
    empty_axes,
    legend_beside,
    line_format,
    probability_axis,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["number_at_risk", "risk_groups"]


def risk_groups(
    y: TargetLike,
    risk: ArrayLike,
    groups: int = 4,
    *,
    event: int | None = None,
    predicted: tuple[ArrayLike, ArrayLike] | None = None,
    labels: Sequence[Any] | None = None,
    level: float | None = 0.95,
    last: float | None = None,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw observed curves of groups by predicted risk, with the numbers at risk below.

    They are Kaplan-Meier curves of survival, or for one of several event types Aalen-Johansen
    curves of its cumulative incidence.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    risk : array-like of shape (n,)
        Risk score; higher = earlier event.
    groups : int, default 4
        Number of groups, cut at quantiles of the risk. Equal risks stay together.
    event : int, optional
        The event type whose cumulative incidence is drawn; None draws survival, with events of all
        types.
    predicted : tuple (times, curves), optional
        Predicted survival, or with ``event`` cumulative incidence, of shape (n, m) at m times; its
        mean in each group is drawn dashed.
    labels : sequence of names, optional
        One name per group, from the lowest risk up.
    level : float or None, default 0.95
        Level of the confidence band; None for no band.
    last : float, optional
        Where the time axis ends; None for the last time of the data.
    time_unit : str, optional
        Unit in the labels, such as ``"days"``.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> ax = plots.risk_groups(y, [4.0, 3.0, 2.0, 1.0], groups=2)
    >>> [line.get_label() for line in ax.lines]
    ['1 (lowest)', '2 (highest)']
    """
    target = observed(y, "y", truncation=True)
    group = quantile_groups(check_risk(risk, len(target)), Whole(1)("groups", groups))
    n_groups = int(group.max()) + 1
    names = [str(number) for number in range(1, n_groups + 1)]
    names[0], names[-1] = f"{names[0]} (lowest)", f"{names[-1]} (highest)"
    group_names = check_labels(labels, names if n_groups > 1 else ["all"])
    axes = empty_axes(ax, 7.5, 4.2 + 0.2 * n_groups)
    end = float(target.time.max()) if last is None else float(check_times(last, "last")[0])
    if end <= 0:
        raise InputError(f"the time axis must end after 0; got {end:g}. Give last.")
    for number, name in enumerate(group_names):
        _draw_observed(axes, target.take(group == number), event, level, number, name)
    if predicted is not None:
        grid = check_grid(predicted[0])
        curves = check_curves(predicted[1], len(grid), "the predicted curves")
        if len(curves) != len(group):
            raise InputError(
                f"the predicted curves must have one row per subject, {len(group)}; "
                f"got {len(curves)}."
            )
        for number in range(n_groups):
            style = line_format(number) | {"linestyle": "--", "linewidth": 1.3}
            axes.plot(grid, curves[group == number].mean(axis=0), **style)
    time_axis(axes, end, time_unit)
    dashed = "" if predicted is None else " (dashed: predicted)"
    if event is None:
        probability_axis(axes, f"survival{dashed}")
    else:  # incidences may be small: let them fill the plot
        lines = [np.asarray(line.get_xydata()) for line in axes.lines]
        top = max(float(line[line[:, 0] <= end, 1].max()) for line in lines)
        axes.set(ylabel=f"cumulative incidence{dashed}", ylim=(0, min(1.02, 1.3 * top or 1.02)))
    legend_beside(axes, "risk group")
    _write_numbers_at_risk(axes, target, group, group_names)
    return axes


def number_at_risk(y: TargetLike, times: ArrayLike) -> IntArray:
    """Return how many subjects are at risk just before each time: ``entry < t <= time``.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    times : array-like of shape (m,)
        Times; at 0 those count who were observed from the origin.

    Returns
    -------
    int array of shape (m,)
        Numbers of subjects.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0], [1, 0, 1], entry=[0.0, 0.0, 1.5])
    >>> plots.number_at_risk(y, [0.0, 1.0, 2.0, 3.0])
    array([2, 2, 2, 1])
    """
    target, grid = observed(y, "y", truncation=True), np.asarray(times, dtype=np.float64)
    n_ended = np.searchsorted(np.sort(target.time), grid, side="left")
    n_entered = np.searchsorted(np.sort(target.entry), grid, side="left")
    n_entered = np.where(grid == 0, len(target) - target.truncated.sum(), n_entered)
    return (n_entered - n_ended).astype(np.int64)


def _draw_observed(
    ax: Axes, target: Target, event: int | None, level: float | None, number: int, name: str | None
) -> None:
    """Draw the Kaplan-Meier (Aalen-Johansen) curve of one group."""
    if event is None:
        curve, start = kaplan_meier(target, level=level or 0.95), 1.0
    else:
        curve, start = aalen_johansen(target, event, level=level or 0.95), 0.0
    time, style = np.append(0.0, curve.time), line_format(number) | {"linewidth": None}
    ax.step(time, np.append(start, curve.estimate), where="post", label=name, **style)
    if level is not None:
        lower, upper = np.append(start, curve.lower), np.append(start, curve.upper)
        band = {"step": "post", "color": style["color"], "alpha": 0.15, "linewidth": 0}
        ax.fill_between(time, lower, upper, **band)


def _write_numbers_at_risk(
    ax: Axes, target: Target, group: IntArray, names: Sequence[str | None]
) -> None:
    """Write a table below the axes: one row per group, one column per tick of the time axis."""
    end = ax.get_xlim()[1]
    ticks = [tick for tick in ax.get_xticks() if 0 <= tick <= end]
    ax.set_xticks(ticks)
    ax.set_xlim(0, end)
    text: dict[str, Any] = {
        "xycoords": ax.get_xaxis_transform(),
        "textcoords": "offset points",
        "va": "center",
        "fontsize": 9.0,
        "annotation_clip": False,
    }
    ax.annotate("number at risk", (0, 0), (-8, -44), ha="left", **text)
    for number, name in enumerate(names):
        y_offset = -45 - 14.0 * (number + 1)  # in points
        colour = line_format(number)["color"]
        ax.annotate(str(name), (0, 0), (-26, y_offset), ha="right", color=colour, **text)
        counts = number_at_risk(target.take(group == number), ticks)
        for tick, count in zip(ticks, counts, strict=True):
            ax.annotate(f"{count:,}", (tick, 0), (0, y_offset), ha="center", **text)
