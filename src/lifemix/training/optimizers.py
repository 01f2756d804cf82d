"""Optimisers of the vector of all parameters of a fleet, with one learning rate for each model."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["OPTIMIZERS", "Optimizer"]


class Optimizer:
    """An optimiser and its state: one vector per moment, and the number of steps."""

    n_moments = 0

    def __init__(self, parameters: Tensor) -> None:
        self.moments = [torch.zeros_like(parameters) for _ in range(self.n_moments)]
        self.n_steps = 0

    def step(self, parameters: Tensor, gradient: Tensor, learning_rate: Tensor | float) -> None:
        """Update the parameters in place; the learning rate is a number, or one per parameter."""
        self.n_steps += 1
        numerator, denominator, factor = self.direction(gradient)
        if isinstance(learning_rate, Tensor):
            parameters.addcdiv_(numerator * learning_rate, denominator, value=-factor)
        else:
            parameters.addcdiv_(numerator, denominator, value=-learning_rate * factor)

    def direction(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Update the moments; return numerator, denominator and factor of the step."""
        raise NotImplementedError


class Adam(Optimizer):
    """Adam (Kingma and Ba 2014, section 2), the optimiser of the paper; its usual constants."""

    n_moments = 2

    def direction(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return mean gradient and root mean square, both corrected for their start at 0."""
        mean, square = self.moments
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        correction = (1 - 0.999**self.n_steps) ** 0.5
        denominator = square.sqrt().add_(1e-8 * correction)
        return mean, denominator, correction / (1 - 0.9**self.n_steps)


class RMSprop(Optimizer):
    """The gradient over the root of its running mean square."""

    n_moments = 1

    def direction(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return the gradient and the root."""
        (square,) = self.moments
        square.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
        return gradient, square.sqrt().add_(1e-8), 1.0


class SGD(Optimizer):
    """Stochastic gradient descent with momentum 0.9."""

    n_moments = 1

    def direction(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Return the running sum of gradients."""
        (momentum,) = self.moments
        return momentum.mul_(0.9).add_(gradient), gradient.new_ones(()), 1.0


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop, "sgd": SGD}
