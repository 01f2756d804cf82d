"""Which primitives there are, by name."""

from __future__ import annotations

from ..errors import SettingError
from .base import LogLocationScale
from .log_logistic import LogLogistic
from .log_normal import LogNormal
from .weibull import Weibull

__all__ = ["PRIMITIVES", "primitive_class"]

PRIMITIVES: dict[str, type[LogLocationScale]] = {
    "weibull": Weibull,
    "lognormal": LogNormal,
    "loglogistic": LogLogistic,
}


def primitive_class(name: object) -> type[LogLocationScale]:
    """Return the primitive of this name; hyphens, underscores and case do not matter."""
    key = name.lower().replace("-", "").replace("_", "") if isinstance(name, str) else None
    if key not in PRIMITIVES:
        raise SettingError(f"unknown primitive; got {name!r}, expected one of {sorted(PRIMITIVES)}.")
    return PRIMITIVES[key]
