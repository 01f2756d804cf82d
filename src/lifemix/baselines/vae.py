"""A small variational autoencoder as a learner of a representation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import SettingError
from ._checks import Floats
from ._representation import Representation
from ._training import Schedule, seeded, train

__all__ = ["VAE"]


class VAE(Representation):
    """``x ~ N(decoder(z), 1)`` with ``z ~ N(0, 1)``, and ``q(z | x) = N(mean(x), diag(variance(x)))``.

    Trained by the evidence lower bound, E_q log p(x | z) - KL(q || p), on standardised columns; the representation is
    the mean of q. Training stops ``patience`` epochs after the best bound on held-out rows.

    n_components: dimensions of z. hidden: layers of the encoder, mirrored in the decoder.

    Fitted: ``network_``, ``history_`` (negative bound a row on the held-out rows, constants left out).
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

    def _fit(self, x: Floats) -> None:
        held_out = round(self.validation_fraction * len(x))
        if not 0 < held_out < len(x) - 1:
            raise SettingError(
                f"validation_fraction must leave rows in both parts; got {held_out} of {len(x)} rows held out with "
                f"{self.validation_fraction}."
            )
        schedule = Schedule(self.learning_rate, 0.0, 0.0, self.batch_size, self.max_epochs, self.patience)
        inputs = torch.from_numpy(x).float()
        with seeded(self.random_state):
            rows = torch.randperm(len(x))
            self.network_ = _Autoencoder(x.shape[1], tuple(self.hidden), self.n_components)
            validation = inputs[rows[:held_out]]
            noise = torch.randn(held_out, self.n_components)
            self.history_ = train(
                self.network_,
                lambda batch: self.network_.loss(inputs[batch], torch.randn(len(batch), self.n_components)),
                lambda: self.network_.loss(validation, noise),
                rows[held_out:],
                schedule,
            )

    def _transform(self, x: Floats) -> Floats:
        with torch.no_grad():
            mean, _ = self.network_.encode(torch.from_numpy(x).float())
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
        """Return the negative bound, a row, with z drawn by ``noise`` (n, n_components)."""
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
