"""DeepSurv: Cox's model with a network in place of the linear predictor, on pycox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from ..checks import Check, Choice, Flag, Number, Rule, Seed, Whole, Widths
from ..errors import SettingError
from ..state import FloatArray, FloatList, FloatValue, StateKind, register_model
from ..target import Target
from ._checks import Floats
from ._dense import DenseNetwork, ModuleState
from ._optional import optional_module
from ._partial import hazard_increments, make_terms
from ._risk_sets import ObservedRisk
from ._steps import proportional_survival, step_values
from .base import Baseline
from .training import ACTIVATIONS, Schedule, seeded, split_rows, train

__all__ = ["DEEPSURV_PUBLISHED", "DeepSurv"]

DEEPSURV_PUBLISHED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "support": {"hidden": (44,), "dropout": 0.2553, "learning_rate": 0.0473, "l2": 8.12, "decay": 0.00257},
        "metabric": {"hidden": (41,), "dropout": 0.1601, "learning_rate": 0.0103, "l2": 10.89, "decay": 0.00417},
    }
)
"""The settings that DeepSurv's authors published for these data sets, used by the paper; SELU, whole-data batches."""


def _check_hidden(hidden: Any) -> None:
    if not Widths()("hidden", hidden):
        raise SettingError(f"hidden must name at least one layer of 1 or more nodes; got {hidden!r}.")


@register_model
class DeepSurv(Baseline):
    """``S(t | x) = exp(-H0(t) exp(g(x)))`` with g a network trained by the partial likelihood, H0 Breslow's estimate.

    Network and loss are pycox's (which breaks ties by order). H0 is estimated from all rows given, training and
    validation part together. Training stops ``patience`` epochs after the best validation loss.

    hidden: nodes of the hidden layers; activation: one of relu, elu, selu, tanh.
    dropout, batch_norm: in each hidden layer.
    l2: times the squared output weights, beside the *sum* of the log-likelihood over the training events, as DeepSurv's
        authors have it. weight_decay: of all weights, decoupled (AdamW).
    learning_rate, decay: of Adam; in epoch e the rate is ``learning_rate / (1 + decay e)``.
    batch_size: rows a step; None: all of them, as the authors do.

    Fitted: ``network_``, ``history_`` (validation loss of each epoch), ``baseline_cumulative_hazard_`` at
    ``event_times_`` for a subject of mean g.
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "hidden": Check(_check_hidden),
        "l2": Number(0.0),
        "batch_size": Whole(1, optional=True),
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

    _state: ClassVar[Mapping[str, StateKind]] = {
        "network_": ModuleState(lambda model, inputs: model._new_network(inputs), lambda model: len(model.hidden)),
        "history_": FloatList(),
        "baseline_cumulative_hazard_": FloatArray("event_times", least=0.0, most=np.inf),
        "_mean_risk": FloatValue(),
    }

    def __init__(
        self,
        hidden: Sequence[int] = (32, 32),
        activation: str = "relu",
        dropout: float = 0.1,
        batch_norm: bool = True,
        l2: float = 0.0,
        weight_decay: float = 0.0,
        learning_rate: float = 0.01,
        decay: float = 0.0,
        batch_size: int | None = 256,
        max_epochs: int = 512,
        patience: int = 10,
        validation_fraction: float = 0.2,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.batch_norm = batch_norm
        self.l2 = l2
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
        """Return the published model for ``"support"`` or ``"metabric"``; ``settings`` replace or add options."""
        Choice(*DEEPSURV_PUBLISHED)("dataset", dataset)
        fixed = {"activation": "selu", "batch_norm": False, "batch_size": None, "max_epochs": 800, "patience": 50}
        return cls(**{**fixed, **DEEPSURV_PUBLISHED[dataset], **settings})

    def transform(self, X: Any) -> Floats:
        """Return the last hidden layer of shape (n, hidden[-1])."""
        return self._run(self.network_.hidden, self.preprocess(X))

    def _schedule(self) -> Schedule:
        return Schedule(
            self.learning_rate, self.decay, self.weight_decay, self.batch_size, self.max_epochs, self.patience
        )

    def _new_network(self, inputs: int) -> DenseNetwork:
        return DenseNetwork(inputs, self.hidden, ACTIVATIONS[self.activation], self.batch_norm, self.dropout)

    def _fit(self, x: Floats, target: Target, weight: Floats) -> None:
        loss = optional_module("pycox.models.loss", "pycox", "DeepSurv")
        inputs, time, event = _tensors(x, target)
        with seeded(self.random_state) as seed:
            self.network_ = self._new_network(x.shape[1])
            training, validation = split_rows(target, self.validation_fraction, seed)
            penalty = self.l2 / float(event[training].sum())

            def likelihood(rows: Tensor) -> Tensor:
                value: Tensor = loss.cox_ph_loss(self.network_(inputs[rows]), time[rows], event[rows])
                return value

            def training_loss(rows: Tensor) -> Tensor | None:
                if not event[rows].any():
                    return None
                return likelihood(rows) + penalty * self.network_.output.weight.square().sum()

            self.history_ = train(
                self.network_, training_loss, lambda: likelihood(validation), training, self._schedule()
            )
        self._fit_baseline(x, target, weight)

    def _fit_baseline(self, x: Floats, target: Target, weight: Floats) -> None:
        risk = self._run(self.network_, x)[:, 0]
        self._mean_risk = float(risk.mean())
        sets = ObservedRisk(self.event_times_, target.time, target.entry)
        terms = make_terms(self.event_times_, target.time, target.event > 0, weight, "breslow")
        self.baseline_cumulative_hazard_ = np.cumsum(hazard_increments(risk - self._mean_risk, weight, sets, terms))

    def _survival(self, x: Floats, times: Floats) -> Floats:
        baseline = step_values(self.event_times_, self.baseline_cumulative_hazard_, times, 0.0)
        return proportional_survival(baseline, self._risk(x))

    def _risk(self, x: Floats) -> Floats:
        return self._run(self.network_, x)[:, 0] - self._mean_risk

    @staticmethod
    def _run(network: nn.Module, x: Floats) -> Floats:
        with torch.no_grad():
            outputs: Tensor = network.eval()(torch.from_numpy(x).float())
        return outputs.double().numpy()


def _tensors(x: Floats, target: Target) -> tuple[Tensor, Tensor, Tensor]:
    happened = torch.from_numpy(target.event > 0).float()
    return torch.from_numpy(x).float(), torch.from_numpy(target.time), happened
