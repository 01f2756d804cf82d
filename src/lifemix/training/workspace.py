"""Memory that the training step of a fleet uses again and again."""

from __future__ import annotations

import torch
from torch import Tensor

from ..network import Activation, Architecture
from .gradients import Parameters

__all__ = ["Workspace"]


class Workspace:
    """Memory for a batch of all models, and the views of the parameters and their slopes that a step needs."""

    def __init__(
        self, values: Parameters, slopes: Parameters, architecture: Architecture, x: Tensor
    ) -> None:
        self.values, self.slopes, self.shape = values, slopes, x.shape
        self._encoder(len(architecture.hidden), x, architecture.encoder_activation)
        self._heads(x, architecture.family.location_index(), architecture.act)

    def _encoder(self, depth: int, x: Tensor, activation: Activation) -> None:
        n_models, n_rows, _ = x.shape
        values, slopes = self.values.blocks, self.slopes.blocks
        self.weights = [values[f"encoder.{layer}.weight"] for layer in range(depth)]
        self.weights_across = [weight.transpose(1, 2) for weight in self.weights]
        self.weight_slopes = [slopes[f"encoder.{layer}.weight"] for layer in range(depth)]
        with_bias = "encoder.0.bias" in values
        self.biases = [
            values[f"encoder.{layer}.bias"][:, None] if with_bias else None
            for layer in range(depth)
        ]
        self.bias_slopes = [
            slopes[f"encoder.{layer}.bias"] if with_bias else None for layer in range(depth)
        ]
        self.active = [x.new_empty(n_models, n_rows, weight.shape[2]) for weight in self.weights]
        # What the derivative of the activation is told from: its value, or a copy of what went into it.
        self.kept = (
            [torch.empty_like(active) for active in self.active]
            if activation.keeps_input
            else self.active
        )
        self.dropped = [torch.empty_like(active) for active in self.active]
        self.by_active = [torch.empty_like(active) for active in self.active]

    def _heads(self, x: Tensor, location_at: int | None, act: Activation) -> None:
        n_models, n_rows, _ = x.shape
        values, slopes = self.values.blocks, self.slopes.blocks
        self.heads, self.head_slopes = values["heads"], slopes["heads"]
        self.base, self.base_slopes = (
            values["base"],
            slopes["base"],
        )  # [models, events, parameters, k]
        self.base_rows = self.base[..., None]
        self.gate_bias = values["gate_bias"][..., None] if "gate_bias" in values else None
        self.gate_bias_slopes = slopes.get("gate_bias")
        _, n_events, n_parameters, k = self.base.shape
        parts, mixture = (
            (n_models, n_events, 1 + n_parameters, k, n_rows),
            (n_models, n_events, k, n_rows),
        )
        self.out, by_out = (
            x.new_empty(n_models, n_events * (1 + n_parameters) * k, n_rows),
            x.new_empty(parts),
        )
        self.logits, self.shifts = self.out.view(parts)[:, :, 0], self.out.view(parts)[:, :, 1:]
        self.shifts_kept = torch.empty_like(self.shifts) if act.keeps_input else self.shifts
        self.by_out, self.by_rows = (
            by_out.view_as(self.out),
            by_out.view_as(self.out).transpose(1, 2),
        )
        self.by_logits, self.by_parameters = by_out[:, :, 0], by_out[:, :, 1:]
        self.parameters = x.new_empty(n_models, n_events, n_parameters, k, n_rows)
        self.mixing = x.new_empty(2, *mixture)
        self.joint, self.gate = self.mixing
        self.from_centre = torch.empty_like(self.base)
        at = 0 if location_at is None else location_at
        self.location, self.by_location = self.parameters[:, :, at], self.by_parameters[:, :, at]
        self.location_base, self.location_shift = self.base_rows[:, :, at], self.shifts[:, :, at]
        self.location_base_slopes = self.base_slopes[:, :, at]
