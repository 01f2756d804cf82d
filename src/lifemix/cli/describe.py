"""``lifemix describe``: what a model's file holds."""

from __future__ import annotations

from .files import check_model
from .options import Model
from .screen import Screen

__all__ = ["describe"]


def describe(screen: Screen, model: Model) -> None:
    """Show what a model's file holds: columns, events, settings, quality."""
    check_model(model)
    from .describing import run_describe

    run_describe(screen, model)
