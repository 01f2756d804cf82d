"""The model report: one self-contained page about a fitted model and how good it is on rows it has not seen."""

from .page import write_report

__all__ = ["write_report"]
