"""Axes, colours, labels and checks that all plots share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..checks import check_times
from ..errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GREY",
    "PALETTE",
    "check_curves",
    "check_grid",
    "check_labels",
    "check_spread",
    "draw_spread",
    "empty_axes",
    "legend_beside",
    "line_format",
    "named",
    "probability_axis",
    "time_axis",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Seven colours that colour-blind readers can distinguish (Okabe and Ito, 2008), without yellow."""
GREY = "#767676"
_LINE_STYLES = ("-", "--", ":", "-.")


def line_format(number: int) -> dict[str, Any]:
    """Return colour, style and width of a curve; the line style changes after seven colours."""
    n_colours = len(PALETTE)
    return {
        "color": PALETTE[number % n_colours],
        "linestyle": _LINE_STYLES[number // n_colours % len(_LINE_STYLES)],
        "linewidth": 1.8,
    }


def empty_axes(ax: Axes | None, width: float = 7.0, height: float = 4.0) -> Axes:
    """Return ``ax``, or the axes of a new figure of pyplot, without the upper and right spine."""
    if ax is None:
        try:
            pyplot = import_module("matplotlib.pyplot")
        except ImportError as error:
            raise MissingExtraError("matplotlib", "plots", "a plot") from error
        ax = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    axes: Axes = ax
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def time_axis(ax: Axes, last: float, unit: str | None) -> None:
    """Label the horizontal axis and limit it to the times from 0 to ``last``."""
    ax.set_xlabel(f"time ({unit})" if unit else "time")
    ax.set_xlim(0, last)


def probability_axis(ax: Axes, label: str) -> None:
    """Label the vertical axis and limit it to probabilities."""
    ax.set(ylabel=label, ylim=(0, 1.02), yticks=[0, 0.25, 0.5, 0.75, 1])


def legend_beside(ax: Axes, title: str | None = None, *, reverse: bool = False) -> None:
    """Place the legend to the right of the axes, if any curve has a label."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(
            title=title,
            reverse=reverse,
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            alignment="left",
            borderaxespad=0,
        )


def draw_spread(
    ax: Axes,
    times: FloatArray,
    curve: FloatArray,
    spread: FloatArray,
    colour: str,
    limits: tuple[float, float | None] = (-np.inf, None),
    label: str | None = None,
) -> None:
    """Draw a band of ``spread`` on each side of a curve, clipped to the limits."""
    low, high = np.clip(curve - spread, *limits), np.clip(curve + spread, *limits)
    ax.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0, label=label)


def check_grid(times: ArrayLike, name: str = "times") -> FloatArray:
    """Return the times of curves, ``(n_times,)``; refuse times that decrease."""
    grid = check_times(times, name)
    falls = np.flatnonzero(np.diff(grid) < 0)
    if len(falls):
        index = falls[0]
        raise InputError(
            f"{name} must increase; got {grid[index]:g} before {grid[index + 1]:g}. Sort them."
        )
    return grid


def check_curves(values: ArrayLike, n_times: int, name: str) -> FloatArray:
    """Return curves as an array ``(n, n_times)``; a single curve may have shape ``(n_times,)``."""
    try:
        curves = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers; got {type(values).__name__}.") from None
    if curves.ndim != 2 or curves.shape[1] != n_times or len(curves) == 0:
        raise InputError(
            f"{name} must have one row per curve and one column per time, (n, {n_times}); "
            f"got shape {np.shape(values)}."
        )
    return curves


def check_spread(std: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray | None:
    """Return the standard deviations of curves of this shape."""
    if std is None:
        return None
    spread = check_curves(std, shape[1], "std")
    if spread.shape != shape:
        raise InputError(f"std must have the shape of the curves, {shape}; got {spread.shape}.")
    if (spread < 0).any():
        raise InputError(f"std must not be negative; got {spread.min():g}.")
    return spread


def check_labels(
    labels: Sequence[Any] | None, default: Sequence[str | None], name: str = "labels"
) -> list[str | None]:
    """Return one name per curve; ``default`` if no labels are given."""
    if labels is None:
        return list(default)
    if isinstance(labels, str) or len(labels) != len(default):
        received = repr(labels) if isinstance(labels, str) else f"{len(labels)} names"
        raise InputError(
            f"{name} must have one name per curve, {len(default)} in all; got {received}."
        )
    return [str(label) for label in labels]


def named(predictions: Any) -> dict[str, Any]:
    """Return the predictions of one or several models as a dict by name."""
    if not isinstance(predictions, Mapping):
        return {"model": predictions}
    if not predictions:
        raise InputError("a dict of predictions must hold at least one model; got none.")
    return {str(name): values for name, values in predictions.items()}
