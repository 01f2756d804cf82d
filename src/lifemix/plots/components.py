"""The mixture of one subject: its components, each as large as its weight, and their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..checks import check_times
from ..errors import InputError, SettingError
from .inputs import Floats, check_curves, check_grid
from .style import colour, empty_axes, legend_beside, time_axis

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
    """Draw ``w_k f_k(t)`` (or ``w_k S_k(t)``) of each component of one subject's mixture, and in black their sum.

    times: (m,), rising; weights: (k,), summing to 1; curves: (k, m), as of ``component_curves``.
    show: how many components, those of largest weight, have a line of their own; of the others, as an ensemble has
    many, the sum is drawn in grey.
    """
    if quantity not in _LABELS:
        raise SettingError(f"quantity must be one of {', '.join(map(repr, _LABELS))}; got {quantity!r}.")
    grid = check_grid(times)
    shares = np.asarray(weights, dtype=np.float64)
    parts = check_curves(curves, len(grid), "curves")
    if shares.shape != (len(parts),) or not np.isclose(shares.sum(), 1, atol=1e-5) or (shares < 0).any():
        raise InputError(
            f"weights must be one a component, ({len(parts)},), and add up to 1; got shape {shares.shape} and sum "
            f"{shares.sum():.4g}. Take one subject's row."
        )
    scaled = shares[:, None] * parts
    axes = empty_axes(ax)
    order = np.argsort(-shares, kind="stable")
    for rank, k in enumerate(order[:show]):
        shade = colour(rank % 6)  # black is the mixture's
        axes.plot(grid, scaled[k], color=shade, linewidth=1.4, label=f"component {k + 1}: {shares[k]:.0%}")
        axes.fill_between(grid, 0, scaled[k], color=shade, alpha=0.12, linewidth=0)
    if len(others := order[show:]):
        label = f"{len(others)} others: {shares[others].sum():.0%}"
        axes.plot(grid, scaled[others].sum(axis=0), color="#888888", linewidth=1.4, label=label)
    axes.plot(grid, scaled.sum(axis=0), color="black", linewidth=2, label="mixture")
    time_axis(axes, float(grid[-1]), time_unit)
    axes.set_ylabel(_LABELS[quantity].format(unit=time_unit or "time"))
    axes.set_ylim(bottom=0)
    legend_beside(axes)
    return axes


def component_curves(
    law: Any, times: ArrayLike, row: int = 0, quantity: Literal["density", "survival"] = "density"
) -> tuple[Floats, Floats]:
    """Return the weights (k,) and the densities (or survival curves) (k, m) of the components of one row.

    law: ``model.predict_distribution(X)``, under competing risks ``.net(event)`` of it.
    times: (m,); for densities > 0.
    """
    import torch

    if quantity not in _LABELS:
        raise SettingError(f"quantity must be one of {', '.join(map(repr, _LABELS))}; got {quantity!r}.")
    if not hasattr(law, "components"):
        raise InputError(
            f"law must be the mixture of one kind of event; got {law!r}. Under competing risks: law.net(event)."
        )
    grid = check_times(times)
    if quantity == "density" and (grid <= 0).any():
        raise InputError("times must be > 0 for densities, which may be infinite at 0; got 0.")
    one = law[row]
    mixture = one.components.map(lambda values: values[0][:, None])
    ask = mixture.log_pdf if quantity == "density" else mixture.log_survival
    with torch.no_grad():
        curves = torch.exp(ask(torch.as_tensor(grid)[None])).double().numpy()
    weights = np.asarray(one.weights[0], dtype=np.float64)
    whole = (one.pdf if quantity == "density" else one.survival)(grid)[0]
    if not np.allclose(weights @ curves, whole, rtol=1e-4, atol=1e-12):
        raise InputError(
            "law must count from the origin: a law after given(s) is no plain mixture. Leave out given(s)."
        )
    return weights, curves
