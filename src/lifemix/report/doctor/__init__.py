"""The doctor: checks of a table before a fit, and of a fitted model on held-out rows.

Both return plain sentences: what was found, what it means, and what to do.
"""

from __future__ import annotations

from .findings import LEVELS, Finding
from .model import check_model
from .table import check_table

__all__ = ["LEVELS", "Finding", "check_model", "check_table"]
