"""Random choices that depend on a row or subject alone, not on the order or the place in which it is read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["unit_hash"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def unit_hash(keys: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return for each key a number in [0, 1) that looks uniform: the mixing function of SplitMix64."""
    with np.errstate(over="ignore"):
        x = keys.astype(np.int64).view(np.uint64) + _GOLDEN * np.uint64(2 * (seed % 2**62) + 1)
        for _ in range(2):  # twice, so that neighbouring seeds give unrelated numbers
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53
