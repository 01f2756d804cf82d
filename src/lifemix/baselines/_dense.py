"""The networks of DeepSurv and DeepHit: pycox's dense blocks, and how such a network is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..state import Reader, Writer, malformed

__all__ = ["DenseBlock", "DenseNetwork", "ModuleState"]


class DenseBlock(nn.Module):
    """A linear layer, its activation, batch normalisation and dropout; starting weights are He's, as in pycox."""

    def __init__(
        self, inputs: int, outputs: int, activation: Callable[[], nn.Module], batch_norm: bool, dropout: float
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
        blocks = [DenseBlock(before, after, activation, batch_norm, dropout) for before, after in pairs]
        self.hidden = nn.Sequential(*blocks)
        self.output = nn.Linear(widths[-1], 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.output(self.hidden(x))
        return outputs


class ModuleState:
    """A trained network: its numbers by name. ``make`` returns a network of that shape for a model and its inputs.

    ``layers`` tells how many layers the model's options ask for: a file with fewer arrays is refused before they are
    made. The network is made without memory first, so that forged options cannot ask for more than the file holds.
    """

    def __init__(self, make: Callable[[Any, int], nn.Module], layers: Callable[[Any], int]) -> None:
        self.make, self.layers = make, layers

    def write(self, value: Any, writer: Writer, place: str) -> Any:
        """Return the names of the arrays."""
        state: dict[str, Tensor] = value.state_dict()
        return {name: writer.array(tensor.numpy(force=True), f"{place}.{name}") for name, tensor in state.items()}

    def read(self, saved: object, reader: Reader, place: str) -> nn.Module:
        """Return the network, ready to predict."""
        if not isinstance(saved, dict) or self.layers(reader.owner) > len(saved):
            raise malformed(place, "one array for each number of the network", saved)
        with torch.device("meta"):
            network = self.make(reader.owner, reader.sizes["inputs"])
        expected: dict[str, Tensor] = network.state_dict()
        if set(saved) != set(expected):
            raise malformed(place, f"arrays for {sorted(expected)}", sorted(saved))
        tensors = {}
        for name, tensor in expected.items():
            dtype = str(tensor.dtype).removeprefix("torch.")
            array = reader.array(saved[name], f"{place}.{name}", dtype, tuple(tensor.shape))
            if not np.isfinite(array).all():
                raise malformed(f"{place}.{name}", "finite", "another number")
            tensors[name] = torch.from_numpy(array)
        network.load_state_dict(tensors, assign=True)
        return network.eval()
