"""The distributions that a mixture is made of. A new one is one file and one line here."""

from __future__ import annotations

from .base import LogLocationScale, Primitive
from .log_logistic import LogLogistic
from .log_normal import LogNormal
from .mixture import Mixture
from .registry import PRIMITIVES, primitive_class
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
