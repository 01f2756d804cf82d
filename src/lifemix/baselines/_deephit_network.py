"""The network of DeepHit and what its losses compare."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._types import FloatArray, IntArray
from ..network import ActivationModule
from ..target import Target
from ._dense import DenseBlock

__all__ = ["DeepHitNetwork", "intervals", "pairs"]


class DeepHitNetwork(nn.Module):
    """Inputs (n, features) to scores (n, n_events, intervals)."""

    def __init__(self, settings: Any, features: int, n_events: int, n_times: int) -> None:
        super().__init__()
        options = {
            "batch_norm": settings.batch_norm,
            "dropout": settings.dropout,
            "activation": partial(ActivationModule, settings.activation),
        }

        def layers(inputs: int, nodes: int, count: int) -> nn.Sequential:
            return nn.Sequential(
                *[DenseBlock(inputs if i == 0 else nodes, nodes, **options) for i in range(count)]
            )

        self.shared = layers(features, settings.shared_nodes, settings.shared_layers)
        joined = settings.shared_nodes + features
        self.causes = nn.ModuleList(
            layers(joined, settings.cause_nodes, settings.cause_layers) for _ in range(n_events)
        )
        self.outputs = nn.ModuleList(
            nn.Linear(settings.cause_nodes, n_times) for _ in range(n_events)
        )

    def hidden(self, x: Tensor) -> Tensor:
        """Return the last hidden layer of each cause-specific network, (n, n_events, cause_nodes)."""
        joined = torch.cat([self.shared(x), x], dim=1)
        return torch.stack([cause(joined) for cause in self.causes], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.hidden(x)
        return torch.stack([output(hidden[:, m]) for m, output in enumerate(self.outputs)], dim=1)


def pairs(index: Tensor, event: Tensor) -> Tensor:
    """Return 1 where row i had an event and row j was still free of events then, else 0; shape (n, n)."""
    earlier = index[:, None] < index[None, :]
    outlived = (index[:, None] == index[None, :]) & (event[None, :] == 0)
    return ((earlier | outlived) & (event[:, None] > 0)).float()


def intervals(grid: FloatArray, target: Target) -> IntArray:
    """Return for each event the interval it fell in, for each censored row the last one survived (none: -1)."""
    happened = np.searchsorted(grid, target.time, side="left")
    survived = np.searchsorted(grid, target.time, side="right") - 1
    return np.where(target.event > 0, happened, survived).astype(np.int64)
