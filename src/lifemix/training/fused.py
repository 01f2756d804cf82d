"""The training step with its gradient written out, for exact and right-censored rows and a plain encoder.

A step of a small network is ruled by call overhead: here it is some forty calls for all models of a fleet, without
the bookkeeping of automatic differentiation. ``Autograd`` computes the same numbers; a test holds the two together.

With ``v_k = happened * log_precision_k + standard(z_k)`` the log-likelihood of a row is ``log sum_k w_k exp v_k``
(exact) or ``sum_k w_k v_k`` (elbo), up to terms without parameters. Its derivative by ``v_k`` is the responsibility
``r_k``, or the weight ``w_k``; by the gate's logits it is ``r_k - w_k``, or ``w_k (v_k - mean v)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ..likelihood import Observations
from ..model import Architecture
from ..primitives.stable import LOG_LIMIT
from .config import TrainConfig
from .gradients import Parameters, Settings

__all__ = ["Fused"]

_LIMIT = 1e12  # of a derivative, so that float32 can hold the squares of their sums
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

_aten = torch.ops.aten

# Activations whose derivative can be told from their value: (function, derivative times a gradient)
_ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor] | None]] = {
    "relu6": (lambda x: x.clamp_(0, 6), lambda g, y: _aten.hardtanh_backward(g, y, 0, 6)),
    "relu": (lambda x: x.clamp_(min=0), lambda g, y: _aten.threshold_backward(g, y, 0)),
    "tanh": (lambda x: x.tanh_(), lambda g, y: _aten.tanh_backward(g, y)),
    "selu": (functional.selu_, lambda g, y: _aten.elu_backward(g, _SELU_ALPHA, _SELU_SCALE, 1, True, y)),
    "elu": (functional.elu_, lambda g, y: _aten.elu_backward(g, 1, 1, 1, True, y)),
    "identity": (lambda x: x, None),
}


@dataclass(frozen=True, eq=False)
class _Target:
    """What a step must know of its rows; rows are the last axis, so that sums over components run along memory."""

    log_time: Tensor  # [models, 1, 1, rows]
    happened: Tensor  # [models, events, 1, rows], 1 or 0
    share: Tensor  # [models, events, 1, rows]: minus the weight of the term in the loss
    constant: Tensor  # [models]: the part of the loss without parameters


class Fused:
    """Exact and right-censored rows, a multilayer perceptron; see ``usable``."""

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        self.architecture, self.exact = architecture, config.objective == "exact"
        self.activation, self.derivative = _ACTIVATIONS[architecture.activation]
        self.act, self.act_derivative = _ACTIVATIONS[architecture.act]
        # Location and log precision are the law's parameters up to order and sign, and so are their derivatives.
        order = architecture.law.from_location(torch.tensor(1.0), torch.tensor(2.0)).parameters
        self.location_at, self.precision_at = (1, 2) if abs(order[0]) == 1 else (2, 1)
        self.precision_falls = bool(order[self.precision_at - 1] < 0)

    @staticmethod
    def usable(architecture: Architecture, config: TrainConfig, observed: Observations) -> bool:
        """Tell whether all rows and the encoder are of the plain kind."""
        plain_rows = observed.interval is None and observed.truncated is None and config.t_max is None
        known = architecture.activation in _ACTIVATIONS and architecture.act in _ACTIVATIONS
        return plain_rows and known and architecture.module is None

    def targets(self, observed: Observations, settings: Settings) -> list[_Target]:
        """Prepare an epoch, ``[models, steps, rows]``."""
        weight = observed.weight / observed.weight.sum(-1, keepdim=True)
        log_time = torch.log(observed.time)[:, :, None, None]
        happened = self._happened(observed)
        share = -weight[:, :, None, None] * self._discounted(happened, settings)
        constant = -_known(observed, weight).sum(-1)  # [models, steps]
        steps = range(weight.shape[1])
        return [_Target(log_time[:, s], happened[:, s], share[:, s], constant[:, s]) for s in steps]

    def _happened(self, observed: Observations) -> Tensor:
        """Return 1 where an event happened, ``[..., events, 1, rows]``."""
        kinds = torch.arange(1, self.architecture.n_events + 1, device=observed.event.device)
        return (observed.event[..., None, None, :] == kinds[:, None, None]).to(observed.weight)

    @staticmethod
    def _discounted(happened: Tensor, settings: Settings) -> Tensor:
        discount = settings.discount.view(-1, *[1] * (happened.dim() - 1))
        return happened + (1 - happened) * discount

    @torch.no_grad()
    def loss_and_gradient(
        self,
        values: Parameters,
        gradient: Parameters,
        settings: Settings,
        x: Tensor,
        target: _Target,
        masks: list[Tensor] | None,
    ) -> Tensor:
        """Return the loss of each model without the penalties; write the gradient with them."""
        parameters, slots = values.blocks, gradient.blocks
        hidden, active = self._encode(parameters, x, masks)
        logits, shifts, law = self._heads(parameters, hidden[-1])
        by_out = torch.empty((len(x), self.architecture.n_events, 3, *logits.shape[2:]), dtype=x.dtype, device=x.device)
        log_likelihood = self._likelihood(logits, law, target, by_out)
        by_parameter = by_out[:, :, 1:]
        torch.sum(by_parameter, dim=-1, out=slots["base"])
        if "gate_bias" in slots:
            torch.sum(by_out[:, :, 0], dim=-1, out=slots["gate_bias"])
        if self.act_derivative is not None:
            by_parameter.copy_(self.act_derivative(by_parameter, shifts))
        by_out = by_out.flatten(1, 3)  # [models, events * 3 * k, rows]
        torch.bmm(by_out, hidden[-1], out=slots["heads"])
        self._backward(parameters, slots, hidden, active, by_out.transpose(1, 2), masks)
        slots["base"].addcmul_(parameters["base"] - settings.prior_centre[..., None], settings.twice_prior)
        if settings.any_head_prior:
            slots["heads"].addcmul_(parameters["heads"], settings.head_prior.view(-1, 1, 1))
        return (target.share * log_likelihood).sum((1, 2, 3)).add_(target.constant)

    def _likelihood(self, logits: Tensor, law: Any, target: _Target, by_out: Tensor) -> Tensor:
        """Return the log-likelihood ``[models, events, 1, rows]``; write its derivatives into by_out."""
        precision = law.log_precision.clamp(max=LOG_LIMIT).exp_()
        z = (target.log_time - law.location).mul_(precision)
        value, slope = law.standard(z, target.happened)
        value.addcmul_(target.happened, law.log_precision)
        total, by_value, by_logit = self._mix(logits, value)
        torch.mul(by_logit, target.share, out=by_out[:, :, 0])
        by_value = by_value * target.share
        by_z = slope.mul_(by_value)
        by_precision = torch.addcmul(by_value.mul_(target.happened), by_z, z, out=by_out[:, :, self.precision_at])
        if self.precision_falls:
            by_precision.neg_()
        torch.mul(by_z, precision, out=by_out[:, :, self.location_at]).neg_()
        by_out.clamp_(-_LIMIT, _LIMIT)
        return total

    def _encode(
        self, parameters: dict[str, Tensor], x: Tensor, masks: list[Tensor] | None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return the inputs and the output of every layer, dropout included, and the outputs before dropout."""
        hidden, active = [x], []
        for layer in range(len(self.architecture.hidden)):
            weight, bias = parameters[f"encoder.{layer}.weight"], parameters.get(f"encoder.{layer}.bias")
            x = torch.bmm(x, weight)
            x = self.activation(x if bias is None else x.add_(bias[:, None]))
            active.append(x)
            if masks is not None:
                x = x * masks[layer]
            hidden.append(x)
        return hidden, active

    def _heads(self, parameters: dict[str, Tensor], representation: Tensor) -> tuple[Tensor, Tensor, Any]:
        """Return logits ``[models, events, k, rows]``, the shifts after ``act`` and the primitives."""
        base = parameters["base"]  # [models, events, 2, k]
        out = torch.bmm(parameters["heads"], representation.transpose(1, 2))
        out = out.unflatten(1, (base.shape[1], 3, base.shape[3]))
        logits = out[:, :, 0]
        if "gate_bias" in parameters:
            logits.add_(parameters["gate_bias"][..., None])
        shifts = self.act(out[:, :, 1:])
        both = shifts + base[..., None]
        return logits, shifts, self.architecture.law(both[:, :, 0], both[:, :, 1])

    def _mix(self, logits: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the log-likelihood ``[models, events, 1, rows]`` and its derivatives by values and logits."""
        weights = torch.softmax(logits, 2)
        if self.exact:
            joint = logits + value
            total = torch.logsumexp(joint, 2, keepdim=True) - torch.logsumexp(logits, 2, keepdim=True)
            responsibility = torch.softmax(joint, 2)
            return total, responsibility, responsibility - weights
        total = (weights * value).sum(2, keepdim=True)
        return total, weights, (value - total).mul_(weights)

    def _backward(
        self,
        parameters: dict[str, Tensor],
        slots: dict[str, Tensor],
        hidden: list[Tensor],
        active: list[Tensor],
        out: Tensor,
        masks: list[Tensor] | None,
    ) -> None:
        """Carry the derivative from the heads back through the encoder."""
        above = parameters["heads"]
        for layer in reversed(range(len(self.architecture.hidden))):
            out = torch.bmm(out, above)
            if masks is not None:
                out.mul_(masks[layer])
            if self.derivative is not None:
                out = self.derivative(out, active[layer])
            if f"encoder.{layer}.bias" in slots:
                torch.sum(out, dim=1, out=slots[f"encoder.{layer}.bias"])
            torch.bmm(hidden[layer].transpose(1, 2), out, out=slots[f"encoder.{layer}.weight"])
            above = parameters[f"encoder.{layer}.weight"].transpose(1, 2)

    @torch.no_grad()
    def held_out(self, values: Parameters, settings: Settings, x: Tensor, observed: Observations) -> Tensor:
        """Return minus the weighted sum of the objective."""
        logits, _, law = self._heads(values.blocks, self._encode(values.blocks, x, None)[0][-1])
        happened = self._happened(observed)
        z = law.log_precision.clamp(max=LOG_LIMIT).exp_() * (torch.log(observed.time)[:, None, None] - law.location)
        value = law.standard(z, happened)[0] + happened * law.log_precision
        scaled = self._mix(logits, value)[0] * self._discounted(happened, settings)
        rows = observed.weight * scaled.sum(dim=(1, 2)) + _known(observed, observed.weight)
        return -rows.double().sum(1)


def _known(observed: Observations, weight: Tensor) -> Tensor:
    """Return the part of the log-likelihood that has no parameter: ``log dz/dt`` without the precision."""
    return torch.where(observed.event > 0, weight * (observed.log_width - torch.log(observed.time)), 0.0)
