"""Attention over the visits of each subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention

from ..checks import Number, Rule, Whole
from ..errors import SettingError
from ..histories import Block
from .declarations import SequenceEncoder
from .joined import Joined
from .tensors import VisitTensors

__all__ = ["Attention"]


class Attention(SequenceEncoder):
    """Visits attend to each other and to the present; a learned token that sees all of them summarises the history.

    The inputs of a visit are those of ``Recurrent``; its order is known by its time and the gap to the visit before.
    The token, the values of the last visit, the time at which the history is looked at and the tables beside it go
    through one layer of ``hidden`` units.

    Parameters
    ----------
    hidden : int, default 32
        Width of the embedding of a visit, and of the layer behind.
    heads : int, default 4
        Attention heads; they divide ``hidden``.
    layers : int, default 1
        Layers of attention one above the other.
    dropout : float, default 0.5
        Dropout rate of the summary and of the layer behind it.
    max_visits : int, optional
        The longest sequence; of a longer one the last visits are kept. None: the longest of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import DeepSurvivalMachines, encoders, make_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4, 2))  # subjects, steps, columns
    >>> y = make_target(rng.exponential(size=60), rng.integers(0, 2, 60))
    >>> model = DeepSurvivalMachines(encoder=encoders.Attention(hidden=8), n_members=1, max_epochs=2).fit(X, y)
    >>> model.transform(X[:3]).shape
    (3, 8)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "hidden": Whole(1),
        "heads": Whole(1),
        "layers": Whole(1),
        "dropout": Number(0.0, 0.95),
        "max_visits": Whole(1, optional=True),
    }

    def __init__(
        self,
        hidden: int = 32,
        heads: int = 4,
        layers: int = 1,
        dropout: float = 0.5,
        max_visits: int | None = None,
    ) -> None:
        super().__init__(max_visits)
        self.hidden = hidden
        self.heads = heads
        self.layers = layers
        self.dropout = dropout

    def check(self) -> None:
        """Raise a ``SettingError`` where a setting cannot be used."""
        super().check()
        if int(self.hidden) % int(self.heads):
            raise SettingError(
                f"heads must divide hidden; got heads={self.heads} and hidden={self.hidden}."
            )

    def _network(self, blocks: Sequence[Block]) -> nn.Module:
        of_visits = {
            str(place): _Token(block.shape[1], int(self.hidden), int(self.heads), int(self.layers))
            for place, block in enumerate(blocks)
            if block.kind == "visits"
        }
        return Joined(
            blocks,
            nn.ModuleDict(of_visits),
            int(self.hidden),
            int(self.hidden),
            float(self.dropout),
        )


class _Token(nn.Module):
    """The summary of the visits in a token that stands before them."""

    def __init__(self, n_features: int, hidden: int, heads: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Linear(n_features, hidden)
        self.now = nn.Linear(2, hidden)
        self.layers = nn.ModuleList([_Layer(hidden, heads) for _ in range(layers)])

    def forward(self, visits: VisitTensors) -> Tensor:
        """Return ``[rows, hidden]``; the token itself is always there to attend to, also without visits."""
        states = torch.cat([self.now(visits.now)[:, None], self.embed(visits.steps)], dim=1)
        present = nn.functional.pad(visits.present, (1, 0), value=True)[
            :, None, None
        ]  # [rows, 1, 1, places]
        for layer in self.layers:
            states = layer(states, present)
        return states[:, 0]


class _Layer(nn.Module):
    """Attention and a feed-forward network, each normalised before and added to what came in."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.project, self.merge = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.widen, self.narrow = nn.Linear(hidden, 2 * hidden), nn.Linear(2 * hidden, hidden)

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        """Return the new states ``[rows, places, hidden]``."""
        rows, places, hidden = states.shape
        parts = self.project(self.before(states)).view(
            rows, places, 3, self.heads, hidden // self.heads
        )
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # [rows, heads, places, hidden of a head]
        seen = scaled_dot_product_attention(query, key, value, attn_mask=present)
        states = states + self.merge(seen.transpose(1, 2).reshape(rows, places, hidden))
        return states + self.narrow(relu(self.widen(self.between(states))))
