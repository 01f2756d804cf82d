"""The encoder of a model: one of ours is built, one of the user's is copied, and checked on a few rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..encoders import SequenceEncoder, Unpacked
from ..errors import CovariateError, SettingError
from ..histories import ArrayRows, Block, Histories, Sources

__all__ = ["check_encoder_inputs", "copy_encoder", "make_encoder"]


def check_encoder_inputs(encoder: Any, X: Any) -> None:
    """Refuse inputs that the encoder, or a model without one, cannot take."""
    is_table = not isinstance(X, (Histories, Sources, ArrayRows))
    if encoder is None and not is_table:
        raise CovariateError(
            f"without an encoder X must be a table of two dimensions; got {X!r}. Use encoder=encoders.Recurrent(), "
            "or histories.last(), the last visit as a table."
        )
    if isinstance(encoder, SequenceEncoder) and is_table:
        shape = tuple(getattr(X, "shape", ()))
        raise CovariateError(
            f"{type(encoder).__name__} encodes sequences: X must be a Histories, an array of shape (subjects, steps, "
            f"columns), or a dict with one of them; got {type(X).__name__} of shape {shape}. For a table alone use "
            "hidden=(...) in place of encoder."
        )


def make_encoder(
    encoder: Any, example: Tensor, blocks: Sequence[Block] | None
) -> tuple[nn.Module, int]:
    """Return the network of an encoder and its number of output features.

    blocks: where each source stands in a row of the inputs; None where X is a table.
    """
    if isinstance(encoder, SequenceEncoder):
        module = encoder.build(blocks or ())
        return module, int(module.width)  # type: ignore[arg-type]
    return copy_encoder(encoder if blocks is None else Unpacked(encoder, blocks), example)


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
        if isinstance(encoder, Unpacked):
            shapes = {block.name: ["rows", *block.shape] for block in encoder.blocks}
            raise SettingError(
                f"encoder must take inputs of shape {shapes}, one source as it is, several as a dict; got "
                f"{type(error).__name__}: {error}. Change its first layer."
            ) from error
        raise SettingError(
            f"encoder must take inputs of shape [rows, {example.shape[1]}], as many columns as the preprocessor gives; "
            f"got {type(error).__name__}: {error}. Change its first layer (nn.LazyLinear finds the number by itself)."
        ) from error
    shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
    if (
        not isinstance(features, Tensor)
        or features.dim() != 2
        or len(features) != len(example)
        or not features.numel()
    ):
        raise SettingError(
            f"encoder must give one row of features per row, shape [{len(example)}, width]; got {shape}. "
            "Flatten its output, or pick the part of it to use."
        )
    return module, int(features.shape[1])
