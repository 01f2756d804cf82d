"""The doctor: what is wrong, doubtful or worth knowing about a table before a fit, and about a model after it.

Both checks return plain sentences: what was seen, what it means, and what to do.
"""

from __future__ import annotations

from .findings import LEVELS, Finding
from .model import check_model
from .table import check_table

__all__ = ["LEVELS", "Finding", "check_model", "check_table"]
