"""DeepHit: the probability of each event type in each of a grid of intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from .._types import FloatArray
from ..checks import Choice, Number, Whole
from ..registry import register_model
from ..target import Target
from .base import DiscreteTimeModel, interval_ends
from .networks import NetworkModel, dense_layers

__all__ = ["DEEPHIT_PAPER", "DeepHit", "deephit_loss"]

_SETTINGS = (
    "shared_layers",
    "shared_nodes",
    "cause_layers",
    "cause_nodes",
    "activation",
    "alpha",
)
DEEPHIT_PAPER: Mapping[str, Mapping[str, Any]] = {
    "support": dict(zip(_SETTINGS, (3, 100, 3, 300, "elu", 0.1), strict=True)),
    "metabric": dict(zip(_SETTINGS, (3, 100, 1, 100, "tanh", 5.0), strict=True)),
    "synthetic": dict(zip(_SETTINGS, (3, 300, 2, 50, "elu", 0.1), strict=True)),
    "seer": dict(zip(_SETTINGS, (1, 100, 2, 50, "elu", 0.5), strict=True)),
}
"""What the paper's search chose for each data set (its table of DeepHit's hyperparameters)."""

_PAIR_ROWS = 1024  # rows of which the ranking loss compares all pairs
_LAYERS = Whole(1, most=100)


def log_probabilities(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities of the event in each interval, like the scores, and of none.

    scores: ``[n_rows, n_events, n_intervals]``; the score of no event on the grid is 0.
    """
    flat = torch.cat([scores.flatten(1), scores.new_zeros(len(scores), 1)], 1).log_softmax(1)
    return flat[:, :-1].view_as(scores), flat[:, -1]


def deephit_loss(
    scores: Tensor, interval: Tensor, event: Tensor, alpha: float, sigma: float
) -> Tensor:
    """Return ``(likelihood loss + alpha * ranking loss) / (1 + alpha)``, a mean over the rows.

    interval: of the event, or for a censored row the last one that it survived. The ranking loss is
    ``exp((F(t_i | x_j) - F(t_i | x_i)) / sigma)`` for every i with an event, F the incidence of its
    type, and every j without an event until then.
    """
    rows = torch.arange(len(scores))
    cause = (event - 1).clamp(min=0)
    log_mass, log_none = log_probabilities(scores)
    is_survived = torch.arange(scores.shape[2]) <= interval[:, None]
    log_later = log_mass.masked_fill(is_survived[:, None], -torch.inf).flatten(1)
    log_survival = torch.cat([log_later, log_none[:, None]], 1).logsumexp(1)
    log_likelihood = torch.where(event > 0, log_mass[rows, cause, interval], log_survival)
    # Row j in the column of row i, at the time and for the event type of i.
    incidence = log_mass.exp().cumsum(2)[:, cause, interval]
    is_later = (interval[:, None] > interval) | (
        (interval[:, None] == interval) & (event[:, None] == 0)
    )
    is_pair = is_later & (event > 0)
    excess = (incidence - incidence.diagonal()) / sigma
    ranking = excess.masked_fill(~is_pair, -torch.inf).exp()
    return (alpha * ranking.mean() - log_likelihood.mean()) / (1.0 + alpha)


