"""Data sets: each loader returns a ``Dataset``. Nothing is downloaded."""

from __future__ import annotations

from .base import Dataset, from_frame
from .bundled import load_ebmt, load_flchain, load_metabric, load_metabric_causes, load_support
from .seer import load_seer
from .synthetic import load_synthetic, make_synthetic

__all__ = [
    "Dataset",
    "from_frame",
    "load_ebmt",
    "load_flchain",
    "load_metabric",
    "load_metabric_causes",
    "load_seer",
    "load_support",
    "load_synthetic",
    "make_synthetic",
]
