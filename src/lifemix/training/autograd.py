"""The loss of every model of a fleet and its gradient by automatic differentiation.

It works for every architecture, primitive and observation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..likelihood import Contributions, Observations, combined_loss, contributions, prior_loss
from ..network import Architecture, Layout
from .config import TrainConfig

__all__ = ["AutogradLoss", "FleetVector", "Settings", "penalties"]

HOSTS = {"cpu"}  # types of devices whose numbers can be read without waiting
_GRADIENT_LIMIT = 1e15  # the square is still finite in float32


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings that differ between the models of a fleet."""

    learning_rate: Tensor | float  # a number if all models have the same, else one per parameter
    weight_decay: Tensor | None  # one per parameter
    discount: Tensor  # [n_models]
    prior_strength: Tensor  # [n_models]
    head_prior: Tensor  # [n_models]
    prior_centre: Tensor  # [n_models, n_events, n_parameters of the primitive, n_components]


class FleetVector:
    """One number per parameter of a fleet: a flat vector, and its blocks ``[n_models, *shape]``."""

    def __init__(self, layout: Layout, flat: Tensor, n_models: int) -> None:
        self.flat = flat
        self.blocks = layout.blocks(flat, n_models)

    def scale_models_(self, factors: Tensor) -> None:
        """Multiply the numbers of each model by its factor, in place."""
        for block in self.blocks.values():
            block.mul_(factors.view(-1, *[1] * (block.dim() - 1)))

    def clip_norms_(self, max_norm: float) -> None:
        """Limit the norm of each model in place; set models that are not finite to 0."""
        # Usually the joint norm is below the limit. A GPU would have to wait for this check.
        is_host = self.flat.device.type in HOSTS
        if is_host and float(torch.dot(self.flat, self.flat)) <= max_norm**2:
            return
        block_norms = [
            torch.linalg.vector_norm(block.flatten(1), dim=1) for block in self.blocks.values()
        ]
        norm = torch.linalg.vector_norm(torch.stack(block_norms), dim=0)  # [n_models]
        factors = (max_norm / norm).clamp(max=1.0)
        factors = torch.where(torch.isfinite(norm), factors, 0.0)
        self.flat.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
        self.scale_models_(factors)


def penalties(parameters: FleetVector, settings: Settings) -> Tensor:
    """Return the priors' part of the loss, ``[n_models]``."""
    base, heads = parameters.blocks["base"], parameters.blocks["heads"]
    return prior_loss(
        base, settings.prior_centre, heads, settings.prior_strength, settings.head_prior
    )


class AutogradLoss:
    """The loss of every model of a fleet on batches of rows: ``likelihood.combined_loss``."""

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        self.architecture, self.config = architecture, config

    def batches(self, observed: Observations, settings: Settings) -> list[Any]:
        """Return one batch per step from observations ``[n_models, n_steps, n_rows]``."""
        n_steps = observed.time.shape[1]
        return [observed.take((slice(None), step)) for step in range(n_steps)]

    def with_gradient(
        self,
        parameters: FleetVector,
        gradient: FleetVector,
        settings: Settings,
        x: Tensor,  # [n_models, n_rows, n_inputs]
        batch: Any,
        masks: list[Tensor] | None,
    ) -> Tensor:
        """Return the loss ``[n_models]`` without the penalties; write the gradient with them."""
        flat = parameters.flat.detach().requires_grad_()
        leaf = FleetVector(self.architecture.layout, flat, len(x))
        terms = self._contributions(leaf, x, batch, masks)
        loss = combined_loss(terms, batch.weight, settings.discount[:, None])
        total = loss + penalties(leaf, settings)
        (derivative,) = torch.autograd.grad(total.sum(), flat)
        torch.clamp(derivative, -_GRADIENT_LIMIT, _GRADIENT_LIMIT, out=gradient.flat)
        return loss.detach()

    def held_out(
        self, parameters: FleetVector, settings: Settings, x: Tensor, batch: Any
    ) -> Tensor:
        """Return minus the weighted sum of the objective over rows, ``[n_models]``."""
        terms = self._contributions(parameters, x, batch, None)
        log_likelihood = batch.weight * terms.total(settings.discount[:, None])
        return -log_likelihood.double().sum(1)

    def _contributions(
        self, parameters: FleetVector, x: Tensor, batch: Observations, masks: list[Tensor] | None
    ) -> Contributions:
        mixtures = self.architecture.mixtures(parameters.blocks, x, masks)
        return contributions(mixtures, batch, self.config.objective)
