"""Optimisers of the vector of all parameters of a fleet, with one learning rate for each model.

An optimiser class of ``torch.optim`` works on the vector of one model.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

__all__ = ["OPTIMIZERS", "Optimizer", "make_optimizer", "trains_alone"]


class Optimizer:
    """An optimiser and its state: one vector per moment, and the number of steps."""

    n_moments = 0

    def __init__(self, parameters: Tensor) -> None:
        self.moments = [torch.zeros_like(parameters) for _ in range(self.n_moments)]
        self.n_steps = 0

    def state(self) -> dict[str, Tensor]:
        """Return the tensors of the state by name, for a checkpoint."""
        return {str(number): moment for number, moment in enumerate(self.moments)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Replace the state by what ``state`` returned."""
        self.moments = [state[str(number)] for number in range(self.n_moments)]

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


class TorchOptimizer(Optimizer):
    """An optimiser class with the interface of ``torch.optim``, for a fleet of one model."""

    def __init__(self, parameters: Tensor, optimizer: type[torch.optim.Optimizer]) -> None:
        super().__init__(parameters)
        self._parameter = torch.nn.Parameter(parameters.detach().clone())
        options: dict[str, Any] = {"lr": 1.0}
        if "weight_decay" in inspect.signature(optimizer).parameters:
            options["weight_decay"] = 0.0  # the fleet applies its own
        self._inner = optimizer([self._parameter], **options)

    def state(self) -> dict[str, Tensor]:
        """Return the tensors of the state by name, for a checkpoint."""
        state = self._inner.state[self._parameter]
        return {name: torch.as_tensor(value) for name, value in state.items() if value is not None}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Replace the state by what ``state`` returned."""
        self._inner.state[self._parameter] = dict(state)

    def step(self, parameters: Tensor, gradient: Tensor, learning_rate: Tensor | float) -> None:
        """Update the parameters in place."""
        self.n_steps += 1
        self._parameter.data, self._parameter.grad = parameters, gradient
        for group in self._inner.param_groups:
            group["lr"] = learning_rate
        self._inner.step()


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop, "sgd": SGD}


def trains_alone(optimizer: object) -> bool:
    """Return whether an optimiser trains one model at a time."""
    return not isinstance(optimizer, str)


def make_optimizer(optimizer: Any, parameters: Tensor) -> Optimizer:
    """Return a new optimiser from its name or from a class like those of ``torch.optim``."""
    if isinstance(optimizer, str):
        return OPTIMIZERS[optimizer](parameters)
    return TorchOptimizer(parameters, optimizer)
