"""DeepSurv: Cox's model with a network in place of the linear predictor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from .._types import FloatArray
from ..checks import Choice, Number, Widths
from ..registry import register_model
from ..target import Target
from .cox import ProportionalHazardsModel
from .networks import NetworkModel, dense_layers

__all__ = ["DEEPSURV_PUBLISHED", "DeepSurv", "cox_loss"]

DEEPSURV_PUBLISHED: Mapping[str, Mapping[str, Any]] = {
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
"""The settings that DeepSurv's authors published for these data sets, with SELU and one batch."""


def cox_loss(risk: Tensor, time: Tensor, event: Tensor) -> Tensor:
    """Return minus the partial log-likelihood per event; ties are broken by order."""
    order = time.argsort(descending=True)
    risk = risk[order]
    event = event[order]
    return -((risk - risk.logcumsumexp(0)) * event).sum() / event.sum().clamp(min=1)


class RiskNetwork(nn.Module):
    """Dense layers, and a linear layer to one number without a constant."""

    def __init__(self, n_inputs: int, model: DeepSurv) -> None:
        super().__init__()
        self.hidden = dense_layers(n_inputs, model.hidden, model)
        width = model.hidden[-1] if len(model.hidden) else n_inputs
        self.output = nn.Linear(width, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the log hazard ratio ``[n_rows, 1]``."""
        output: Tensor = self.output(self.hidden(x))
        return output


@register_model
@dataclass(eq=False, repr=False)
class DeepSurv(NetworkModel, ProportionalHazardsModel):
    """DeepSurv: ``S(t | x) = exp(-H0(t) exp(g(x)))`` with a network g trained by the partial likelihood.

    Ties in the partial likelihood are broken by order; H0 is Breslow's estimate from all rows,
    those for early stopping included. Training stops ``patience`` epochs after the best validation
    loss.

    Parameters
    ----------
    hidden : sequence of int, default (32, 32)
        Widths of the hidden layers; ``()`` for a linear model.
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

    _rules = {
        "hidden": Widths(),
        "l2": Number(0.0),
        **NetworkModel._rules,
    }

    _saved = ("_mean_risk",)

    hidden: Sequence[int] = (32, 32)
    l2: float = 0.0

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
        fixed: dict[str, Any] = {
            "activation": "selu",
            "batch_norm": False,
            "batch_size": None,
            "max_epochs": 800,
            "patience": 50,
        }
        return cls(**{**fixed, **DEEPSURV_PUBLISHED[dataset], **settings})

    def _new_network(self, n_inputs: int) -> RiskNetwork:
        return RiskNetwork(n_inputs, self)

    def _penalty(self) -> Tensor:
        penalty: Tensor = self.l2 * self.network_.output.weight.square().sum()
        return penalty

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        inputs = torch.tensor(x, dtype=torch.float32)
        time = torch.from_numpy(target.time)
        event = torch.from_numpy(target.event > 0).float()
        self._train(
            x.shape[1],
            target,
            lambda rows: cox_loss(self.network_(inputs[rows])[:, 0], time[rows], event[rows]),
        )
        self._mean_risk = float(self._run(self.network_, x).mean())
        self._fit_baseline(self._risk(x), target, weight, "breslow")

    def _risk(self, x: FloatArray) -> FloatArray:
        return self._run(self.network_, x)[:, 0] - self._mean_risk
