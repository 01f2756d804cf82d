"""Optimisers on the vector of all parameters of a fleet, with a learning rate for each model.

Weight decay is decoupled from the gradient (as in AdamW) and leaves biases and base values alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from ..errors import SettingError

__all__ = ["OPTIMIZERS", "Optimizer", "make_optimizer"]


class Optimizer(ABC):
    """The state of an optimiser: one vector a moment."""

    n_moments: int

    def __init__(self, like: Tensor) -> None:
        self.moments = [torch.zeros_like(like) for _ in range(self.n_moments)]
        self.steps = 0

    @abstractmethod
    def step_parts(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Take in a gradient; the step is ``- learning rate * factor * first / second``."""

    def update(self, values: Tensor, gradient: Tensor, learning_rate: Tensor | float, decay: Tensor | None) -> None:
        """Move the values in place."""
        self.steps += 1
        if decay is not None:
            values.sub_(values * decay * learning_rate)
        above, below, factor = self.step_parts(gradient)
        if isinstance(learning_rate, Tensor):
            values.addcdiv_(above * learning_rate, below, value=-factor)
        else:
            values.addcdiv_(above, below, value=-learning_rate * factor)


class Adam(Optimizer):
    """Adam, the paper's optimiser (Kingma and Ba 2014), with its usual constants.

    Where all models have one learning rate, PyTorch's kernel does the whole step in one pass over memory.
    """

    n_moments = 2

    def __init__(self, like: Tensor) -> None:
        super().__init__(like)
        self._count = torch.zeros((), device=like.device)

    def update(self, values: Tensor, gradient: Tensor, learning_rate: Tensor | float, decay: Tensor | None) -> None:
        """Move the values in place."""
        if isinstance(learning_rate, Tensor) or decay is not None:
            super().update(values, gradient, learning_rate, decay)
            return
        self.steps += 1
        mean, square = self.moments
        torch._fused_adam_(
            [values],
            [gradient],
            [mean],
            [square],
            [],
            [self._count.fill_(self.steps)],
            lr=learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
            grad_scale=None,
            found_inf=None,
        )

    def step_parts(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return the mean over the root of the mean square, both corrected for their start at 0."""
        mean, square = self.moments
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        correction = (1 - 0.999**self.steps) ** 0.5
        return mean, square.sqrt().add_(1e-8 * correction), correction / (1 - 0.9**self.steps)


class RMSprop(Optimizer):
    """The gradient over the root of its running mean square."""

    n_moments = 1

    def step_parts(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return the gradient and the root."""
        (square,) = self.moments
        square.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
        return gradient, square.sqrt().add_(1e-8), 1.0


class SGD(Optimizer):
    """Stochastic gradient descent with momentum 0.9."""

    n_moments = 1

    def step_parts(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return the running sum of gradients."""
        (momentum,) = self.moments
        return momentum.mul_(0.9).add_(gradient), torch.ones((), dtype=gradient.dtype), 1.0


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop, "sgd": SGD}


def make_optimizer(name: object, like: Tensor) -> Optimizer:
    """Return a fresh optimiser by its name."""
    if not isinstance(name, str) or name not in OPTIMIZERS:
        raise SettingError(f"unknown optimizer; got {name!r}, expected one of {sorted(OPTIMIZERS)}.")
    return OPTIMIZERS[name](like)
