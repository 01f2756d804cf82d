"""Training history: loss on the training rows and on the validation rows by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import InputError
from ._axes import PALETTE, empty_axes, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["training_history"]

_LOSSES = {
    "train_loss": ("training rows", PALETTE[0]),
    "validation_loss": ("held-out rows", PALETTE[1]),
}


def training_history(
    history: Sequence[Mapping[str, Any]],
    best_epoch: Sequence[int] | int | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loss by epoch, one pair of lines per member of the ensemble.

    Parameters
    ----------
    history : sequence of mappings
        ``model.history_``: records with ``member``, ``epoch``, ``train_loss`` and
        ``validation_loss``.
    best_epoch : int or sequence of int, optional
        ``model.best_epoch_``, one per member; marked on the validation loss (without one, on the
        training loss).
    ax : matplotlib Axes, optional
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Examples
    --------
    >>> from lifemix import plots
    >>> history = [
    ...     {"member": 0, "epoch": 1, "train_loss": 2.0, "validation_loss": 2.1},
    ...     {"member": 0, "epoch": 2, "train_loss": 1.8, "validation_loss": 2.0},
    ... ]
    >>> ax = plots.training_history(history, best_epoch=2)
    >>> ax.get_xlabel()
    'epoch'
    """
    table = pd.DataFrame(list(history))
    missing = {"epoch", "train_loss"} - set(table.columns)
    if missing:
        raise InputError(
            "history must be model.history_, records with epoch and train_loss; "
            f"{sorted(missing)} missing."
        )
    table = table.assign(member=table.get("member", 0)).astype({"train_loss": float})
    axes = empty_axes(ax)
    for kind, (label, colour) in _LOSSES.items():
        if kind not in table or table[kind].isna().all():
            continue
        last_kind = kind
        for number, (_, rows) in enumerate(table.groupby("member")):
            name = label if number == 0 else None
            losses = rows[kind].astype(float)
            axes.plot(rows["epoch"], losses, color=colour, linewidth=1.4, alpha=0.85, label=name)
    if best_epoch is not None:
        members, epochs = sorted(table["member"].unique()), np.atleast_1d(best_epoch).tolist()
        if len(epochs) != len(members):
            raise InputError(
                f"best_epoch must have one epoch per member, {len(members)} in all; "
                f"got {len(epochs)}."
            )
        best = pd.DataFrame({"member": members, "epoch": epochs}).merge(table)
        style: dict[str, Any] = {"color": "black", "markersize": 5, "zorder": 5}
        axes.plot(best["epoch"], best[last_kind], "o", label="kept epoch", **style)
    axes.set(xlabel="epoch", ylabel="loss (mean over rows)")
    axes.locator_params(axis="x", integer=True)
    legend_beside(axes)
    return axes
