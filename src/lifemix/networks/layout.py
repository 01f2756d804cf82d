"""Where the parameters of a model, or of many, stand in memory.

A model is a row of numbers, ``[parameters]``: what is kept, saved and applied. A fleet in training is one vector in
which every parameter of all its models stands together, ``[models, *shape]`` after ``[models, *shape]``: each is
contiguous for the matrix products, and the optimiser sees one long vector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the parameters, in the order in which they stand."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """The number of parameters of one model."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def views(self, rows: Tensor) -> dict[str, Tensor]:
        """Return the parameters of models in rows, ``[models, parameters]``, by name: ``[models, *shape]``."""
        parts = rows.split([math.prod(shape) for shape in self.shapes.values()], dim=1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.unflatten(1, shape) for (name, shape), part in named}

    def blocks(self, flat: Tensor, n_models: int) -> dict[str, Tensor]:
        """Return the parameters of a fleet in one vector, by name: contiguous ``[models, *shape]``."""
        parts = flat.split([n_models * math.prod(shape) for shape in self.shapes.values()])
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(n_models, *shape) for (name, shape), part in named}

    def pack(self, rows: Tensor) -> Tensor:
        """Return the vector of a fleet from the rows of its models."""
        return torch.cat([view.flatten() for view in self.views(rows).values()])

    def unpack(self, flat: Tensor, n_models: int) -> Tensor:
        """Return the rows of the models from the vector of their fleet."""
        return torch.cat(
            [block.flatten(1) for block in self.blocks(flat, n_models).values()], dim=1
        )
