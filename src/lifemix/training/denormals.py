"""Numbers too small for the usual form of a float count as 0 in training: processors compute slowly with them.

A component that is no candidate for a row has a responsibility of exp(-100) or so, and its gradient is as small; in
the matrix products such numbers cost a tenth of a training step and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["without_denormals"]

_DENORMAL = 2.0**-1060


@contextmanager
def without_denormals() -> Iterator[None]:
    """Take denormal numbers as 0 inside, in this thread; what held before holds again after."""
    before = _flushed()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _flushed() -> bool:
    return float(torch.tensor(_DENORMAL, dtype=torch.float64).mul(1.0)) == 0.0
