"""A fitted model as a program of PyTorch alone, for places where lifemix is not installed."""

from __future__ import annotations

from .survival import export_survival

__all__ = ["export_survival"]
