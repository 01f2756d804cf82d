"""Encoders for histories: declare one in a word, ``DeepSurvivalMachines(encoder=encoders.Recurrent(hidden=32))``.

A declaration holds settings only, so that it can be cloned, searched over (``encoder__hidden``) and saved with the
model; the network is built when the model is fitted and its inputs are known.
"""

from __future__ import annotations

from .attention import Attention
from .declarations import SequenceEncoder, encoder_named
from .recurrent import Recurrent
from .start import redrawn
from .tensors import Unpacked, VisitTensors, unpack

__all__ = [
    "Attention",
    "Recurrent",
    "SequenceEncoder",
    "Unpacked",
    "VisitTensors",
    "encoder_named",
    "redrawn",
    "unpack",
]
