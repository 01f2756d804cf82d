"""The networks of DeepSurv and DeepHit: pycox's dense blocks, and how such a network is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

__all__ = ["DenseBlock", "DenseNetwork", "load_network"]

Network = TypeVar("Network", bound=nn.Module)


class DenseBlock(nn.Module):
    """A linear layer, its activation, batch normalisation and dropout; starting weights are He's, as in pycox."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Callable[[], nn.Module],
        batch_norm: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        nn.init.kaiming_normal_(self.linear.weight, nonlinearity="relu")
        self.activation = activation()
        self.batch_norm = nn.BatchNorm1d(outputs) if batch_norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.dropout(self.batch_norm(self.activation(self.linear(x))))
        return outputs


class DenseNetwork(nn.Module):
    """Dense blocks one after the other, and a linear layer to one number without a constant."""

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        activation: Callable[[], nn.Module],
        batch_norm: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        widths = [inputs, *hidden]
        pairs = zip(widths[:-1], widths[1:], strict=True)
        blocks = [
            DenseBlock(before, after, activation, batch_norm, dropout) for before, after in pairs
        ]
        self.hidden = nn.Sequential(*blocks)
        self.output = nn.Linear(widths[-1], 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.output(self.hidden(x))
        return outputs


def load_network(make: Callable[[], Network], n_layers: int, arrays: Any) -> Network:
    """Return the network of a model file, ready to predict.

    make: returns a network of the shape that the options of the model ask for. It is made without memory, and only if
    the file has at least one array per layer, so that forged options cannot ask for more memory than the file has.
    """
    if not isinstance(arrays, dict) or n_layers > len(arrays):
        raise ValueError("the weights of the network are missing")
    with torch.device("meta"):
        network = make()
    for name, expected in network.state_dict().items():
        weights = arrays[name]
        if (
            weights.dtype != expected.dtype
            or weights.shape != expected.shape
            or not weights.isfinite().all()
        ):
            raise ValueError(f"{name} must be finite numbers of shape {tuple(expected.shape)}")
    network.load_state_dict(arrays, assign=True)
    return network.eval()
