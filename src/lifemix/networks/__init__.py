"""The networks: an encoder and heads whose parameters have a leading model axis."""

from __future__ import annotations

from .activations import ACTIVATIONS, Activation, activation_module, resolve_activation
from .heads import gate_and_parameters, head_shapes
from .layout import Layout
from .mlp import encode, encoder_shapes, uniform_start

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Layout",
    "activation_module",
    "encode",
    "encoder_shapes",
    "gate_and_parameters",
    "head_shapes",
    "resolve_activation",
    "uniform_start",
]
