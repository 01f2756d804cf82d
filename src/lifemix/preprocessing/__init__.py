"""Tables into numbers: imputation, coding and scaling with the statistics of the training rows."""

from __future__ import annotations

from collections.abc import Mapping

from .choice import Passthrough, apply_preprocessor, learn_preprocessor, shape_of
from .tabular import TabularPreprocessor

__all__ = [
    "SUPPORT_NORMAL_VALUES",
    "Passthrough",
    "TabularPreprocessor",
    "apply_preprocessor",
    "learn_preprocessor",
    "shape_of",
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
"""What the paper (appendix on missing data) puts where these seven measurements of SUPPORT are missing."""
