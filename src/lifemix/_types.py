"""Types of arrays in annotations."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "Float32Array", "FloatArray", "IndexArray", "IntArray"]

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IndexArray: TypeAlias = NDArray[np.intp]
IntArray: TypeAlias = NDArray[np.int64]
