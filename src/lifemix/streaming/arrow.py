"""PyArrow, which reads the files: an optional package, imported when a source is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from ..errors import MissingExtraError

__all__ = ["Kind", "arrow", "kind_of"]

Kind = Literal["number", "label", "other"]


def arrow(module: str = "") -> Any:
    """Return PyArrow or one of its modules."""
    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise MissingExtraError("pyarrow", "tables", "reading a table from disk in blocks") from None


def kind_of(dtype: Any) -> Kind:
    """Tell what a column of an Arrow type holds: numbers (booleans are 0 and 1), labels, or neither."""
    types = arrow("types")
    if types.is_dictionary(dtype) or types.is_string(dtype) or types.is_large_string(dtype):
        return "label"
    if hasattr(types, "is_string_view") and types.is_string_view(dtype):
        return "label"
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return "number" if any(test(dtype) for test in tests) else "other"
