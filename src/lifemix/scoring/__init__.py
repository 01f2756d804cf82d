"""Scoring by batches: one function for the engines that hand out a large table in parts (Spark, Ray, Dask, ...).

A batch goes in and a table of predictions comes out, with the columns of ``lifemix predict``, one row per row.
"""

from __future__ import annotations

from .columns import predicted_columns
from .scorer import Scorer

__all__ = ["Scorer", "predicted_columns"]
