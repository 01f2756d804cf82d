"""What stands around the network of a sequence: its summary joined with the last values, the time and the tables."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..histories import Block
from .tensors import VisitTensors, unpack

__all__ = ["Joined"]


class Joined(nn.Module):
    """From packed rows to features: ``tanh`` of a linear layer over all that is known at the landmark.

    summarise: one module per source of histories, from ``VisitTensors`` to ``[rows, summary]``.
    """

    starts_anew = True  # members of an ensemble draw weights of their own

    def __init__(
        self,
        blocks: Sequence[Block],
        summarise: nn.ModuleDict,
        n_summary: int,
        width: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.blocks, self.width = tuple(blocks), width
        self.summarise = summarise
        inputs = 0
        for block in self.blocks:
            inputs += n_summary + block.n_values + 2 if block.kind == "visits" else block.width
        self.join = nn.Linear(inputs, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features ``[rows, width]``."""
        parts = []
        for place, source in enumerate(unpack(self.blocks, x).values()):
            if isinstance(source, VisitTensors):
                summary = self.summarise[str(place)](source)
                parts += [self.dropout(summary), source.at_last(source.values), source.now]
            else:
                parts.append(source.flatten(1))
        return self.dropout(torch.tanh(self.join(torch.cat(parts, dim=1))))
