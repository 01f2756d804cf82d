"""The extensions of the files that commands read and write."""

from __future__ import annotations

__all__ = ["MODELS", "PAGES", "TABLES"]

TABLES = (".csv", ".tsv", ".parquet", ".pq", ".csv.gz", ".tsv.gz")
MODELS = (".safetensors",)
PAGES = (".html", ".htm")
