"""The encoder Phi: a multilayer perceptron with a leading model axis, many small networks in one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

__all__ = ["encode", "encoder_shapes", "uniform_start"]


def encoder_shapes(n_inputs: int, hidden: Sequence[int], bias: bool) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the encoder's parameters; no hidden layer, no parameter."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, (wide, narrow) in enumerate(zip([n_inputs, *hidden], hidden, strict=False)):
        shapes[f"encoder.{layer}.weight"] = (wide, narrow)
        if bias:
            shapes[f"encoder.{layer}.bias"] = (narrow,)
    return shapes


def encode(
    parameters: Mapping[str, Tensor],
    x: Tensor,
    activation: Callable[[Tensor], Tensor],
    masks: Sequence[Tensor] | None = None,
) -> Tensor:
    """Return the representation ``[models, rows, hidden[-1]]`` of inputs ``[models, rows, inputs]``.

    masks: for dropout, one per layer, 0 where a unit is left out and 1 / (share kept) elsewhere.
    """
    layer = 0
    while (weight := parameters.get(f"encoder.{layer}.weight")) is not None:
        bias = parameters.get(f"encoder.{layer}.bias")
        x = x @ weight if bias is None else torch.baddbmm(bias[:, None], x, weight)
        x = activation(x)
        if masks is not None:
            x = x * masks[layer]
        layer += 1
    return x


def uniform_start(shape: tuple[int, ...], fan_in: int, rng: np.random.Generator) -> Tensor:
    """Draw starting values uniformly from ``+- 1 / sqrt(fan_in)``, the habit of PyTorch's linear layers."""
    bound = 1 / np.sqrt(max(fan_in, 1))
    return torch.from_numpy(rng.uniform(-bound, bound, shape))
