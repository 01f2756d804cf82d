"""DeepHit: the probability of each event type in each of a grid of intervals, on pycox."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray
from ..checks import Choice, Flag, Number, Rule, Seed, Whole
from ..network import ACTIVATIONS
from ..preprocessing import TableLike
from ..registry import register_model
from ..target import Target
from ._deephit_network import DeepHitNetwork, intervals, pairs
from ._dense import load_network
from ._grid import check_grid, interval_ends
from ._optional import optional_module
from ._steps import from_zero
from .base import Baseline, chunks
from .training import Schedule, seeded, split_rows, train

__all__ = ["DEEPHIT_PAPER", "DeepHit"]

DEEPHIT_PAPER: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        name: dict(
            zip(
                (
                    "shared_layers",
                    "shared_nodes",
                    "cause_layers",
                    "cause_nodes",
                    "activation",
                    "alpha",
                ),
                row,
                strict=True,
            )
        )
        for name, row in {
            "support": (3, 100, 3, 300, "elu", 0.1),
            "metabric": (3, 100, 1, 100, "tanh", 5.0),
            "synthetic": (3, 300, 2, 50, "elu", 0.1),
            "seer": (1, 100, 2, 50, "elu", 0.5),
        }.items()
    }
)
"""What the paper's search chose for each data set (its table of DeepHit's hyperparameters)."""

_ROWS = 1024  # the ranking loss compares all pairs of a block


@register_model
class DeepHit(Baseline):
    """DeepHit: a softmax over interval and event type, from a shared network and one network per event type.

    The last outcome of the softmax is no event on the grid. Within an interval events are uniform in time (pycox's
    ``const_pdf``): incidences are linear between grid points, 0 at time 0 and constant after the last point. The loss
    is that of pycox: likelihood + alpha * ranking loss, up to a factor. An event counts in the interval ``(c, c']``
    that contains it; a censored row has survived the last grid point up to its time (before the first one it carries
    no information).

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
        Weight of the ranking loss relative to the likelihood, as in the paper; pycox's own alpha is ``1 / (1 +
        alpha)``.
    sigma : float, default 0.1
        Scale of the ranking loss.
    n_times : int, default 50
        Number of intervals.
    grid : {"quantiles", "equidistant"}, default "quantiles"
        Where intervals end: at quantiles of the event times, or evenly spaced.
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
    batch_size : int, default 256
        Rows per step.
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

    _several_events = True
    _saves_event_times = False

    _rules: ClassVar[Mapping[str, Rule]] = {
        "shared_layers": Whole(1),
        "shared_nodes": Whole(1),
        "cause_layers": Whole(1),
        "cause_nodes": Whole(1),
        "alpha": Number(above=0.0),
        "sigma": Number(above=0.0),
        "n_times": Whole(1),
        "grid": Choice("quantiles", "equidistant"),
        "batch_size": Whole(1),
        "activation": Choice(*ACTIVATIONS),
        "dropout": Number(0.0, 0.95),
        "batch_norm": Flag(),
        "weight_decay": Number(0.0),
        "learning_rate": Number(above=0.0),
        "decay": Number(0.0),
        "max_epochs": Whole(1),
        "patience": Whole(1),
        "validation_fraction": Number(above=0.0, most=0.9),
        "random_state": Seed(),
    }

    network_: DeepHitNetwork

    def __init__(
        self,
        shared_layers: int = 1,
        shared_nodes: int = 100,
        cause_layers: int = 1,
        cause_nodes: int = 100,
        activation: str = "relu",
        alpha: float = 0.5,
        sigma: float = 0.1,
        n_times: int = 50,
        grid: str = "quantiles",
        dropout: float = 0.1,
        batch_norm: bool = True,
        weight_decay: float = 0.0,
        learning_rate: float = 1e-3,
        decay: float = 0.0,
        batch_size: int = 256,
        max_epochs: int = 512,
        patience: int = 10,
        validation_fraction: float = 0.2,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.shared_layers = shared_layers
        self.shared_nodes = shared_nodes
        self.cause_layers = cause_layers
        self.cause_nodes = cause_nodes
        self.activation = activation
        self.alpha = alpha
        self.sigma = sigma
        self.n_times = n_times
        self.grid = grid
        self.dropout = dropout
        self.batch_norm = batch_norm
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.decay = decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.preprocessor = preprocessor

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

    def transform(self, X: TableLike) -> FloatArray:
        """Return the last hidden layers of all cause-specific networks, side by side.

        Parameters
        ----------
        X : DataFrame or array of n rows
            The columns of the training data.

        Returns
        -------
        float array of shape (n, n_events * cause_nodes)
            The learned representation.
        """
        x = torch.tensor(self.preprocess(X), dtype=torch.float32)
        with torch.no_grad():
            hidden: Tensor = self.network_.eval().hidden(x)
        return hidden.flatten(1).double().numpy()

    def _schedule(self) -> Schedule:
        return Schedule(
            self.learning_rate,
            self.decay,
            self.weight_decay,
            self.batch_size,
            self.max_epochs,
            self.patience,
        )

    def _saved_attributes(self) -> dict[str, Any]:
        attributes = super()._saved_attributes()
        return attributes | ({"network_": self.network_.state_dict()} if attributes else {})

    def _validate(self) -> None:
        super()._validate()
        check_grid(self.grid_)
        n_layers = self.shared_layers + self.n_events_ * self.cause_layers
        self.network_ = load_network(
            lambda: self._new_network(self._n_inputs), n_layers, self.network_
        )

    def _new_network(self, inputs: int) -> DeepHitNetwork:
        return DeepHitNetwork(self, inputs, self.n_events_, len(self.grid_))

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        losses = optional_module("pycox.models.loss", "pycox", "DeepHit")
        self.grid_ = interval_ends(target, self.n_times, self.grid)
        interval = intervals(self.grid_, target)
        kept = np.flatnonzero(interval >= 0)
        target = target.take(kept)
        inputs = torch.from_numpy(x[kept]).float()
        index, event = torch.from_numpy(interval[kept]), torch.from_numpy(target.event)
        loss_class = losses.DeepHitSingleLoss if self.n_events_ == 1 else losses.DeepHitLoss
        loss = loss_class(1.0 / (1.0 + self.alpha), self.sigma)
        with seeded(self.random_state) as seed:
            self.network_ = self._new_network(x.shape[1])
            training, validation = split_rows(target, self.validation_fraction, seed)

            def batch_loss(rows: Tensor) -> Tensor:
                outputs = self.network_(inputs[rows])
                if self.n_events_ == 1:
                    outputs = outputs[:, 0]
                value: Tensor = loss(
                    outputs, index[rows], event[rows], pairs(index[rows], event[rows])
                )
                return value

            def validation_loss() -> Tensor:
                parts = torch.split(validation, _ROWS)
                return torch.stack([batch_loss(rows) * len(rows) for rows in parts]).sum() / len(
                    validation
                )

            self.history_ = train(
                self.network_, batch_loss, validation_loss, training, self._schedule()
            )

    def _risk_times(self) -> FloatArray:
        return self.grid_  # between which the curves are linear

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        width = self.n_events_ * len(self.grid_)
        return np.concatenate(
            [self._block(x[rows], times, event) for rows in chunks(len(x), width)]
        )

    def _block(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        with torch.no_grad():
            outputs = self.network_.eval()(torch.tensor(x, dtype=torch.float32)).double()
            flat = torch.cat(
                [outputs.flatten(1), torch.zeros(len(x), 1, dtype=torch.float64)], dim=1
            )
            mass = flat.softmax(1)[:, :-1].reshape(outputs.shape)[:, event - 1]
        return from_zero(self.grid_, np.cumsum(mass.numpy(), axis=1), times)
