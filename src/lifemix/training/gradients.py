"""The loss of every model of a fleet and its gradient, by automatic differentiation: for every sort of observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from ..devices import on_host, perhaps_any
from ..likelihood import Contributions, Observations, combined_loss, contributions, prior_loss
from ..network import Architecture, Layout
from ..primitives import Mixture
from .config import TrainConfig

__all__ = ["Autograd", "Gradient", "Parameters", "Settings", "penalties"]

_LIMIT = 1e15  # of a derivative, so that float32 can hold the squares


@dataclass(frozen=True, eq=False)
class Settings:
    """What differs between the models of a fleet, one value per model."""

    learning_rate: Tensor | float  # a number where all models have the same, else one per parameter
    discount: Tensor
    twice_prior: Tensor  # [models, 1, 1, 1]: two times the strength of the prior of the base values
    head_prior: Tensor
    any_head_prior: bool
    prior_centre: Tensor  # [models, events, parameters of the primitive, k]
    fixed: Tensor  # [models, events, fixed parameters of the primitive, k]
    decay: Tensor | None  # one per parameter


def penalties(parameters: dict[str, Tensor], settings: Settings) -> Tensor:
    """Return the priors' part of the loss of each model, ``[models]``."""
    strength = settings.twice_prior.flatten() / 2
    return prior_loss(
        parameters["base"],
        settings.prior_centre,
        parameters["heads"],
        strength,
        settings.head_prior,
    )


class Parameters:
    """The parameters of a fleet, or numbers beside them such as a gradient: one vector, and its named parts."""

    def __init__(self, layout: Layout, flat: Tensor, n_models: int) -> None:
        self.flat, self.n_models = flat, n_models
        self.blocks = layout.blocks(flat, n_models)

    def clip_norm_(self, max_norm: float) -> None:
        """Scale down, in place, the parts of models whose norm is above the limit.

        Where the norm of all of them together is not, none is: the CPU looks there first. Elsewhere the host would have
        to wait for the answer, and all are scaled, most by 1.
        """
        if on_host(self.flat.device) and float(torch.dot(self.flat, self.flat)) <= max_norm**2:
            return
        parts = [
            torch.linalg.vector_norm(block.flatten(1), dim=1) for block in self.blocks.values()
        ]
        norms = torch.linalg.vector_norm(torch.stack(parts), dim=0)
        factors = (max_norm / norms).clamp(max=1.0)
        if perhaps_any(~torch.isfinite(norms)):  # a step that is no number is not taken
            self.flat.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
            factors = torch.where(torch.isfinite(norms), factors, 0.0)
        for block in self.blocks.values():
            block.mul_(factors.view(-1, *[1] * (block.dim() - 1)))


class Gradient(Protocol):
    """One way to compute what a training step needs."""

    def targets(
        self, table: Observations, rows: Tensor, weight: Tensor, settings: Settings
    ) -> Sequence[Any]:
        """Prepare an epoch, once; return one target per step.

        rows: which rows of the table each step takes, ``[models, steps, rows]``; weight: theirs, 0 where one does not
        count.
        """

    def loss_and_gradient(
        self,
        values: Parameters,
        gradient: Parameters,
        settings: Settings,
        x: Tensor,
        target: Any,
        masks: list[Tensor] | None,
    ) -> Tensor:
        """Return the losses ``[models]``, without the penalties, and write the gradient of both.

        x is ``[models, rows, inputs]``.
        """

    def held_out_target(
        self, table: Observations, rows: Tensor, weight: Tensor, settings: Settings
    ) -> Any:
        """Prepare rows of a table, ``[models, rows]``, for ``held_out``."""

    def held_out(self, values: Parameters, settings: Settings, x: Tensor, target: Any) -> Tensor:
        """Return minus the weighted sum of the objective over rows, without penalties, ``[models]``."""


class Autograd:
    """Any architecture, any primitive, any censoring: the gradient of ``likelihood.combined_loss``."""

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        self.architecture, self.config = architecture, config

    def targets(
        self, table: Observations, rows: Tensor, weight: Tensor, settings: Settings
    ) -> list[Observations]:
        """Return the observations of each step."""
        steps = zip(rows.unbind(1), weight.unbind(1), strict=True)
        return [self.held_out_target(table, *step, settings) for step in steps]

    def loss_and_gradient(
        self,
        values: Parameters,
        gradient: Parameters,
        settings: Settings,
        x: Tensor,
        target: Observations,
        masks: list[Tensor] | None,
    ) -> Tensor:
        """Return the loss of each model without the penalties; write the gradient with them."""
        leaf = values.flat.detach().requires_grad_()
        parameters = self.architecture.layout.blocks(leaf, len(x))
        mixtures = self.architecture.mixtures(parameters, x, masks)
        terms = self._terms(mixtures, target)
        loss = combined_loss(
            terms, target.weight, settings.discount, penalties(parameters, settings)
        )
        (found,) = torch.autograd.grad(loss.total.sum(), leaf)
        torch.clamp(found, -_LIMIT, _LIMIT, out=gradient.flat)
        return loss.likelihood.detach()

    def held_out_target(
        self, table: Observations, rows: Tensor, weight: Tensor, settings: Settings
    ) -> Observations:
        """Return the observations."""
        return table.take(rows).reweighted(weight)

    def held_out(
        self, values: Parameters, settings: Settings, x: Tensor, target: Observations
    ) -> Tensor:
        """Return minus the weighted sum of the objective."""
        terms = self._terms(self.architecture.mixtures(values.blocks, x), target)
        return -(target.weight * terms.total(settings.discount[:, None])).double().sum(1)

    def _terms(self, mixtures: Mixture, target: Observations) -> Contributions:
        return contributions(mixtures, target, self.config.objective, self.config.t_max)
