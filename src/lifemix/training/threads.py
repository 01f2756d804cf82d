"""How many threads a step is worth: for small networks one, since handing out the work costs more than doing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["threads_for"]

_WORTH_SHARING = 2e8  # multiplications of one step


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """Compute with one thread inside where a step is small; the number that was set before comes back after."""
    before = torch.get_num_threads()
    if multiplications >= _WORTH_SHARING or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
