"""Optimisers on the vector of all parameters of a fleet, with a learning rate for each model.

An optimiser class of ``torch.optim`` works on the vector of one model. Weight decay is decoupled from the gradient (as
in AdamW) and does not apply to biases and base values.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..errors import SettingError

__all__ = [
    "OPTIMIZERS",
    "Optimizer",
    "TorchOptimizer",
    "check_optimizer",
    "make_optimizer",
    "trains_alone",
]


class Optimizer(ABC):
    """The state of an optimiser: one vector per moment."""

    n_moments: int

    def __init__(self, like: Tensor) -> None:
        self.moments = [torch.zeros_like(like) for _ in range(self.n_moments)]
        self.steps = 0

    def state(self) -> dict[str, Tensor]:
        """Return the moments by name, for a checkpoint."""
        return {str(i): moment for i, moment in enumerate(self.moments)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state`` gave."""
        self.moments = [state[str(i)] for i in range(self.n_moments)]

    @abstractmethod
    def step_parts(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Take in a gradient; the step is ``- learning rate * factor * first / second``."""

    def update(
        self, values: Tensor, gradient: Tensor, learning_rate: Tensor | float, decay: Tensor | None
    ) -> None:
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

    def update(
        self, values: Tensor, gradient: Tensor, learning_rate: Tensor | float, decay: Tensor | None
    ) -> None:
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
        return momentum.mul_(0.9).add_(gradient), gradient.new_ones(()), 1.0


class TorchOptimizer(Optimizer):
    """An optimiser class of ``torch.optim``, or of the user's with the same interface, for a fleet of one model."""

    n_moments = 0

    def __init__(self, like: Tensor, make: Callable[..., torch.optim.Optimizer]) -> None:
        super().__init__(like)
        self._parameter = torch.nn.Parameter(like.detach().clone())
        takes_decay = (
            "weight_decay" in inspect.signature(make).parameters
        )  # ours is applied here, for all alike
        self._inner = make(
            [self._parameter], lr=1.0, **({"weight_decay": 0.0} if takes_decay else {})
        )

    def update(
        self, values: Tensor, gradient: Tensor, learning_rate: Tensor | float, decay: Tensor | None
    ) -> None:
        """Move the values in place."""
        assert isinstance(learning_rate, float)  # there is one model
        self.steps += 1
        if decay is not None:
            values.sub_(values * decay * learning_rate)
        self._parameter.data, self._parameter.grad = values, gradient
        for group in self._inner.param_groups:
            group["lr"] = learning_rate
        self._inner.step()

    def state(self) -> dict[str, Tensor]:
        """Return what the optimiser remembers, for a checkpoint."""
        kept = self._inner.state[self._parameter]
        return {name: torch.as_tensor(value) for name, value in kept.items() if value is not None}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state`` gave."""
        self._inner.state[self._parameter] = dict(state)

    def step_parts(self, gradient: Tensor) -> tuple[Tensor, Tensor, float]:
        """Not needed: the optimiser takes the whole step."""
        raise NotImplementedError


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop, "sgd": SGD}


def check_optimizer(optimizer: object) -> None:
    """Refuse anything but the name of an optimiser or a class with the interface of ``torch.optim``."""
    if isinstance(optimizer, str) and optimizer in OPTIMIZERS:
        return
    if not isinstance(optimizer, type) or not issubclass(optimizer, torch.optim.Optimizer):
        raise SettingError(
            f"unknown optimizer; got {optimizer!r}, expected one of {sorted(OPTIMIZERS)} or a class such as "
            "torch.optim.AdamW."
        )
    if optimizer is torch.optim.LBFGS or optimizer is torch.optim.SparseAdam:
        raise SettingError(
            f"optimizer {optimizer.__name__} cannot train on mini-batches with dense gradients. Use another, such as "
            "torch.optim.AdamW."
        )


def trains_alone(optimizer: object) -> bool:
    """Tell whether an optimiser trains one model at a time."""
    return not isinstance(optimizer, str)


def make_optimizer(optimizer: Any, like: Tensor) -> Optimizer:
    """Return a new optimiser, by name or from a class with the interface of ``torch.optim``."""
    check_optimizer(optimizer)
    return (
        OPTIMIZERS[optimizer](like)
        if isinstance(optimizer, str)
        else TorchOptimizer(like, optimizer)
    )
