"""Tables that do not fit in memory: read from disk in blocks, to fit, evaluate and predict."""

from __future__ import annotations

from .scoring import evaluate, write_predictions
from .source import TableSource

__all__ = ["TableSource", "evaluate", "write_predictions"]
