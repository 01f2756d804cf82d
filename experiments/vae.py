"""A small variational autoencoder: a representation learned from the covariates alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lifemix._types import FloatArray
from lifemix.baselines.networks import seeded, train
from lifemix.errors import SettingError

from .representations import Representation

__all__ = ["VAE"]


class VAE(Representation):
    """Variational autoencoder: ``x ~ N(decoder(z), 1)``, ``z ~ N(0, 1)``, ``q(z | x) = N(mean(x), diag(variance(x)))``.

    Trained by the evidence lower bound, E_q log p(x | z) - KL(q || p), on standardised columns, with early stopping.
    The representation is the mean of q.

    Parameters
    ----------
    n_components : int, default 10
        Dimensions of z.
    hidden : sequence of int, default (64,)
        Widths of the encoder's hidden layers; the decoder mirrors them.
    learning_rate : float, default 1e-3
        Learning rate of Adam.
    batch_size : int, default 128
        Rows per step.
    max_epochs : int, default 200
        Largest number of epochs.
    patience : int, default 10
        Epochs without a better bound on the held-out rows before training stops.
    validation_fraction : float, default 0.1
        Share of the rows held out for early stopping.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : transformer, "auto" or None, default "auto"
        As in ``DeepSurvivalMachines``.

    Attributes
    ----------
    network_ : torch.nn.Module
        Encoder and decoder.
    history_ : list of float
        Negative bound per held-out row after each epoch, constants left out.

    References
    ----------
    Kingma and Welling, Auto-encoding variational Bayes, ICLR 2014, https://doi.org/10.48550/arXiv.1312.6114

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.vae import VAE
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> VAE(n_components=2, max_epochs=2).fit(X).transform(X).shape
    (60, 2)
    """

    def __init__(
        self,
        n_components: int = 10,
        hidden: Sequence[int] = (64,),
        learning_rate: float = 1e-3,
        batch_size: int = 128,
        max_epochs: int = 200,
        patience: int = 10,
        validation_fraction: float = 0.1,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _fit(self, x: FloatArray) -> None:
        held_out = round(self.validation_fraction * len(x))
        if not 0 < held_out < len(x) - 1:
            raise SettingError(
                f"validation_fraction must leave rows in both parts; got {held_out} of {len(x)} rows held out with "
                f"{self.validation_fraction}."
            )
        inputs = torch.tensor(x, dtype=torch.float32)
        with seeded(int(np.random.default_rng(self.random_state).integers(2**31))):
            rows = torch.randperm(len(x))
            self.network_ = _Autoencoder(x.shape[1], tuple(self.hidden), self.n_components)
            validation = inputs[rows[:held_out]]
            noise = torch.randn(held_out, self.n_components)
            self.history_ = train(
                self.network_,
                lambda batch: self.network_.loss(
                    inputs[batch], torch.randn(len(batch), self.n_components)
                ),
                lambda: self.network_.loss(validation, noise),
                rows[held_out:],
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
                max_epochs=self.max_epochs,
                patience=self.patience,
            )

    def _transform(self, x: FloatArray) -> FloatArray:
        with torch.no_grad():
            mean, _ = self.network_.encode(torch.tensor(x, dtype=torch.float32))
        return mean.double().numpy()


class _Autoencoder(nn.Module):
    """Encoder to mean and log variance of z, and decoder back to x."""

    def __init__(self, features: int, hidden: tuple[int, ...], n_components: int) -> None:
        super().__init__()
        self.encoder = _layers((features, *hidden, 2 * n_components))
        self.decoder = _layers((n_components, *hidden[::-1], features))

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log variance of q(z | x), (n, n_components) each."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return mean, log_variance

    def loss(self, x: Tensor, noise: Tensor) -> Tensor:
        """Return the mean negative bound per row, with z drawn by ``noise`` (n, n_components)."""
        mean, log_variance = self.encode(x)
        decoded = self.decoder(mean + (log_variance / 2).exp() * noise)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1) / 2
        bound: Tensor = (x - decoded).square().sum(1) / 2 + divergence
        return bound.mean()


def _layers(sizes: tuple[int, ...]) -> nn.Sequential:
    parts: list[nn.Module] = []
    for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*parts[:-1])
