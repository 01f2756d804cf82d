"""Starting weights from a seed, without touching PyTorch's global generator."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

__all__ = ["redrawn"]


def redrawn(module: nn.Module, seed: int) -> nn.Module:
    """Return a copy of a module of ours with new starting weights; of any other module a plain copy.

    Parameters
    ----------
    module : nn.Module
        One that an encoder of ``lifemix.encoders`` built draws its weights anew.
    seed : int
        Random seed.

    Returns
    -------
    nn.Module
        The copy.

    Examples
    --------
    >>> from lifemix.encoders import Recurrent, redrawn
    >>> from lifemix.histories import Block
    >>> network = Recurrent(hidden=4).build((Block("visits", "visits", (5, 3), n_values=1),))
    >>> first, second = redrawn(network, 1), redrawn(network, 2)
    >>> bool((first.join.weight == second.join.weight).any())
    False
    """
    copied = copy.deepcopy(module)
    if getattr(copied, "starts_anew", False):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed % 2**63)
            for part in copied.modules():
                reset: Any = getattr(part, "reset_parameters", None)
                if callable(reset):
                    reset()
    return copied
