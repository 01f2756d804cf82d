"""``LifeMix``: the model to use when nothing is known about a table."""

from __future__ import annotations

from .model import LifeMix

__all__ = ["LifeMix"]
