"""Warnings that point to the user's line, however deep inside the package or scikit-learn they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

from .errors import LifemixWarning

__all__ = ["warn_user"]

_PACKAGE = str(Path(__file__).parent)
_CALLERS = ("sklearn", "joblib")  # packages that call this one for the user


def warn_user(message: str) -> None:
    """Issue a ``LifemixWarning`` at the innermost line outside of this package, scikit-learn and joblib."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_library(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LifemixWarning, stacklevel=level)


def _is_library(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return package in _CALLERS or frame.f_code.co_filename.startswith(_PACKAGE)
