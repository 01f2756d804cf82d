"""Warnings that point to the user's line, however deep inside the package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from .errors import LifemixWarning

__all__ = ["warn_user"]

_PACKAGE = str(Path(__file__).parent)


def warn_user(message: str) -> None:
    """Give a ``LifemixWarning`` at the first line outside of the package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LifemixWarning, stacklevel=level)
