"""The distributions that a mixture is made of. A new one is one file in this folder; nothing else names it."""

from __future__ import annotations

from .base import Primitive
from .log_location_scale import LogLocationScale
from .log_logistic import LogLogistic
from .log_normal import LogNormal
from .mixture import Mixture
from .registry import PRIMITIVES, discover, primitive_class
from .weibull import Weibull

__all__ = [
    "PRIMITIVES",
    "LogLocationScale",
    "LogLogistic",
    "LogNormal",
    "Mixture",
    "Primitive",
    "Weibull",
    "primitive_class",
]

discover(__name__, __path__)
