"""From tables to numbers: imputation, encoding and scaling, learned from the training rows."""

from __future__ import annotations

from collections.abc import Mapping

from ..start_stop import start_stop
from .sequences import SequencePreprocessor
from .tabular import (
    Passthrough,
    TableData,
    TableLike,
    TabularPreprocessor,
    apply_preprocessor,
    learn_preprocessor,
    shape_of,
)

__all__ = [
    "SUPPORT_NORMAL_VALUES",
    "Passthrough",
    "SequencePreprocessor",
    "TableData",
    "TableLike",
    "TabularPreprocessor",
    "apply_preprocessor",
    "learn_preprocessor",
    "shape_of",
    "start_stop",
]

SUPPORT_NORMAL_VALUES: Mapping[str, float] = {
    "alb": 3.5,
    "pafi": 333.3,
    "bili": 1.01,
    "crea": 1.01,
    "bun": 6.51,
    "wblc": 9.0,
    "urine": 2502.0,
}
"""The values by which the paper (appendix on missing data) imputes these seven measurements of
SUPPORT."""
