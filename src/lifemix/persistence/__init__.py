"""One safe file for every fitted model: safetensors with a JSON header. Loading never runs code.

The header holds the format version, the class, its options and what was learned apart from arrays; the tensors are
weights, trees, curves, and counts of the training times and events, which ``score`` needs. A checksum over all of it
tells a damaged or altered file. What of a model is written is declared by its class: see ``lifemix.state``.
"""

from __future__ import annotations

from .files import FORMAT_VERSION
from .models import load, save

__all__ = ["FORMAT_VERSION", "load", "save"]
