"""All parameters of a model in one row of numbers, of many models in one matrix ``[models, parameters]``.

The optimiser, snapshots of the best weights and checkpoints see the matrix; the network sees named views of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the parameters, in the order in which they stand in a row."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """The number of parameters of one model."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Return ``[models, *shape]`` views of ``[models, parameters]``, by name."""
        result, start = {}, 0
        for name, shape in self.shapes.items():
            end = start + math.prod(shape)
            result[name] = flat[:, start:end].view(flat.shape[0], *shape)
            start = end
        return result
