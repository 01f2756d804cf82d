"""Packages that only some baselines need, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingExtraError

__all__ = ["optional_module"]


def optional_module(module: str, package: str, purpose: str) -> Any:
    """Import a module of an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(package, "baselines", purpose) from error
