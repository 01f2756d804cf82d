"""Pages about a fitted model, one self-contained HTML file each, and the doctor, who checks tables and models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calculator import write_calculator
    from .doctor import check_model, check_table
    from .page import write_report

__all__ = ["check_model", "check_table", "write_calculator", "write_report"]

_HOMES = {
    "check_model": ".doctor",
    "check_table": ".doctor",
    "write_calculator": ".calculator",
    "write_report": ".page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return list(__all__)
