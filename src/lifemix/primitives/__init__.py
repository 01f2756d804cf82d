"""The distributions that a mixture is made of, one family a file."""

from __future__ import annotations

from .base import PRIMITIVES, Primitive, primitive_class
from .burr import Burr
from .cumulative_hazard import CumulativeHazard
from .exponential import Exponential
from .generalised_gamma import Gamma, GeneralisedGamma
from .gompertz import Gompertz
from .log_location_scale import LogLocationScale
from .log_logistic import LogLogistic
from .log_normal import LogNormal
from .mixture import Mixture
from .power_generalised_weibull import PowerGeneralisedWeibull
from .spline import Spline
from .weibull import Weibull

__all__ = [
    "PRIMITIVES",
    "Burr",
    "CumulativeHazard",
    "Exponential",
    "Gamma",
    "GeneralisedGamma",
    "Gompertz",
    "LogLocationScale",
    "LogLogistic",
    "LogNormal",
    "Mixture",
    "PowerGeneralisedWeibull",
    "Primitive",
    "Spline",
    "Weibull",
    "primitive_class",
]
