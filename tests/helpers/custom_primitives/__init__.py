"""Primitives as somebody who extends lifemix would write them, one per file; importing this registers them."""

import lifemix.primitives as built_in
from lifemix.primitives import LogLocationScale

from .burr import Burr
from .exponential import Exponential
from .gompertz import Gompertz
from .inverse_weibull import InverseWeibull

__all__ = ["Burr", "Exponential", "Gompertz", "InverseWeibull", "members"]


def members(family, location, log_precision):
    """Return members of any family at these places: of these precisions, or of shapes that depend on them."""
    if issubclass(family, LogLocationScale):
        return family.from_location(location, log_precision)
    if family is built_in.Gompertz:  # of a positive rate of aging: tests of its own have the others
        return family(log_precision, log_precision.exp()).rescaled(location)
    if family is built_in.GeneralisedGamma:
        return family(location, -log_precision, log_precision / 2 - 0.3)
    if family is built_in.Spline:
        slopes = (log_precision + bend for bend in (0.0, 0.4, -0.3, 0.1, 0.5))
        knots = (
            place * (-log_precision).exp().clamp(0.05, 5.0) for place in (-2.0, -1.0, 0.0, 0.4, 1.0)
        )
        return family(0.2 * log_precision, *slopes, *knots).rescaled(location)
    return family(
        *(log_precision + 0.4 * place for place in range(len(family.parameter_names())))
    ).rescaled(location)
