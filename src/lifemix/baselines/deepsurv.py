"""DeepSurv: Cox's model with a network in place of the linear predictor, on pycox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from .._types import FloatArray
from ..checks import Check, Choice, Flag, Number, Rule, Seed, Whole, Widths
from ..errors import SettingError
from ..network import ACTIVATIONS, ActivationModule
from ..partial_likelihood import RiskSets, hazard_increments, make_terms
from ..preprocessing import TableLike
from ..registry import register_model
from ..target import Target
from ._dense import DenseNetwork, load_network
from ._optional import optional_module
from ._steps import check_curve, proportional_survival, step_values
from .base import Baseline
from .training import Schedule, seeded, split_rows, train

__all__ = ["DEEPSURV_PUBLISHED", "DeepSurv"]

DEEPSURV_PUBLISHED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "support": {
            "hidden": (44,),
            "dropout": 0.2553,
            "learning_rate": 0.0473,
            "l2": 8.12,
            "decay": 0.00257,
        },
        "metabric": {
            "hidden": (41,),
            "dropout": 0.1601,
            "learning_rate": 0.0103,
            "l2": 10.89,
            "decay": 0.00417,
        },
    }
)
"""The settings that DeepSurv's authors published for these data sets, used by the paper; SELU, whole-data batches."""


def _check_hidden(hidden: Any) -> None:
    if not len(Widths()("hidden", hidden)):
        raise SettingError(
            f"hidden must name at least one layer of 1 or more nodes; got {hidden!r}."
        )


@register_model
class DeepSurv(Baseline):
    """DeepSurv: ``S(t | x) = exp(-H0(t) exp(g(x)))`` with a network g trained by the partial likelihood.

    Network and loss are those of pycox (which breaks ties by order); H0 is Breslow's estimate from all rows, training
    and validation part together. Training stops ``patience`` epochs after the best validation loss.

    Parameters
    ----------
    hidden : sequence of int, default (32, 32)
        Widths of the hidden layers.
    activation : {"relu", "elu", "selu", "tanh", ...}, default "relu"
        Activation function of the hidden layers.
    dropout : float, default 0.1
        Dropout rate in each hidden layer.
    batch_norm : bool, default True
        Batch normalisation in each hidden layer.
    l2 : float, default 0.0
        Penalty of the squared output weights, relative to the *sum* of the log-likelihood over the training events, as
        DeepSurv's authors define it.
    weight_decay : float, default 0.0
        Decoupled weight decay of all weights (AdamW).
    learning_rate : float, default 0.01
        Learning rate of Adam; in epoch e it is ``learning_rate / (1 + decay e)``.
    decay : float, default 0.0
        Decay of the learning rate.
    batch_size : int or None, default 256
        Rows per step; None: all of them, as the authors do.
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
    baseline_cumulative_hazard_ : float array of shape (n_event_times,)
        H0 at ``event_times_`` for a subject of mean g.

    References
    ----------
    Katzman et al. (2018). DeepSurv: personalized treatment recommender system using a Cox proportional hazards deep
    neural network. BMC Medical Research Methodology 18, 24. https://doi.org/10.1186/s12874-018-0482-1

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import DeepSurv
    >>> data = datasets.load_metabric()
    >>> model = DeepSurv(hidden=(8,), max_epochs=2).fit(data.X[:500], data.y[:500])
    >>> model.predict_survival_function(data.X[500:503], [60, 120]).shape
    (3, 2)
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

    _saved = ("_mean_risk",)

    network_: DenseNetwork
    baseline_cumulative_hazard_: FloatArray
    _mean_risk: float

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
        """Return the model with the settings that DeepSurv's authors published for a data set.

        Parameters
        ----------
        dataset : {"support", "metabric"}
            The data set.
        **settings : object
            Options that replace or add to the published ones.

        Returns
        -------
        DeepSurv
            Not fitted.
        """
        Choice(*DEEPSURV_PUBLISHED)("dataset", dataset)
        fixed = {
            "activation": "selu",
            "batch_norm": False,
            "batch_size": None,
            "max_epochs": 800,
            "patience": 50,
        }
        return cls(**{**fixed, **DEEPSURV_PUBLISHED[dataset], **settings})

    def transform(self, X: TableLike) -> FloatArray:
        """Return the last hidden layer.

        Parameters
        ----------
        X : DataFrame or array of n rows
            The columns of the training data.

        Returns
        -------
        float array of shape (n, hidden[-1])
            The learned representation.
        """
        return self._run(self.network_.hidden, self.preprocess(X))

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
        check_curve(
            "baseline_cumulative_hazard_", self.baseline_cumulative_hazard_, len(self.event_times_)
        )
        if not np.isfinite(self._mean_risk):
            raise ValueError("the mean risk must be a finite number")
        self.network_ = load_network(
            lambda: self._new_network(self._n_inputs), len(self.hidden), self.network_
        )

    def _new_network(self, inputs: int) -> DenseNetwork:
        return DenseNetwork(
            inputs,
            self.hidden,
            partial(ActivationModule, self.activation),
            self.batch_norm,
            self.dropout,
        )

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        loss = optional_module("pycox.models.loss", "pycox", "DeepSurv")
        inputs, time, event = _tensors(x, target)
        with seeded(self.random_state) as seed:
            self.network_ = self._new_network(x.shape[1])
            training, validation = split_rows(target, self.validation_fraction, seed)
            penalty = self.l2 / float(event[training].sum())

            def likelihood(rows: Tensor) -> Tensor:
                value: Tensor = loss.cox_ph_loss(
                    self.network_(inputs[rows]), time[rows], event[rows]
                )
                return value

            def training_loss(rows: Tensor) -> Tensor | None:
                if not event[rows].any():
                    return None
                return likelihood(rows) + penalty * self.network_.output.weight.square().sum()

            self.history_ = train(
                self.network_,
                training_loss,
                lambda: likelihood(validation),
                training,
                self._schedule(),
            )
        self._fit_baseline(x, target, weight)

    def _fit_baseline(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        risk = self._run(self.network_, x)[:, 0]
        self._mean_risk = float(risk.mean())
        sets = RiskSets(self.event_times_, target.time, target.entry)
        terms = make_terms(self.event_times_, target.time, target.event > 0, weight, "breslow")
        self.baseline_cumulative_hazard_ = np.cumsum(
            hazard_increments(risk - self._mean_risk, weight, sets, terms)
        )

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        baseline = step_values(self.event_times_, self.baseline_cumulative_hazard_, times, 0.0)
        return proportional_survival(baseline, self._risk(x))

    def _risk(self, x: FloatArray) -> FloatArray:
        return self._run(self.network_, x)[:, 0] - self._mean_risk

    @staticmethod
    def _run(network: nn.Module, x: FloatArray) -> FloatArray:
        with torch.no_grad():
            outputs: Tensor = network.eval()(torch.tensor(x, dtype=torch.float32))
        return outputs.double().numpy()


def _tensors(x: FloatArray, target: Target) -> tuple[Tensor, Tensor, Tensor]:
    happened = torch.from_numpy(target.event > 0).float()
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(target.time), happened
