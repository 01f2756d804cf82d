"""The exponential function of many numbers, in place."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = ["exp_"]


def exp_(values: Tensor) -> Tensor:
    """Return ``exp`` of double precision numbers in their own memory.

    With AVX-512 numpy takes half of PyTorch's time on one thread; without, or on several threads, it takes more.
    """
    if torch.get_num_threads() > 1 or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return values.exp_()
    with np.errstate(all="ignore"):
        np.exp(values.numpy(), out=values.numpy())
    return values
