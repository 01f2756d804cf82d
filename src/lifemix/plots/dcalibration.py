"""D-calibration as a histogram: how many subjects had their event in each tenth of their own predicted distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from ..metrics import d_calibration as test_of_calibration
from ..target import TargetLike
from .style import PALETTE, empty_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["d_calibration"]


def d_calibration(
    y: TargetLike,
    survival: ArrayLike,
    event: int | None = None,
    *,
    bins: int = 10,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the histogram of predicted survival at each subject's own time; for a calibrated model it is uniform.

    The grey band holds a bar of a calibrated model with probability ``level``, if nothing is censored. The title states
    the test of ``metrics.d_calibration``.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    survival : array-like of shape (n,)
        Predicted survival at the subject's own time, ``S_i(T_i)``.
    event : int, optional
        None for events of any type. With ``event=m`` other events count as censored, and survival is the net survival
        of m.
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
    result = test_of_calibration(y, survival, event, bins=bins)
    n = float(result.counts.sum())
    axes = empty_axes(ax, 6.0, 3.8)
    low, high = (binom.ppf(q, round(n), 1 / bins) / n for q in ((1 - level) / 2, (1 + level) / 2))
    axes.axhspan(low, high, color="#888888", alpha=0.25, linewidth=0)
    axes.axhline(1 / bins, color="#555555", linestyle="--", linewidth=1)
    left = np.arange(bins) / bins
    axes.bar(
        left,
        result.counts / n,
        width=1 / bins,
        align="edge",
        color=PALETTE[0],
        edgecolor="white",
        alpha=0.85,
    )
    axes.set(
        xlim=(0, 1),
        xlabel="predicted survival at the subject's own time",
        ylabel="share of subjects",
    )
    p = "p < 0.001" if result.p_value < 1e-3 else f"p = {result.p_value:.3f}"
    axes.set_title(
        f"chi-squared {result.statistic:.1f} on {bins - 1} degrees of freedom, {p}",
        fontsize=10,
        loc="left",
    )
    return axes
