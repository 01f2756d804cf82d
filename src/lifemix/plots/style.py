"""Colours, empty axes and axis labels that all plots share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PALETTE",
    "colour",
    "empty_axes",
    "legend_beside",
    "line_style",
    "probability_axis",
    "time_axis",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours that colour-blind readers tell apart (Okabe and Ito, 2008, without the yellow, too pale for lines)."""

_STYLES = ("-", "--", ":", "-.")


def colour(number: int) -> str:
    """Return the colour of curve ``number``; colours repeat after seven, with another line style."""
    return PALETTE[number % len(PALETTE)]


def line_style(number: int) -> str:
    """Return the line style of curve ``number``."""
    return _STYLES[number // len(PALETTE) % len(_STYLES)]


def empty_axes(ax: Axes | None, width: float = 7.0, height: float = 4.0) -> Axes:
    """Return the given axes, or those of a new figure, without the upper and right spine.

    The new figure is not registered with pyplot, so that nothing remains when it is dropped:
    ``ax.figure.savefig(path)``.
    """
    if ax is None:
        figure = _matplotlib("matplotlib.figure").Figure(
            figsize=(width, height), layout="constrained"
        )
        ax = figure.subplots()
    axes: Axes = ax
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def time_axis(ax: Axes, last: float, unit: str | None) -> None:
    """Name the horizontal axis, with its unit, and let it run from the origin to the last time."""
    ax.set_xlabel(f"time ({unit})" if unit else "time")
    ax.set_xlim(0, last)


def probability_axis(ax: Axes, label: str) -> None:
    """Name the vertical axis and let it show all probabilities."""
    ax.set_ylabel(label)
    ax.set_ylim(0, 1.02)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])


def legend_beside(ax: Axes, title: str | None = None) -> None:
    """Place the legend to the right of the axes, where it hides no curve; none where no curve has a label."""
    if ax.get_legend_handles_labels()[1]:
        legend = ax.legend(
            title=title,
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            alignment="left",
            borderaxespad=0,
        )
        legend.set_in_layout(True)


def _matplotlib(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a plot") from error
