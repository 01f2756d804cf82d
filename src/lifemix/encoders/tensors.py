"""The sources of a packed row as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..histories import Block
from ..histories.blocks import HEAD, TIME_FEATURES

__all__ = ["Unpacked", "VisitTensors", "unpack"]


@dataclass(frozen=True, eq=False)
class VisitTensors:
    """The visits of some subjects, padded behind the last one to the longest among them.

    Attributes
    ----------
    count : int64 tensor of shape (rows,)
        The number of visits.
    now : tensor of shape (rows, 2)
        The time at which the history is looked at, and the time since the last visit, both scaled.
    steps : tensor of shape (rows, visits, features)
        Time, gap, values and marks of missing values of each visit; zero behind the last.
    n_values : int
        How many of the features are values: ``values`` are these alone, ``[rows, visits, values]``.

    Examples
    --------
    >>> import torch
    >>> from lifemix.encoders import unpack
    >>> from lifemix.histories import Block
    >>> row = torch.tensor([[1.0, 0.5, 0.0, 0.5, 0.0, 7.0, 0.0, 0.0, 0.0]])
    >>> unpack((Block("visits", "visits", (2, 3), n_values=1),), row)["visits"].values
    tensor([[[7.]]])
    """

    count: Tensor
    now: Tensor
    steps: Tensor
    n_values: int

    @property
    def values(self) -> Tensor:
        """The values alone."""
        return self.steps[..., TIME_FEATURES : TIME_FEATURES + self.n_values]

    @property
    def present(self) -> Tensor:
        """Which places hold a visit, ``[rows, visits]``."""
        return torch.arange(self.steps.shape[1], device=self.count.device) < self.count[:, None]

    def at_last(self, states: Tensor) -> Tensor:
        """Return what belongs to the last visit of each row; zero where there is none.

        Parameters
        ----------
        states : tensor of shape (rows, visits, features)
            What belongs to each visit.

        Returns
        -------
        tensor of shape (rows, features)
            Of the last.
        """
        place = (self.count - 1).clamp(min=0)[:, None, None].expand(-1, 1, states.shape[2])
        return states.gather(1, place)[:, 0] * (self.count > 0)[:, None]


def unpack(blocks: Sequence[Block], x: Tensor) -> dict[str, Tensor | VisitTensors]:
    """Return the sources of packed rows by name.

    Parameters
    ----------
    blocks : sequence of Block
        Where each source stands.
    x : tensor of shape (rows, inputs)
        The packed rows.

    Returns
    -------
    dict
        Of a table or an array a tensor, of histories ``VisitTensors``.

    Examples
    --------
    >>> import torch
    >>> from lifemix.encoders import unpack
    >>> from lifemix.histories import Block
    >>> unpack((Block("clinic", "table", (2,)), Block("image", "array", (1, 2))), torch.ones(3, 4))["image"].shape
    torch.Size([3, 1, 2])
    """
    found: dict[str, Tensor | VisitTensors] = {}
    for block, part in zip(blocks, x.split([block.width for block in blocks], dim=1), strict=True):
        found[block.name] = (
            _visits(block, part)
            if block.kind == "visits"
            else part.reshape(len(part), *block.shape)
        )
    return found


def _visits(block: Block, part: Tensor) -> VisitTensors:
    count = part[:, 0].long()
    longest = max(1, int(count.max())) if len(count) else 1  # zeros behind it would only cost time
    steps = part[:, HEAD:].reshape(len(part), *block.shape)[:, :longest]
    return VisitTensors(count, part[:, 1:HEAD], steps, block.n_values)


class Unpacked(nn.Module):
    """A module of the user's that gets its source as it is, or a dict of several.

    Parameters
    ----------
    module : nn.Module
        From an array ``[rows, ...]``, ``VisitTensors`` or a dict of these to ``[rows, features]``.
    blocks : sequence of Block
        Where each source stands in the packed rows.

    Examples
    --------
    >>> import torch
    >>> from lifemix.encoders import Unpacked
    >>> from lifemix.histories import Block
    >>> Unpacked(torch.nn.Flatten(), [Block("image", "array", (2, 3))])(torch.zeros(4, 6)).shape
    torch.Size([4, 6])
    """

    def __init__(self, module: nn.Module, blocks: Sequence[Block]) -> None:
        super().__init__()
        self.module, self.blocks = module, tuple(blocks)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of packed rows.

        Parameters
        ----------
        x : tensor of shape (rows, inputs)
            The packed rows.

        Returns
        -------
        tensor of shape (rows, features)
            What the module gives.
        """
        sources = unpack(self.blocks, x)
        features: Tensor = self.module(
            next(iter(sources.values())) if len(sources) == 1 else sources
        )
        return features
