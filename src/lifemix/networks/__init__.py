"""The networks: an encoder and heads whose parameters have a leading model axis."""

from __future__ import annotations

from .heads import gate_and_parameters, head_shapes
from .layout import Layout
from .mlp import ACTIVATIONS, activation_function, encode, encoder_shapes, uniform_start

__all__ = [
    "ACTIVATIONS",
    "Layout",
    "activation_function",
    "encode",
    "encoder_shapes",
    "gate_and_parameters",
    "head_shapes",
    "uniform_start",
]
