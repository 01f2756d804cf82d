"""Data sets: each loader returns a ``Dataset``. Nothing is downloaded; a file is read when its loader is called."""

from __future__ import annotations

from .base import Dataset
from .ebmt import load_ebmt
from .flchain import load_flchain
from .frame import from_frame
from .metabric import load_metabric
from .metabric_causes import load_metabric_causes
from .seer import load_seer
from .support import load_support
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
