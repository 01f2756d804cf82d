"""A user-supplied encoder: copied, and checked on a few rows, before the network is built."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ..errors import SettingError

__all__ = ["copy_encoder"]


@torch.no_grad()
def copy_encoder(encoder: nn.Module, example: Tensor) -> tuple[nn.Module, int]:
    """Return a float32 copy of the encoder and its number of output features for ``example`` ``[rows, inputs]``.

    The copy is trained; the user's module stays unchanged. Lazy layers are initialised from a fixed seed.
    """
    module = copy.deepcopy(encoder).float().cpu().eval()
    try:
        with torch.random.fork_rng(devices=[]):  # lazy layers draw their starting weights now
            torch.set_rng_state(torch.Generator().manual_seed(0).get_state())
            features = module(example)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise SettingError(
            f"encoder must take inputs of shape [rows, {example.shape[1]}], as many columns as the preprocessor gives; "
            f"got {type(error).__name__}: {error}. Change its first layer (nn.LazyLinear finds the number by itself)."
        ) from error
    shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
    if not isinstance(features, Tensor) or features.dim() != 2 or len(features) != len(example) or not features.numel():
        raise SettingError(
            f"encoder must give one row of features per row, shape [{len(example)}, width]; got {shape}. "
            "Flatten its output, or pick the part of it to use."
        )
    return module, int(features.shape[1])
