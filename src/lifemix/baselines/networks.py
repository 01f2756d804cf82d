"""Small networks on PyTorch: their layers, their training with early stopping, and their files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor, nn

from .._types import FloatArray
from ..checks import Choice, Flag, Number, Seed, Whole
from ..errors import DivergedError, SettingError
from ..network import ACTIVATIONS, ActivationModule
from ..preprocessing import TableLike
from ..splits import train_validation_split
from ..target import Target
from .base import Baseline, check_curves, chunks, draw_seed

__all__ = ["NetworkModel", "dense_layers", "seeded", "train"]

_CELLS_OF_ROW = 1000  # roughly, in all layers of a network


def dense_layers(n_inputs: int, widths: Sequence[int], model: Any) -> nn.Sequential:
    """Return linear layers, each with activation, batch normalisation and dropout."""
    layers: list[nn.Module] = []
    for width_before, width in pairwise([n_inputs, *widths]):
        linear = nn.Linear(width_before, width)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        layers += [linear, ActivationModule(model.activation)]
        layers += [nn.BatchNorm1d(width)] if model.batch_norm else []
        layers += [nn.Dropout(model.dropout)]
    return nn.Sequential(*layers)


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Baseline):  # type: ignore[misc]
    """Base class of models with one network, which is ready to predict after ``fit``."""

    activation: str = "relu"
    dropout: float = 0.1
    batch_norm: bool = True
    weight_decay: float = 0.0
    learning_rate: float = 0.01
    decay: float = 0.0
    batch_size: int | None = 256
    max_epochs: int = 512
    patience: int = 10
    validation_fraction: float = 0.2
    random_state: int | np.random.Generator | None = 0
    preprocessor: Any = "auto"

    _rules = {
        "activation": Choice(*ACTIVATIONS),
        "dropout": Number(0.0, 0.95),
        "batch_norm": Flag(),
        "weight_decay": Number(0.0),
        "learning_rate": Number(above=0.0),
        "decay": Number(0.0),
        "batch_size": Whole(1, optional=True),
        "max_epochs": Whole(1),
        "patience": Whole(1),
        "validation_fraction": Number(above=0.0, most=0.9),
        "random_state": Seed(),
    }

    def transform(self, X: TableLike) -> FloatArray:
        """Return the learned representation.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        array of shape (n, width)
            The last hidden layer, those of several networks side by side; without hidden layers
            the preprocessed columns.
        """
        return self._represent(self.preprocess(X))

    def _represent(self, x: FloatArray) -> FloatArray:
        return self._run(lambda rows: self.network_.hidden(rows).flatten(1), x)

    @property
    def _n_features_out(self) -> int:
        return self._represent(np.zeros((1, self._n_inputs))).shape[1]

    def _new_network(self, n_inputs: int) -> nn.Module:
        raise NotImplementedError

    def _penalty(self) -> Tensor | float:
        """Return the penalty of the weights, on the scale of the sum over the training events."""
        return 0.0

    def _train(self, n_inputs: int, target: Target, loss: Callable[[Tensor], Tensor]) -> None:
        """Fit the network; the loss is a mean over the rows that it gets."""
        seed = draw_seed(self.random_state)
        fraction = self.validation_fraction
        with seeded(seed):
            self.network_: Any = self._new_network(n_inputs)
            training, validation = train_validation_split(
                target, fraction=fraction, random_state=seed
            )
            for name, rows in {"training": training, "validation": validation}.items():
                if not (target.event[rows] > 0).any():
                    raise SettingError(
                        f"the {name} part needs at least one event; got none among its {len(rows)} "
                        f"rows with validation_fraction={fraction}. Change it, or give more rows."
                    )
            n_events = int((target.event[training] > 0).sum())
            self.history_ = train(
                self,
                lambda rows: loss(rows) + self._penalty() / n_events,
                lambda: loss(torch.from_numpy(validation)),
                torch.from_numpy(training),
            )

    def _run(self, function: Callable[[Tensor], Tensor], x: FloatArray) -> FloatArray:
        """Return outputs of the network, a function of the inputs, computed in blocks of rows."""
        self.network_.eval()
        inputs = [
            torch.tensor(x[rows], dtype=torch.float32) for rows in chunks(len(x), _CELLS_OF_ROW)
        ]
        with torch.no_grad():
            return torch.cat([function(block) for block in inputs]).double().numpy()

    def _saved_attributes(self) -> dict[str, Any]:
        attributes = super()._saved_attributes()
        return attributes | ({"network_": self.network_.state_dict()} if attributes else {})

    def _validate(self) -> None:
        super()._validate()
        weights = self.network_
        if not isinstance(weights, dict):
            raise ValueError("the weights of the network are missing")
        with torch.device("meta"):  # so that forged options cannot ask for memory
            self.network_ = self._new_network(self._n_inputs)
        for name, expected in self.network_.state_dict().items():
            is_same = (weights[name].dtype, weights[name].shape) == (expected.dtype, expected.shape)
            if not is_same or not weights[name].isfinite().all():
                raise ValueError(f"{name} must be finite numbers of shape {tuple(expected.shape)}")
            if name.endswith("running_var") and (weights[name] < 0).any():
                raise ValueError(f"{name} must be variances, which are at least 0")
        self.network_.load_state_dict(weights, assign=True)
        check_curves(self, self._n_inputs)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run PyTorch from a seed, and restore its global generator afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def train(
    model: Any,
    training_loss: Callable[[Tensor], Tensor],
    validation_loss: Callable[[], Tensor],
    rows: Tensor,
) -> list[float]:
    """Train ``model.network_`` with the options of the model; return the loss of each epoch.

    The losses are those of validation. Training stops ``patience`` epochs after the best one, whose
    weights the network gets. ``training_loss`` takes the rows of a batch; without ``batch_size``
    one batch has all rows. The learning rate of AdamW in epoch e is ``learning_rate / (1 + decay *
    e)``. Random numbers come from the global generator: call within ``seeded``.
    """
    network: nn.Module = model.network_
    optimizer = torch.optim.AdamW(
        network.parameters(), model.learning_rate, weight_decay=model.weight_decay
    )
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: 1.0 / (1.0 + model.decay * epoch)
    )
    history: list[float] = []
    best_loss = np.inf
    best_epoch = 0
    best_weights = network.state_dict()
    while len(history) < model.max_epochs and len(history) - best_epoch < model.patience:
        network.train()
        for batch in rows[torch.randperm(len(rows))].split(model.batch_size or len(rows)):
            if len(batch) > 1:  # batch normalisation cannot take a single row
                optimizer.zero_grad()
                training_loss(batch).backward()
                optimizer.step()
        rates.step()
        network.eval()
        with torch.no_grad():
            history.append(float(validation_loss()))
        if history[-1] < best_loss:
            best_loss = history[-1]
            best_epoch = len(history)
            best_weights = copy.deepcopy(network.state_dict())
    if not np.isfinite(best_loss):
        raise DivergedError(
            f"training diverged: no finite loss in {len(history)} epochs with "
            f"learning_rate={model.learning_rate}. Lower learning_rate, and check that the columns are "
            "scaled (preprocessor='auto' does it)."
        )
    network.load_state_dict(best_weights)
    return history
