"""The settings that follow from the table: what ``None`` means for some options of ``DeepSurvivalMachines``.

One network that is stopped by a few held-out rows is a matter of luck, so a small table gets many members and strong
dropout. With the rows luck matters less and time more: fewer members, less dropout, larger batches at a higher learning
rate. The rule is the table below and nothing else; `benchmarks/unseen` compares it with others.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..encoders import SequenceEncoder

__all__ = ["AUTOMATIC", "ONE_NETWORK", "check_used", "choose", "resolved", "used"]

AUTOMATIC = ("n_members", "dropout", "batch_size", "learning_rate")
"""The options that may be None."""

ONE_NETWORK: Mapping[str, Any] = {"n_members": 1, "dropout": 0.0, "batch_size": 128, "learning_rate": 1e-3}
"""The defaults of versions 0.1 and 0.2, whatever the table."""

# up to so many rows: members, dropout, rows in a batch, learning rate
_BY_ROWS = (
    (5_000, 8, 0.5, 256, 3e-3),
    (20_000, 4, 0.25, 512, 4e-3),
    (100_000, 2, 0.0, 1024, 4e-3),
    (math.inf, 1, 0.0, 1024, 4e-3),
)
_WIDE = 32
_USUAL_RATE = 1e-3  # with a batch size that the user gave


def choose(n_rows: int, hidden: Sequence[int] = (100,), encoder: bool = False) -> dict[str, Any]:
    """Return the settings for a number of training rows.

    hidden: the widths of the layers; narrow ones have no units to spare for dropout.
    encoder: whether the network has an encoder of the user's, whose members would train one after the other.
    """
    wide = not encoder and len(hidden) > 0 and min(hidden) >= _WIDE
    members, dropout, batch_size, learning_rate = next(row[1:] for row in _BY_ROWS if n_rows <= row[0])
    return {
        "n_members": 1 if encoder else members,
        "dropout": dropout if wide else 0.0,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
    }


def resolved(estimator: Any, n_rows: int) -> Any:
    """Return the estimator, or where some of its options are None a copy with numbers in their place."""
    if all(getattr(estimator, name) is not None for name in AUTOMATIC):
        return estimator
    chosen = choose(n_rows, tuple(estimator.hidden), estimator.encoder is not None)
    if isinstance(estimator.encoder, SequenceEncoder):  # ours: the same rule, though members train one by one
        chosen["n_members"] = choose(n_rows)["n_members"]
    if estimator.batch_size is not None:
        chosen["learning_rate"] = _USUAL_RATE
    filled = copy.copy(estimator)
    for name in AUTOMATIC:
        if getattr(estimator, name) is None:
            setattr(filled, name, chosen[name])
    return filled


def used(estimator: Any) -> dict[str, float]:
    """Return the settings of an estimator in which none is None, as plain numbers."""
    whole = {name: int(getattr(estimator, name)) for name in ("n_members", "batch_size")}
    return whole | {name: float(getattr(estimator, name)) for name in ("dropout", "learning_rate")}


def check_used(settings: Any, n_members: int) -> None:
    """Refuse, with a ``ValueError``, what a file has in place of the settings of a model."""
    if not isinstance(settings, dict) or set(settings) != set(AUTOMATIC):
        raise ValueError(f"settings_ must have {AUTOMATIC}; got {settings!r:.100}")
    if settings["n_members"] != n_members or not all(type(value) in (int, float) for value in settings.values()):
        raise ValueError(f"settings_ must be numbers, with {n_members} members; got {settings!r:.200}")
