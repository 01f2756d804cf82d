"""The loss of a fleet with its gradient written out by hand; faster than ``AutogradLoss``.

It covers the usual case: a log-location-scale family, fully connected layers, and rows that are
exact or right-censored. With ``v_k = log(t f_k(t))`` for an event and ``log S_k(t)`` otherwise, the
log-likelihood of a row is ``log sum_k w_k exp v_k`` (exact) or ``sum_k w_k v_k`` (elbo), up to
terms without parameters. Its derivative by ``v_k`` is the responsibility ``r_k`` or the weight
``w_k``; by the logits of the gate it is ``r_k - w_k`` or ``w_k (v_k - mean v)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..likelihood import Observations
from ..network import Architecture
from ..primitives import LogLocationScale
from ..primitives.numeric import LOG_LIMIT
from .autograd import AutogradLoss, FleetVector, Settings
from .config import TrainConfig

__all__ = ["AnalyticLoss"]

_GRADIENT_LIMIT = 1e12  # of a row; the square of a sum over rows is still finite in float32


@dataclass(frozen=True, eq=False)
class _Batch:
    """What the likelihood needs of the rows, which are the last axis."""

    log_time: Tensor  # [n_models, 1, 1, n_rows]
    happened: Tensor  # [n_models, n_events, 1, n_rows], 1 or 0
    share: Tensor  # [n_models, n_events, 1, n_rows]: minus the weight of the term in the loss
    constant: Tensor  # [n_models]: the terms of the loss without parameters
    weight: Tensor  # [n_models]: the sum over the rows


@dataclass(frozen=True, eq=False)
class _Forward:
    """What the network computed; shapes are ``[n_models, n_events, n_components, n_rows]``."""

    hidden: list[Tensor]  # the inputs, then the output of every layer after dropout
    activated: list[Tensor]  # the output of every layer before dropout
    shifts: Tensor  # after the activation
    logits: Tensor
    precision: Tensor
    z: Tensor
    value: Tensor  # v
    d_z: Tensor  # dv / dz


class AnalyticLoss(AutogradLoss):
    """The loss of a fleet for which ``is_applicable`` holds."""

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        super().__init__(architecture, config)
        assert issubclass(architecture.family, LogLocationScale)
        self.family = architecture.family
        self.location_index = self.family.parameter_names().index(self.family.location_name)
        self.precision_index = 1 - self.location_index
        self.location_sign = architecture.shift_signs[self.location_index]
        self.activation, self.act = architecture.encoder_activation, architecture.act
        assert self.activation.in_place is not None
        assert self.act.in_place is not None
        self.activate, self.activate_shifts = self.activation.in_place, self.act.in_place
        self.out_shape = (architecture.n_events, 3, architecture.k)  # logits and two parameters
        self.n_layers = len(architecture.hidden)
        self.has_bias = architecture.bias
        self._memory: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    @staticmethod
    def is_applicable(
        architecture: Architecture, config: TrainConfig, observed: Observations
    ) -> bool:
        """Return whether primitive, encoder and all rows are of the kind that is written out."""
        activations = (architecture.encoder_activation, architecture.act)
        has_plain_rows = observed.interval is None and observed.truncated is None
        return (
            has_plain_rows
            and architecture.module is None
            and issubclass(architecture.family, LogLocationScale)
            and all(activation.in_place is not None for activation in activations)
        )

    def batches(self, observed: Observations, settings: Settings) -> list[_Batch]:
        """Return one batch per step from observations ``[n_models, n_steps, n_rows]``."""
        weight = observed.weight.sum(-1)  # [n_models, n_steps]
        share = observed.weight / weight[..., None]
        log_time = torch.log(observed.time)
        jacobian = torch.where(observed.event > 0, observed.log_width - log_time, 0.0)
        constant = -(share * jacobian).sum(-1)
        n_events = self.out_shape[0]
        events = torch.arange(1, n_events + 1, device=share.device)
        has_happened = observed.event[..., None, None, :] == events[:, None, None]
        happened = has_happened.to(share)
        discount = settings.discount.view(-1, 1, 1, 1, 1)
        factor = torch.lerp(discount, torch.ones_like(discount), happened)
        loss_share = -share[..., None, None, :] * factor
        tensors = (log_time[..., None, None, :], happened, loss_share, constant, weight)
        steps = zip(*(values.unbind(1) for values in tensors), strict=True)
        return [_Batch(*step) for step in steps]

    def with_gradient(
        self,
        parameters: FleetVector,
        gradient: FleetVector,
        settings: Settings,
        x: Tensor,
        batch: _Batch,
        masks: list[Tensor] | None,
    ) -> Tensor:
        """Return the loss ``[n_models]`` without the penalties; write the gradient with them."""
        forward = self._forward(parameters, x, batch, masks)
        terms, d_value, d_logits = self._mix(forward, batch)
        n_models, n_rows, _ = x.shape
        d_out = self._buffer("d_out", (n_models, *self.out_shape, n_rows), x)
        d_z = forward.d_z.mul_(d_value)
        # z = precision * (log t - location), and log f has a term log precision
        d_out[:, :, 0] = d_logits
        d_out[:, :, 1 + self.location_index] = -d_z * forward.precision
        d_log_precision = d_out[:, :, 1 + self.precision_index]
        torch.mul(d_value, batch.happened, out=d_log_precision).addcmul_(d_z, forward.z)
        if self.family.precision_sign < 0:
            d_log_precision.neg_()
        d_out.clamp_(-_GRADIENT_LIMIT, _GRADIENT_LIMIT)
        self._backward(parameters, gradient, forward, d_out, masks)
        # the derivatives of ``prior_loss``
        blocks, d_blocks = parameters.blocks, gradient.blocks
        strength = settings.prior_strength.view(-1, 1, 1, 1)
        distance = blocks["base"] - settings.prior_centre
        d_blocks["base"].addcmul_(distance, strength, value=2)
        head_prior = settings.head_prior.view(-1, 1, 1)
        d_blocks["heads"].addcmul_(blocks["heads"], head_prior)
        return terms.sum((1, 2, 3)) + batch.constant

    def held_out(
        self, parameters: FleetVector, settings: Settings, x: Tensor, batch: _Batch
    ) -> Tensor:
        """Return minus the weighted sum of the objective over rows, ``[n_models]``."""
        forward = self._forward(parameters, x, batch, None)
        terms, _, _ = self._mix(forward, batch)
        loss = terms.flatten(1).double().sum(1) + batch.constant
        return loss * batch.weight

    def _buffer(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return memory that every step uses again: new memory would cost a third of a step."""
        if (name, shape) not in self._memory:
            self._memory[name, shape] = like.new_empty(shape)
        return self._memory[name, shape]

    def _forward(
        self, parameters: FleetVector, x: Tensor, batch: _Batch, masks: list[Tensor] | None
    ) -> _Forward:
        """Return the values of the components and what their derivatives need."""
        blocks, hidden, activated = parameters.blocks, [x], []
        n_models, n_rows, _ = x.shape
        for layer in range(self.n_layers):
            weights = blocks[f"encoder.{layer}.weight"]
            shape = (n_models, n_rows, weights.shape[2])
            output = self._buffer(f"output {layer}", shape, x)
            torch.bmm(hidden[-1], weights, out=output)
            if self.has_bias:
                output.add_(blocks[f"encoder.{layer}.bias"][:, None])
            self.activate(output)
            activated.append(output)
            if masks is not None:
                dropped = self._buffer(f"dropped {layer}", shape, x)
                output = torch.mul(output, masks[layer], out=dropped)
            hidden.append(output)
        out = self._buffer("out", (n_models, blocks["heads"].shape[1], n_rows), x)
        torch.bmm(blocks["heads"], hidden[-1].transpose(1, 2), out=out)
        out = out.view(n_models, *self.out_shape, n_rows)
        logits = out[:, :, 0]
        if self.has_bias:
            logits.add_(blocks["gate_bias"][..., None])
        shifts = self.activate_shifts(out[:, :, 1:])
        base = blocks["base"][..., None]
        location_base = base[:, :, self.location_index]
        location_shift = shifts[:, :, self.location_index]
        location = torch.add(location_base, location_shift, alpha=self.location_sign)
        precision_base = base[:, :, self.precision_index]
        log_precision = precision_base + shifts[:, :, self.precision_index]
        if self.family.precision_sign < 0:
            log_precision.neg_()
        precision = log_precision.clamp(max=LOG_LIMIT).exp_()
        z = (batch.log_time - location).mul_(precision)
        value, d_z = self.family.standard(z, batch.happened)
        value.addcmul_(batch.happened, log_precision)
        return _Forward(hidden, activated, shifts, logits, precision, z, value, d_z)

    def _mix(self, forward: _Forward, batch: _Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return terms that add up to the loss, and its derivatives by values and logits."""
        logits, value, share = forward.logits, forward.value, batch.share
        if self.config.objective == "elbo":
            weights = torch.softmax(logits, 2)
            mean = (weights * value).sum(2, keepdim=True)
            d_value = weights.mul_(share)
            d_logits = (value - mean).mul_(d_value)
            return mean * share, d_value, d_logits
        log_responsibility = torch.log_softmax(logits + value, 2)
        log_weights = torch.log_softmax(logits, 2)
        d_value = log_responsibility.exp().mul_(share)
        # log sum_k w_k exp v_k = log w_k + v_k - log r_k for every k
        log_likelihood = (log_weights - log_responsibility).add_(value)
        terms = log_likelihood.mul_(d_value)
        weighted_share = log_weights.exp_().mul_(share)
        return terms, d_value, d_value - weighted_share

    def _backward(
        self,
        parameters: FleetVector,
        gradient: FleetVector,
        forward: _Forward,
        d_out: Tensor,
        masks: list[Tensor] | None,
    ) -> None:
        """Write the gradient from the derivatives by the logits and the shifts."""
        blocks, d_blocks = parameters.blocks, gradient.blocks
        d_shifts = d_out[:, :, 1:]
        torch.sum(d_shifts, dim=-1, out=d_blocks["base"])
        if self.has_bias:
            torch.sum(d_out[:, :, 0], dim=-1, out=d_blocks["gate_bias"])
        if self.location_sign < 0:
            d_shifts[:, :, self.location_index].neg_()
        self.act.differentiate(d_shifts, forward.shifts)
        d_out = d_out.flatten(1, 3)
        torch.bmm(d_out, forward.hidden[-1], out=d_blocks["heads"])
        d_above, weights = d_out.transpose(1, 2), blocks["heads"]
        for layer in reversed(range(self.n_layers)):
            output = forward.activated[layer]
            d_output = self._buffer(f"d_output {layer}", output.shape, output)
            torch.bmm(d_above, weights, out=d_output)
            if masks is not None:
                d_output.mul_(masks[layer])
            self.activation.differentiate(d_output, output)
            if self.has_bias:
                torch.sum(d_output, dim=1, out=d_blocks[f"encoder.{layer}.bias"])
            d_weights = d_blocks[f"encoder.{layer}.weight"]
            torch.bmm(forward.hidden[layer].transpose(1, 2), d_output, out=d_weights)
            d_above, weights = d_output, blocks[f"encoder.{layer}.weight"].transpose(1, 2)
