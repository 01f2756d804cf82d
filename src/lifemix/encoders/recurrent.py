"""Recurrent networks over the visits of each subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from torch import Tensor, nn

from ..checks import Choice, Number, Rule, Whole
from ..histories import Block
from .declarations import SequenceEncoder
from .joined import Joined
from .tensors import VisitTensors

__all__ = ["Recurrent"]

_CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}


class Recurrent(SequenceEncoder):
    """A recurrent network reads the visits one after the other; its state at the last one summarises the history.

    The inputs of a step are the values of the visit (a missing one carried forward), marks of missing values, its time
    and the gap to the visit before. The state, the values of the last visit, the time at which the history is looked at
    and the tables beside it go through one layer of ``hidden`` units.

    Parameters
    ----------
    hidden : int, default 32
        Units of the recurrent network, and of the layer behind it.
    cell : {"gru", "lstm"}, default "gru"
        Gated recurrent units, or long short-term memory.
    layers : int, default 1
        Recurrent layers one above the other.
    dropout : float, default 0.5
        Dropout rate of the state and of the layer behind it.
    max_visits : int, optional
        The longest sequence; of a longer one the last visits are kept. None: the longest of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import DeepSurvivalMachines, encoders, make_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4, 2))  # subjects, steps, columns
    >>> y = make_target(rng.exponential(size=60), rng.integers(0, 2, 60))
    >>> model = DeepSurvivalMachines(encoder=encoders.Recurrent(hidden=4), max_epochs=2).fit(X, y)
    >>> model.predict_survival_function(X[:3], [1.0]).shape
    (3, 1)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "hidden": Whole(1),
        "cell": Choice(*_CELLS),
        "layers": Whole(1),
        "dropout": Number(0.0, 0.95),
        "max_visits": Whole(1, optional=True),
    }

    def __init__(
        self,
        hidden: int = 32,
        cell: str = "gru",
        layers: int = 1,
        dropout: float = 0.5,
        max_visits: int | None = None,
    ) -> None:
        super().__init__(max_visits)
        self.hidden = hidden
        self.cell = cell
        self.layers = layers
        self.dropout = dropout

    def _network(self, blocks: Sequence[Block]) -> nn.Module:
        of_visits = {
            str(place): _LastState(self.cell, block.shape[1], int(self.hidden), int(self.layers))
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


class _LastState(nn.Module):
    """The state of a recurrent network at the last visit; zero without visits."""

    def __init__(self, cell: str, n_features: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.network = _CELLS[cell](n_features, hidden, layers, batch_first=True)

    def forward(self, visits: VisitTensors) -> Tensor:
        """Return ``[rows, hidden]``."""
        states, _ = self.network(visits.steps)
        return visits.at_last(states)
