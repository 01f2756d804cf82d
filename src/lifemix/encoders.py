"""Encoders of histories: ``DeepSurvivalMachines(encoder=encoders.Recurrent(hidden=32))``.

An encoder holds settings only, so that it can be cloned, searched over (``encoder__hidden``) and
saved with the model. The model builds the network in ``fit``, when its inputs are known.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from sklearn.base import BaseEstimator
from torch import Tensor, nn
from torch.nn.functional import pad, relu, scaled_dot_product_attention

from .checks import Choice, Number, Rule, Whole, check_settings
from .errors import CovariateError, SettingError
from .histories import HEAD, TIME_FEATURES, Block
from .registry import register_model

__all__ = [
    "Attention",
    "Recurrent",
    "SequenceEncoder",
    "Unpacked",
    "VisitTensors",
    "redrawn",
    "unpack",
]

_CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}


@dataclass(frozen=True, eq=False)
class VisitTensors:
    """The visits of some subjects, padded behind the last one to the longest among them.

    Attributes
    ----------
    count : int64 tensor of shape (rows,)
        The number of visits.
    landmark : tensor of shape (rows, 2)
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
    landmark: Tensor
    steps: Tensor
    n_values: int

    @property
    def values(self) -> Tensor:
        """The values without times and marks."""
        return self.steps[..., TIME_FEATURES : TIME_FEATURES + self.n_values]

    @property
    def present(self) -> Tensor:
        """Which steps are visits, ``[rows, visits]``; the others are padding."""
        n_steps = self.steps.shape[1]
        index = torch.arange(n_steps, device=self.count.device)
        return index < self.count[:, None]

    def at_last(self, states: Tensor) -> Tensor:
        """Return the features of the last visit of each row; zero without visits.

        Parameters
        ----------
        states : tensor of shape (rows, visits, features)
            The features of each visit.

        Returns
        -------
        tensor of shape (rows, features)
            Of the last.
        """
        rows = torch.arange(len(states), device=states.device)
        at_last = states[rows, (self.count - 1).clamp(min=0)]
        has_visits = self.count > 0
        return at_last * has_visits[:, None]


def unpack(blocks: Sequence[Block], x: Tensor) -> dict[str, Tensor | VisitTensors]:
    """Return the sources of packed rows by name.

    Parameters
    ----------
    blocks : sequence of Block
        The position of each source.
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
    >>> blocks = Block("clinic", "table", (2,)), Block("image", "array", (1, 2))
    >>> unpack(blocks, torch.ones(3, 4))["image"].shape
    torch.Size([3, 1, 2])
    """
    sources: dict[str, Tensor | VisitTensors] = {}
    columns = x.split([block.width for block in blocks], dim=1)
    for block, values in zip(blocks, columns, strict=True):
        if block.kind != "visits":
            sources[block.name] = values.reshape(-1, *block.shape)
            continue
        count = values[:, 0].long()
        landmark = values[:, 1:HEAD]
        steps = values[:, HEAD:].reshape(-1, *block.shape)
        longest = max([1, *count.tolist()])  # padding behind costs time
        sources[block.name] = VisitTensors(count, landmark, steps[:, :longest], block.n_values)
    return sources


