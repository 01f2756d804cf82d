"""The settings that follow from the table: what ``None`` means for some options of ``DeepSurvivalMachines``.

One network that is stopped by a few held-out rows is a matter of luck, so a small table gets many members and strong
dropout. With the rows luck matters less and time more: fewer members, less dropout, larger batches; with very many a
lower learning rate comes nearer to the truth. Networks with Tanh begin nearly linear, which is what few events can
tell, and are bounded far out: no row near or far is refused. The rule is the table below and nothing else;
`benchmarks/unseen` compares it with other models.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..encoders import SequenceEncoder
from ..network import resolve_activation
from ..target import Target
from .rounding import rounding_of

__all__ = ["AUTOMATIC", "ONE_NETWORK", "check_used", "choose", "resolved", "used", "with_used"]

ONE_NETWORK: Mapping[str, Any] = {
    "hidden": (100,),
    "activation": "relu6",
    "n_members": 1,
    "dropout": 0.0,
    "batch_size": 128,
    "learning_rate": 1e-3,
    "patience": 10,
    "rounding": 0.0,
}
"""The defaults of versions 0.1 and 0.2, whatever the table."""

AUTOMATIC = tuple(ONE_NETWORK)
"""The options that may be None."""

# up to so many rows: members, dropout, rows in a batch, learning rate, patience
_BY_ROWS = (
    (2_000, 16, 0.3, 256, 3e-3, 10),
    (5_000, 8, 0.3, 256, 3e-3, 10),
    (20_000, 3, 0.1, 256, 4e-3, 4),
    (100_000, 2, 0.0, 512, 2e-3, 4),
    (math.inf, 1, 0.0, 1024, 2e-3, 4),
)
_HIDDEN, _ACTIVATION = (50, 50), "tanh"
_OWN_LAYERS_ACTIVATION = "relu6"  # with layers that the user gave
_WIDE = 32
_USUAL_RATE = 1e-3  # with a batch size that the user gave
_SEQUENCE_MEMBERS = 8  # at most, of our own encoders of histories, whose members train one by one


def choose(
    n_rows: int, hidden: Sequence[int] | None = None, encoder: bool = False
) -> dict[str, Any]:
    """Return the settings for a number of training rows.

    hidden: the widths of layers that the user gave; narrow ones have no units to spare for dropout.
    encoder: whether the network has an encoder of the user's, whose members would train one after the other.
    """
    widths = _HIDDEN if hidden is None else tuple(hidden)
    wide = not encoder and len(widths) > 0 and min(widths) >= _WIDE
    members, dropout, batch_size, learning_rate, patience = next(
        row[1:] for row in _BY_ROWS if n_rows <= row[0]
    )
    return {
        "hidden": widths,
        "activation": _ACTIVATION if hidden is None else _OWN_LAYERS_ACTIVATION,
        "n_members": 1 if encoder else members,
        "dropout": dropout if wide else 0.0,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
        "rounding": 0.0,  # unless the times say otherwise
    }


def resolved(estimator: Any, n_rows: int, target: Target | None = None) -> Any:
    """Return the estimator, or where some of its options are None a copy with values in their place.

    target: that of training, for the rounding of its times; left out, they are taken to be exact.
    """
    if all(getattr(estimator, name) is not None for name in AUTOMATIC):
        return estimator
    chosen = choose(n_rows, estimator.hidden, estimator.encoder is not None)
    if isinstance(
        estimator.encoder, SequenceEncoder
    ):  # ours: the same rule, though members train one by one
        chosen["n_members"] = min(choose(n_rows)["n_members"], _SEQUENCE_MEMBERS)
    if estimator.batch_size is not None:
        chosen["learning_rate"] = _USUAL_RATE
    if estimator.rounding is None and estimator.t_max is None and target is not None:
        chosen["rounding"] = rounding_of(target)
    return _filled(estimator, chosen)


def with_used(estimator: Any) -> Any:
    """Return a fitted or loaded estimator with the settings that were used in place of None."""
    return _filled(estimator, getattr(estimator, "settings_", {}))


def _filled(estimator: Any, chosen: Mapping[str, Any]) -> Any:
    filled = copy.copy(estimator)
    for name in AUTOMATIC:
        if getattr(estimator, name) is None:
            setattr(filled, name, chosen[name])
    return filled


def used(estimator: Any) -> dict[str, Any]:
    """Return the settings of an estimator in which none is None, in JSON's types; a function by its name."""
    settings: dict[str, Any] = {
        "hidden": [int(width) for width in estimator.hidden],
        "activation": resolve_activation(estimator.activation).name,
    }
    settings |= {
        name: int(getattr(estimator, name)) for name in ("n_members", "batch_size", "patience")
    }
    settings |= {
        name: float(getattr(estimator, name)) for name in ("dropout", "learning_rate", "rounding")
    }
    return {name: settings[name] for name in AUTOMATIC}


def check_used(settings: Any, n_members: int) -> None:
    """Refuse, with a ``ValueError``, what a file has in place of the settings of a model."""
    if not isinstance(settings, dict) or set(settings) != set(AUTOMATIC):
        raise ValueError(f"settings_ must have {AUTOMATIC}; got {settings!r:.100}")
    hidden, activation = settings["hidden"], settings["activation"]
    if not isinstance(hidden, list) or not all(
        type(width) is int and 0 < width < 2**31 for width in hidden
    ):
        raise ValueError(f"hidden of settings_ must be widths; got {hidden!r:.100}")
    if not isinstance(activation, str):
        raise ValueError(f"activation of settings_ must be a name; got {activation!r:.100}")
    numbers = [settings[name] for name in AUTOMATIC[2:]]
    if settings["n_members"] != n_members or not all(
        type(value) in (int, float) for value in numbers
    ):
        raise ValueError(
            f"settings_ must be numbers, with {n_members} members; got {settings!r:.200}"
        )
