"""The heads: from the representation to the gate and the two parameters of every component of every event.

The paper: ``z ~ softmax(Phi(x)' w)``, ``beta_k = base + act(Phi(x)' zeta)``, ``eta_k = base + act(Phi(x)' xi)``, with
the additions on the log scale, and minus for plus where the architecture says so. All of w, zeta and xi of all events
are one matrix, so one product serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

__all__ = ["gate_and_parameters", "head_shapes"]


def head_shapes(width: int, n_events: int, k: int, bias: bool) -> dict[str, tuple[int, ...]]:
    """Return names and shapes; ``heads`` holds w, zeta, xi of every event, ``base`` the two base values."""
    shapes: dict[str, tuple[int, ...]] = {"heads": (n_events * 3 * k, width)}
    if bias:
        shapes["gate_bias"] = (n_events, k)
    shapes["base"] = (n_events, 2, k)
    return shapes


def gate_and_parameters(
    parameters: Mapping[str, Tensor],
    representation: Tensor,
    act: Callable[[Tensor], Tensor],
    signs: tuple[float, float],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return log weights and the two parameters, each ``[models, rows, events, k]``; signs: of the two shifts."""
    base = parameters["base"]  # [models, events, 2, k]
    n_events, k = base.shape[1], base.shape[3]
    out = (representation @ parameters["heads"].transpose(1, 2)).unflatten(-1, (n_events, 3, k))
    logits = out[..., 0, :]
    if "gate_bias" in parameters:
        logits = logits + parameters["gate_bias"][:, None]
    shifts = act(out[..., 1:, :])
    first, second = (base[:, None, :, i] + sign * shifts[..., i, :] for i, sign in enumerate(signs))
    return torch.log_softmax(logits, dim=-1), first, second