class DeepHitNetwork(nn.Module):
    """Inputs ``[n_rows, n_inputs]`` to scores ``[n_rows, n_events, n_intervals]``."""

    def __init__(self, n_inputs: int, n_events: int, n_intervals: int, model: DeepHit) -> None:
        super().__init__()
        shared = model.shared_nodes
        cause = model.cause_nodes
        self.shared = dense_layers(n_inputs, [shared] * model.shared_layers, model)
        self.causes = nn.ModuleList(
            dense_layers(shared + n_inputs, [cause] * model.cause_layers, model)
            for _ in range(n_events)
        )
        self.outputs = nn.ModuleList(nn.Linear(cause, n_intervals) for _ in range(n_events))

    def hidden(self, x: Tensor) -> Tensor:
        """Return the last hidden layer of every cause, ``[n_rows, n_events, cause_nodes]``."""
        joined = torch.cat([self.shared(x), x], 1)
        return torch.stack([cause(joined) for cause in self.causes], 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores."""
        layers = zip(self.outputs, self.hidden(x).unbind(1), strict=True)
        return torch.stack([output(hidden) for output, hidden in layers], 1)


@register_model
@dataclass(eq=False, repr=False)
class DeepHit(NetworkModel, DiscreteTimeModel):
    """DeepHit: a softmax over interval and event type, by a shared network and one per event type.

    The last outcome of the softmax is no event on the grid. Within an interval events are uniform
    in time: incidences are linear between grid points, 0 at time 0 and constant after the last
    point. The loss is ``(likelihood loss + alpha * ranking loss) / (1 + alpha)``. An event counts in
    the interval ``(c, c']`` that contains it; a censored row has survived the last grid point up to
    its time, and is ignored if there is none.

    Parameters
    ----------
    shared_layers : int, default 1
        Number of layers of the shared network.
    shared_nodes : int, default 100
        Their width.
    cause_layers : int, default 1
        Number of layers of each cause-specific network, which takes the shared output and x.
    cause_nodes : int, default 100
        Their width.
    activation : {"relu", "elu", "selu", "tanh", ...}, default "relu"
        Activation function of the hidden layers.
    alpha : float, default 0.5
        Weight of the ranking loss relative to the likelihood, as in the paper.
    sigma : float, default 0.1
        Scale of the ranking loss.
    n_times : int, default 50
        Number of intervals, which end at quantiles of the event times.
    dropout : float, default 0.1
        Dropout rate in each hidden layer.
    batch_norm : bool, default True
        Batch normalisation in each hidden layer.
    weight_decay : float, default 0.0
        Decoupled weight decay of all weights (AdamW).
    learning_rate : float, default 0.001
        Learning rate of Adam; in epoch e it is ``learning_rate / (1 + decay e)``.
    decay : float, default 0.0
        Decay of the learning rate.
    batch_size : int or None, default 256
        Rows per step; None: all of them.
    max_epochs : int, default 512
        Maximum number of epochs.
    patience : int, default 10
        Epochs without a better validation loss after which training stops.
    validation_fraction : float, default 0.2
        Share of the rows in the validation part.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : "auto", None or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales ``X``; None takes it as it is.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network.
    history_ : list of float
        Validation loss of each epoch.
    grid_ : float array of shape (n_intervals,)
        The ends of the intervals.

    References
    ----------
    Lee, Zame, Yoon and van der Schaar (2018). DeepHit: a deep learning approach to survival analysis with competing
    risks. Proceedings of the AAAI Conference on Artificial Intelligence 32. https://doi.org/10.1609/aaai.v32i1.11842

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import DeepHit
    >>> data = datasets.make_synthetic(300)
    >>> model = DeepHit(shared_nodes=8, cause_nodes=8, n_times=5, max_epochs=2).fit(data.X, data.y)
    >>> model.predict_cumulative_incidence(data.X[:2], [5.0, 10.0], event=2).shape
    (2, 2)
    """

    _rules = {
        "shared_layers": _LAYERS,
        "shared_nodes": Whole(1),
        "cause_layers": _LAYERS,
        "cause_nodes": Whole(1),
        "alpha": Number(above=0.0),
        "sigma": Number(above=0.0),
        "n_times": Whole(1),
        **NetworkModel._rules,
    }

    shared_layers: int = 1
    shared_nodes: int = 100
    cause_layers: int = 1
    cause_nodes: int = 100
    alpha: float = 0.5
    sigma: float = 0.1
    n_times: int = 50
    learning_rate: float = field(default=1e-3, kw_only=True)

    @classmethod
    def paper(cls, dataset: str, **settings: Any) -> Self:
        """Return the model with the settings that the paper's search chose for a data set.

        Parameters
        ----------
        dataset : {"support", "metabric", "synthetic", "seer"}
            The data set.
        **settings : object
            Options that replace or add to the paper's.

        Returns
        -------
        DeepHit
            Not fitted.
        """
        Choice(*DEEPHIT_PAPER)("dataset", dataset)
        return cls(**{**DEEPHIT_PAPER[dataset], **settings})

    def _new_network(self, n_inputs: int) -> DeepHitNetwork:
        return DeepHitNetwork(n_inputs, self.n_events_, len(self.grid_), self)

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        self.grid_ = interval_ends(target, self.n_times)
        at_event = np.searchsorted(self.grid_, target.time, side="left")
        survived = np.searchsorted(self.grid_, target.time, side="right") - 1
        interval = np.where(target.event > 0, at_event, survived)
        informative = np.flatnonzero(interval >= 0)
        target = target.take(informative)
        inputs = torch.tensor(x[informative], dtype=torch.float32)
        intervals = torch.from_numpy(interval[informative])
        event = torch.from_numpy(target.event)

        def loss(rows: Tensor) -> Tensor:
            losses = [
                len(block)
                * deephit_loss(
                    self.network_(inputs[block]),
                    intervals[block],
                    event[block],
                    self.alpha,
                    self.sigma,
                )
                for block in rows.split(_PAIR_ROWS)
            ]
            return torch.stack(losses).sum() / len(rows)

        self._train(x.shape[1], target, loss)

    def _incidences_at_ends(self, x: FloatArray) -> FloatArray:
        def incidences(inputs: Tensor) -> Tensor:
            log_mass, _ = log_probabilities(self.network_(inputs).double())
            return log_mass.exp().cumsum(2)

        return np.moveaxis(self._run(incidences, x), 1, 0)

    def _has_net_survival(self) -> bool:
        return getattr(self, "n_events_", 1) == 1  # else only the incidences are modelled
