"""Calibration at a horizon, and D-calibration over all times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from .. import metrics
from ..metrics import calibration_curve
from ..target import TargetLike
from ._axes import GREY, PALETTE, empty_axes, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration", "d_calibration"]


def calibration(
    y: TargetLike,
    risk: ArrayLike | Mapping[str, ArrayLike],
    horizon: float,
    event: int | None = 1,
    *,
    bins: int = 10,
    level: float = 0.95,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw observed against predicted risk at a horizon, with confidence limits.

    A calibrated model lies on the diagonal. With one model, ticks along the lower edge show its
    predicted risks.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    risk : array-like of shape (n,), or dict of name to such an array
        Predicted probability of the event up to the horizon, of one or of several models.
    horizon : float
        Time at which to evaluate.
    event : int or None, default 1
        The event type; None for events of any type.
    bins : int, default 10
        Number of groups, cut at quantiles of the risk.
    level : float, default 0.95
        Confidence level of the limits.
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
    lifemix.metrics.calibration_curve : what is drawn.

    Examples
    --------
    >>> from lifemix import make_target, plots
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> ax = plots.calibration(y, [0.9, 0.7, 0.4, 0.2], horizon=2.0, bins=2, time_unit="years")
    >>> ax.get_xlabel()
    'predicted risk by 2 years'
    """
    models = named(risk)
    curves = {
        name: calibration_curve(y, values, horizon, event, bins=bins, level=level)
        for name, values in models.items()
    }
    axes = empty_axes(ax, 5.0, 5.0)
    largest = max(np.nanmax([*curve.predicted, *curve.upper]) for curve in curves.values())
    last = float(min(1.0, np.ceil(largest * 10 + 0.2) / 10))  # small risks fill the plot
    axes.plot([0, last], [0, last], color=GREY, linewidth=1, linestyle="--", zorder=1)
    for number, (name, curve) in enumerate(curves.items()):
        style: dict[str, Any] = {"color": PALETTE[number % len(PALETTE)]}
        axes.vlines(curve.predicted, curve.lower, curve.upper, alpha=0.45, linewidth=1.5, **style)
        label = name if len(models) > 1 else None
        style |= {"marker": "o", "markersize": 5, "linewidth": 1.2}
        axes.plot(curve.predicted, curve.observed, label=label, **style)
    if len(models) > 1:
        axes.legend(frameon=False, loc="lower right")
    else:  # predicted risks as ticks: an even selection by rank if there are many
        risks = np.sort(np.asarray(models.popitem()[1], dtype=np.float64))
        selection = np.linspace(0, len(risks) - 1, min(300, len(risks))).astype(np.intp)
        across = axes.get_xaxis_transform()
        style = {"color": "#444444", "alpha": 0.35, "linewidth": 0.6}
        axes.vlines(risks[selection], 0, 0.025, transform=across, **style)
    by = f"{horizon:g} {time_unit}" if time_unit else f"time {horizon:g}"
    axes.set(xlabel=f"predicted risk by {by}", ylabel=f"observed risk by {by}")
    axes.set(xlim=(0, last), ylim=(0, last), aspect="equal")
    return axes


def d_calibration(
    y: TargetLike,
    survival: ArrayLike,
    event: int | None = None,
    *,
    bins: int = 10,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the histogram of predicted survival at each subject's own time.

    For a calibrated model it is uniform. The grey band holds a bar of a calibrated model with
    probability ``level``, if nothing is censored. The title states the test of
    ``metrics.d_calibration``.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    survival : array-like of shape (n,)
        Predicted survival at the subject's own time, ``S_i(T_i)``.
    event : int, optional
        None for events of any type. With ``event=m`` other events count as censored, and survival
        is the net survival of m.
    bins : int, default 10
        Number of equal parts of [0, 1].
    level : float, default 0.95
        Probability of the band.
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    See Also
    --------
    lifemix.metrics.d_calibration : what is drawn, with the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, plots
    >>> time = np.linspace(0.1, 4.0, 40)
    >>> y = make_target(time, np.ones(40, dtype=int))
    >>> ax = plots.d_calibration(y, 1 - time / 4.1, bins=4)
    >>> ax.get_title("left")
    'chi-squared 0.0 on 3 degrees of freedom, p = 1.000'
    """
    result = metrics.d_calibration(y, survival, event, bins=bins)
    n_rows = float(result.counts.sum())
    axes = empty_axes(ax, 6.0, 3.8)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    axes.axhspan(
        *binom.ppf(tails, round(n_rows), 1 / bins) / n_rows, color=GREY, alpha=0.25, linewidth=0
    )
    axes.axhline(1 / bins, color="#555555", linestyle="--", linewidth=1)
    style: dict[str, Any] = {"color": PALETTE[0], "edgecolor": "white", "alpha": 0.85}
    left_edges = np.arange(bins) / bins
    axes.bar(left_edges, result.counts / n_rows, width=1 / bins, align="edge", **style)
    axes.set(
        xlim=(0, 1),
        xlabel="predicted survival at the subject's own time",
        ylabel="share of subjects",
    )
    p = "p < 0.001" if result.p_value < 1e-3 else f"p = {result.p_value:.3f}"
    title = f"chi-squared {result.statistic:.1f} on {bins - 1} degrees of freedom, {p}"
    axes.set_title(title, fontsize=10, loc="left")
    return axes