class Unpacked(nn.Module):
    """A module of the user that gets one unpacked source, or a dict of several.

    Parameters
    ----------
    module : nn.Module
        From an array ``[rows, ...]``, ``VisitTensors`` or a dict of these to ``[rows, features]``.
    blocks : sequence of Block
        The position of each source in the packed rows.

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
        argument = next(iter(sources.values())) if len(sources) == 1 else sources
        features: Tensor = self.module(argument)
        return features


class SequenceEncoder(BaseEstimator):  # type: ignore[misc]
    """Base class of encoders of histories; a subclass declares its settings and its network.

    A subclass is known by the name of its class, by which a saved model finds it again.

    Parameters
    ----------
    max_visits : int, optional
        The longest sequence; of a longer one the last visits are kept. None: the longest of the
        training rows.

    Examples
    --------
    >>> from lifemix.encoders import Recurrent, SequenceEncoder
    >>> isinstance(Recurrent(), SequenceEncoder)
    True
    """

    hidden: int
    dropout: float
    _rules: ClassVar[dict[str, Rule]] = {
        "hidden": Whole(1),
        "layers": Whole(1, most=100),
        "dropout": Number(0.0, 0.95),
        "max_visits": Whole(1, optional=True),
    }

    def __init__(self, max_visits: int | None = None) -> None:
        self.max_visits = max_visits

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register_model(cls)

    def check(self) -> None:
        """Raise a ``SettingError`` if a setting cannot be used."""
        check_settings(self)

    def build(self, blocks: Sequence[Block]) -> nn.Module:
        """Return the network for inputs with these sources; its weights come from a fixed seed.

        Parameters
        ----------
        blocks : sequence of Block
            The sources; at least one of them histories.

        Returns
        -------
        nn.Module
            From packed rows ``[rows, inputs]`` to ``[rows, width]``; its attribute ``width`` is the
            number of features.

        Raises
        ------
        CovariateError
            Where no source holds histories, or one is an array.
        """
        self.check()
        if not any(block.kind == "visits" for block in blocks):
            shapes = {block.name: ("n", *block.shape) for block in blocks}
            raise CovariateError(
                f"{type(self).__name__} encodes sequences: X must be a Histories, an array of "
                "shape (subjects, steps, columns), or a dict with one of them; got "
                f"{shapes}. For a table alone use hidden=(...)."
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            summaries = {
                str(index): self._summary(block.shape[1])
                for index, block in enumerate(blocks)
                if block.kind == "visits"
            }
            return _Joined(blocks, nn.ModuleDict(summaries), int(self.hidden), float(self.dropout))

    def _summary(self, n_features: int) -> nn.Module:
        """Return the network from ``VisitTensors`` to a summary ``[rows, hidden]``."""
        raise NotImplementedError


class _Joined(nn.Module):
    """``tanh`` of a linear layer of the summaries, the last values, the landmark and the tables.

    summaries: one module per source of histories, by its position, from ``VisitTensors`` to
    ``[rows, width]``.
    """

    def __init__(
        self, blocks: Sequence[Block], summaries: nn.ModuleDict, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.blocks, self.width = tuple(blocks), width
        self.summarise = summaries
        n_inputs = sum(
            width + block.n_values + 2 if block.kind == "visits" else block.width
            for block in blocks
        )
        self.join = nn.Linear(n_inputs, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features ``[rows, width]``."""
        inputs = []
        for index, source in enumerate(unpack(self.blocks, x).values()):
            if isinstance(source, VisitTensors):
                summary = self.dropout(self.summarise[str(index)](source))
                inputs += [summary, source.at_last(source.values), source.landmark]
            else:
                inputs.append(source.flatten(1))
        joined = self.join(torch.cat(inputs, dim=1))
        return self.dropout(torch.tanh(joined))


def redrawn(module: nn.Module, seed: int) -> nn.Module:
    """Return a copy of a module; one that ``lifemix.encoders`` built has new starting weights.

    Parameters
    ----------
    module : nn.Module
        One that an encoder of ``lifemix.encoders`` built draws its weights anew.
    seed : int
        Random seed.

    Returns
    -------
    nn.Module
        The copy.

    Examples
    --------
    >>> from lifemix.encoders import Recurrent, redrawn
    >>> from lifemix.histories import Block
    >>> network = Recurrent(hidden=4).build((Block("visits", "visits", (5, 3), n_values=1),))
    >>> first, second = redrawn(network, 1), redrawn(network, 2)
    >>> bool((first.join.weight == second.join.weight).any())
    False
    """
    copied = copy.deepcopy(module)
    if isinstance(copied, _Joined):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed % 2**63)
            for layer in copied.modules():
                reset: Any = getattr(layer, "reset_parameters", None)
                if callable(reset):
                    reset()
    return copied


