"""The doctor: checks of a table before a fit, and of a fitted model on held-out rows."""

from __future__ import annotations

from .finding import SEVERITIES, Finding
from .model import check_model
from .table import check_table

__all__ = ["SEVERITIES", "Finding", "check_model", "check_table"]
