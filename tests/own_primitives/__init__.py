"""Primitives as somebody who extends lifemix would write them, one per file; importing this registers them."""

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
    return family(*(log_precision + 0.4 * place for place in range(len(family.parameter_names())))).rescaled(location)