class Recurrent(SequenceEncoder):
    """A recurrent network over the visits; its state at the last one summarises the history.

    The inputs of a step are the values of the visit (a missing one carried forward), marks of
    missing values, its time and the gap to the visit before. The state, the values of the last
    visit, the time at which the history is looked at and the tables beside it go through one layer
    of ``hidden`` units.

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
        The longest sequence; of a longer one the last visits are kept. None: the longest of the
        training rows.

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

    _rules: ClassVar[dict[str, Rule]] = SequenceEncoder._rules | {"cell": Choice(*_CELLS)}

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

    def _summary(self, n_features: int) -> nn.Module:
        return _LastState(self.cell, n_features, int(self.hidden), int(self.layers))


class _LastState(nn.Module):
    """The state of a recurrent network at the last visit; zero without visits."""

    def __init__(self, cell: str, n_features: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.network = _CELLS[cell](n_features, hidden, layers, batch_first=True)

    def forward(self, visits: VisitTensors) -> Tensor:
        """Return ``[rows, hidden]``."""
        states, _ = self.network(visits.steps)
        return visits.at_last(states)


class Attention(SequenceEncoder):
    """Attention between the visits; a learned token that attends to all summarises the history.

    The inputs of a visit are those of ``Recurrent``; its order is known by its time and the gap to
    the visit before. The token, the values of the last visit, the time at which the history is
    looked at and the tables beside it go through one layer of ``hidden`` units.

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
        The longest sequence; of a longer one the last visits are kept. None: the longest of the
        training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import DeepSurvivalMachines, encoders, make_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4, 2))  # subjects, steps, columns
    >>> y = make_target(rng.exponential(size=60), rng.integers(0, 2, 60))
    >>> encoder = encoders.Attention(hidden=8)
    >>> model = DeepSurvivalMachines(encoder=encoder, n_members=1, max_epochs=2).fit(X, y)
    >>> model.transform(X[:3]).shape
    (3, 8)
    """

    _rules: ClassVar[dict[str, Rule]] = SequenceEncoder._rules | {"heads": Whole(1)}

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
        """Raise a ``SettingError`` if a setting cannot be used."""
        super().check()
        if int(self.hidden) % int(self.heads):
            raise SettingError(
                f"heads must divide hidden; got heads={self.heads} and hidden={self.hidden}."
            )

    def _summary(self, n_features: int) -> nn.Module:
        return _Token(n_features, int(self.hidden), int(self.heads), int(self.layers))


class _Token(nn.Module):
    """A token before the visits, which attends to all of them and summarises them."""

    def __init__(self, n_features: int, hidden: int, heads: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Linear(n_features, hidden)
        self.start = nn.Linear(2, hidden)
        self.layers = nn.ModuleList([_AttentionLayer(hidden, heads) for _ in range(layers)])

    def forward(self, visits: VisitTensors) -> Tensor:
        """Return ``[rows, hidden]``; without visits the token attends to itself."""
        token = self.start(visits.landmark)[:, None]
        states = torch.cat([token, self.embed(visits.steps)], dim=1)
        present = pad(visits.present, (1, 0), value=True)[:, None, None]  # [rows, 1, 1, 1 + visits]
        for layer in self.layers:
            states = layer(states, present)
        return states[:, 0]


class _AttentionLayer(nn.Module):
    """Attention and a feed-forward network, with normalised inputs and residual connections."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(hidden)
        self.feedforward_norm = nn.LayerNorm(hidden)
        self.project = nn.Linear(hidden, 3 * hidden)
        self.merge = nn.Linear(hidden, hidden)
        self.widen = nn.Linear(hidden, 2 * hidden)
        self.narrow = nn.Linear(2 * hidden, hidden)

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        """Return the new states ``[rows, 1 + visits, hidden]``."""
        projected = self.project(self.attention_norm(states))
        projected = projected.unflatten(2, (3, self.heads, -1))
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # [rows, heads, 1 + visits, features]
        attended = scaled_dot_product_attention(query, key, value, attn_mask=present)
        attended = attended.transpose(1, 2).flatten(2)
        states = states + self.merge(attended)
        widened = relu(self.widen(self.feedforward_norm(states)))
        return states + self.narrow(widened)
