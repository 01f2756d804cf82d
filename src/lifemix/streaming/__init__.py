"""Tables that do not fit in memory: read from disk in blocks, to fit, evaluate and predict."""

from __future__ import annotations

from .source import TableSource

__all__ = ["TableSource"]
