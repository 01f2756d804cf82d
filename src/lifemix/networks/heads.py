"""The heads: from the representation to the gate and the parameters of every component of every event type.

The paper: ``z ~ softmax(Phi(x)' w)``, ``beta_k = base + act(Phi(x)' zeta)``, ``eta_k = base + act(Phi(x)' xi)``, with
the additions on the log scale (the log-normal's eta, mu, is shifted itself), and minus for plus where the architecture
says so. Here every parameter of the primitive has a head, in the order in which the primitive declares them: for the
Weibull its shape eta by xi, then its scale beta by zeta; for the log-normal mu, which is eta, by xi, then sigma, which
is beta, by zeta. The gate's w and all of these, of all events, are one matrix, so one product serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

__all__ = ["gate_and_parameters", "head_shapes"]


def head_shapes(
    width: int, n_events: int, n_parameters: int, k: int, bias: bool, n_fixed: int = 0
) -> dict[str, tuple[int, ...]]:
    """Return names and shapes; ``heads`` holds the gate's and the parameters' of every event, ``base`` base values.

    ``fixed`` holds parameters of the components that are not trained.
    """
    shapes: dict[str, tuple[int, ...]] = {"heads": (n_events * (1 + n_parameters) * k, width)}
    if bias:
        shapes["gate_bias"] = (n_events, k)
    shapes["base"] = (n_events, n_parameters, k)
    if n_fixed:
        shapes["fixed"] = (n_events, n_fixed, k)
    return shapes


def gate_and_parameters(
    parameters: Mapping[str, Tensor],
    representation: Tensor,
    act: Callable[[Tensor], Tensor],
    signs: tuple[float, ...],
    closed: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Return log weights and the primitive's parameters, each ``[models, rows, events, k]``; signs: of the shifts.

    closed: ``[events, k]``, true for places without a component, whose weight is 0.
    """
    base = parameters["base"]  # [models, events, parameters, k]
    _, n_events, n_parameters, k = base.shape
    out = (representation @ parameters["heads"].transpose(1, 2)).unflatten(
        -1, (n_events, 1 + n_parameters, k)
    )
    logits = out[..., 0, :]
    if "gate_bias" in parameters:
        logits = logits + parameters["gate_bias"][:, None]
    if closed is not None:
        logits = logits.masked_fill(closed, -torch.inf)
    shifts = act(out[..., 1:, :])
    shifted = [base[:, None, :, i] + sign * shifts[..., i, :] for i, sign in enumerate(signs)]
    if "fixed" in parameters:
        shifted += [
            one.expand_as(logits) for one in parameters["fixed"].detach()[:, None].unbind(3)
        ]
    return torch.log_softmax(logits, dim=-1), *shifted
