"""The mixture of one subject: its components, scaled by their weights, and their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..checks import Choice, check_times
from ..errors import InputError
from ._axes import GREY, PALETTE, check_curves, check_grid, empty_axes, legend_beside, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["component_curves", "mixture_components"]

_LABELS = {"density": "density (1/{unit})", "survival": "weight x survival"}


def mixture_components(
    times: ArrayLike,
    weights: ArrayLike,
    curves: ArrayLike,
    *,
    quantity: Literal["density", "survival"] = "density",
    show: int = 6,
    time_unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the components ``w_k f_k(t)`` of one subject's mixture, and in black their sum.

    Parameters
    ----------
    times : array-like of shape (m,)
        Increasing times.
    weights : array-like of shape (k,)
        The weights of the components; they sum to 1.
    curves : array-like of shape (k, m)
        Densities or survival curves of the components, as ``component_curves`` returns them.
    quantity : {"density", "survival"}, default "density"
        What ``curves`` hold.
    show : int, default 6
        How many components, those of largest weight, have a line of their own. The sum of the
        others (an ensemble has many components) is drawn in grey.
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
    component_curves : the arguments, from a predicted distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import plots
    >>> times = np.array([0.5, 1.0, 2.0])
    >>> densities = np.stack([np.exp(-times), 0.5 * np.exp(-0.5 * times)])
    >>> ax = plots.mixture_components(times, [0.3, 0.7], densities)
    >>> [line.get_label() for line in ax.lines]
    ['component 2: 70%', 'component 1: 30%', 'mixture']
    """
    Choice(*_LABELS)("quantity", quantity)
    grid = check_grid(times)
    component_values = check_curves(curves, len(grid), "curves")
    shares = np.asarray(weights, dtype=np.float64)
    if (
        shares.shape != (len(component_values),)
        or not np.isclose(shares.sum(), 1, atol=1e-5)
        or (shares < 0).any()
    ):
        raise InputError(
            f"weights must be one per component, ({len(component_values)},), and add up to 1; "
            f"got shape {shares.shape} and sum {shares.sum():.4g}. Take one subject's row."
        )
    scaled = shares[:, None] * component_values
    axes = empty_axes(ax)
    by_weight = np.argsort(-shares, kind="stable")
    for rank, k in enumerate(by_weight[:show]):
        colour = PALETTE[rank % 6]  # the mixture is black
        label = f"component {k + 1}: {shares[k]:.0%}"
        axes.plot(grid, scaled[k], color=colour, linewidth=1.4, label=label)
        axes.fill_between(grid, 0, scaled[k], color=colour, alpha=0.12, linewidth=0)
    small = by_weight[show:]
    if len(small):
        label = f"{len(small)} others: {shares[small].sum():.0%}"
        axes.plot(grid, scaled[small].sum(axis=0), color=GREY, linewidth=1.4, label=label)
    axes.plot(grid, scaled.sum(axis=0), color="black", linewidth=2, label="mixture")
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel(_LABELS[quantity].format(unit=time_unit or "time"))
    axes.set_ylim(bottom=0)
    legend_beside(axes)
    return axes


def component_curves(
    distribution: Any,
    times: ArrayLike,
    row: int = 0,
    quantity: Literal["density", "survival"] = "density",
) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the densities (or survival curves) of the components of one row.

    Parameters
    ----------
    distribution : MixtureDistribution
        ``model.predict_distribution(X)``; under competing risks its ``net(event)``.
    times : array-like of shape (m,)
        Times; for densities > 0.
    row : int, default 0
        Which row of the distribution.
    quantity : {"density", "survival"}, default "density"
        What to compute.

    Returns
    -------
    weights : array of shape (k,)
        The weights of the components.
    curves : array of shape (k, m)
        Their densities or survival curves.

    Raises
    ------
    InputError
        For the distribution of several event types, and for one conditioned by ``given(s)``, which
        is no plain mixture.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import DeepSurvivalMachines, make_target, plots
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2))
    >>> y = make_target(rng.exponential(np.exp(X[:, 0])), np.ones(50, dtype=int))
    >>> model = DeepSurvivalMachines(k=3, hidden=(), n_members=1, max_epochs=2).fit(X, y)
    >>> distribution = model.predict_distribution(X)
    >>> weights, densities = plots.component_curves(distribution, [0.5, 1.0], row=7)
    >>> weights.shape, densities.shape
    ((3,), (3, 2))
    """
    import torch

    Choice(*_LABELS)("quantity", quantity)
    if not hasattr(distribution, "components"):
        raise InputError(
            f"distribution must be the mixture of one event type; got {distribution!r}. Under "
            "competing risks give distribution.net(event)."
        )
    grid = check_times(times)
    if quantity == "density" and (grid <= 0).any():
        raise InputError("times must be > 0 for densities, which may be infinite at 0; got 0.")
    subject = distribution[row]
    components = subject.components.map(lambda parameter: parameter[0][:, None])
    log_curve = components.log_pdf if quantity == "density" else components.log_survival
    with torch.no_grad():
        curves = torch.exp(log_curve(torch.as_tensor(grid)[None])).double().numpy()
    weights = np.asarray(subject.weights[0], dtype=np.float64)
    mixture = (subject.pdf if quantity == "density" else subject.survival)(grid)[0]
    if not np.allclose(weights @ curves, mixture, rtol=1e-4, atol=1e-12):
        raise InputError(
            "distribution must count from the origin: after given(s) it is no plain mixture. "
            "Leave out given(s)."
        )
    return weights, curves
