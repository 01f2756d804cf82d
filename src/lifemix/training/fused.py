"""The training step with its gradient written out, for log-location-scale families.

It minimises ``likelihood.combined_loss``, and ``Autograd`` computes the same numbers; a test holds the two together. A
step of a small network is ruled by call overhead: here it is some forty calls for all models of a fleet, into memory
that is set aside once, without the bookkeeping of automatic differentiation.

With ``v_k = happened * log_precision_k + standard(z_k)`` the log-likelihood of a row is ``log sum_k w_k exp v_k``
(exact) or ``sum_k w_k v_k`` (elbo), up to terms without parameters. Its derivative by ``v_k`` is the responsibility
``r_k``, or the weight ``w_k``; by the gate's logits it is ``r_k - w_k``, or ``w_k (v_k - mean v)``.

So it is for exact and right-censored rows; ``odd_rows`` has what differs for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..likelihood import Observations
from ..model import Architecture
from ..networks import Activation
from ..primitives import LogLocationScale
from ..primitives.stable import LOG_LIMIT
from .config import TrainConfig
from .gradients import Parameters, Settings
from .odd_rows import Correction, OddRows, odd_rows

__all__ = ["Fused"]

_LIMIT = 1e12  # of a derivative, so that float32 can hold the squares of their sums


@dataclass(frozen=True, eq=False)
class _Target:
    """What the likelihood must know of its rows; rows are the last axis: sums over components run along memory."""

    log_time: Tensor  # [models, 1, 1, rows]; of an interval its lower end, or the upper one where that is 0
    happened: Tensor  # [models, events, 1, rows], 1 or 0; 0 for an event in an interval
    share: Tensor  # [models, events, 1, rows]: minus the weight of the term in the loss
    constant: Tensor  # [models]: the part of the loss without parameters
    odd: OddRows | None = None


class _Workspace:
    """Memory for a batch of all models, and the views of the parameters and their slopes that a step needs."""

    def __init__(self, values: Parameters, slopes: Parameters, architecture: Architecture, x: Tensor) -> None:
        self.values, self.slopes, self.shape = values, slopes, x.shape
        self._encoder(len(architecture.hidden), x, architecture.encoder_activation)
        self._heads(x, _location_index(architecture), architecture.act)

    def _encoder(self, depth: int, x: Tensor, activation: Activation) -> None:
        n_models, n_rows, _ = x.shape
        values, slopes = self.values.blocks, self.slopes.blocks
        self.weights = [values[f"encoder.{layer}.weight"] for layer in range(depth)]
        self.weights_across = [weight.transpose(1, 2) for weight in self.weights]
        self.weight_slopes = [slopes[f"encoder.{layer}.weight"] for layer in range(depth)]
        with_bias = "encoder.0.bias" in values
        self.biases = [values[f"encoder.{layer}.bias"][:, None] if with_bias else None for layer in range(depth)]
        self.bias_slopes = [slopes[f"encoder.{layer}.bias"] if with_bias else None for layer in range(depth)]
        self.active = [x.new_empty(n_models, n_rows, weight.shape[2]) for weight in self.weights]
        # What the derivative of the activation is told from: its value, or a copy of what went into it.
        self.kept = [torch.empty_like(active) for active in self.active] if activation.keeps_input else self.active
        self.dropped = [torch.empty_like(active) for active in self.active]
        self.by_active = [torch.empty_like(active) for active in self.active]

    def _heads(self, x: Tensor, location_at: int, act: Activation) -> None:
        n_models, n_rows, _ = x.shape
        values, slopes = self.values.blocks, self.slopes.blocks
        self.heads, self.head_slopes = values["heads"], slopes["heads"]
        self.base, self.base_slopes = values["base"], slopes["base"]  # [models, events, 2, k]
        self.base_rows = self.base[..., None]
        self.gate_bias = values["gate_bias"][..., None] if "gate_bias" in values else None
        self.gate_bias_slopes = slopes.get("gate_bias")
        _, n_events, _, k = self.base.shape
        parts, mixture = (n_models, n_events, 3, k, n_rows), (n_models, n_events, k, n_rows)
        self.out, by_out = x.new_empty(n_models, n_events * 3 * k, n_rows), x.new_empty(parts)
        self.logits, self.shifts = self.out.view(parts)[:, :, 0], self.out.view(parts)[:, :, 1:]
        self.shifts_kept = torch.empty_like(self.shifts) if act.keeps_input else self.shifts
        self.by_out, self.by_rows = by_out.view_as(self.out), by_out.view_as(self.out).transpose(1, 2)
        self.by_logits, self.by_parameters = by_out[:, :, 0], by_out[:, :, 1:]
        self.by_location, self.by_precision = by_out[:, :, 1 + location_at], by_out[:, :, 2 - location_at]
        self.parameters = x.new_empty(n_models, n_events, 2, k, n_rows)
        self.location, self.log_precision = self.parameters[:, :, location_at], self.parameters[:, :, 1 - location_at]
        self.location_base, self.location_shift = self.base_rows[:, :, location_at], self.shifts[:, :, location_at]
        self.location_base_slopes = self.base_slopes[:, :, location_at]
        self.precision, self.z = x.new_empty(mixture), x.new_empty(mixture)
        self.mixing = x.new_empty(2, *mixture)
        self.joint, self.gate = self.mixing
        self.from_centre = torch.empty_like(self.base)
        self.zero = x.new_zeros(())


def _location_index(architecture: Architecture) -> int:
    at = architecture.family.location_index()
    return 0 if at is None else at


class Fused:
    """A log-location-scale family and a multilayer perceptron; see ``usable``."""

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        self.architecture, self.exact, self.t_max = architecture, config.objective == "exact", config.t_max
        self.activation, self.act = architecture.encoder_activation, architecture.act
        # Location and log precision are the primitive's parameters up to order and sign, and so are their derivatives.
        assert issubclass(architecture.family, LogLocationScale)
        self.family = architecture.family
        self.subtracted = architecture.shift_signs[_location_index(architecture)] < 0
        self.location_sign = 1 if self.subtracted else -1  # of the derivative by the shift of the location, in by_z
        self.precision_falls = self.family.precision_sign < 0
        self._workspaces: dict[int, _Workspace] = {}

    @staticmethod
    def usable(architecture: Architecture) -> bool:
        """Tell whether primitive and encoder are of the sort that is written out."""
        activations = (architecture.encoder_activation, architecture.act)
        known = all(one.in_place is not None for one in activations) and architecture.module is None
        return known and issubclass(architecture.family, LogLocationScale)

    def targets(self, observed: Observations, settings: Settings) -> list[_Target]:
        """Prepare an epoch, ``[models, steps, rows]``."""
        observed = observed.reweighted(observed.weight / observed.weight.sum(-1, keepdim=True))
        parts = [part.unbind(1) for part in self._target_parts(observed, settings)]
        return [_Target(*step) for step in zip(*parts, self._odd_rows(observed), strict=True)]

    def _target_parts(self, observed: Observations, settings: Settings) -> tuple[Tensor, ...]:
        weight = observed.weight
        types = torch.arange(1, self.architecture.n_events + 1, device=weight.device)[:, None, None]
        happened = (observed.event[..., None, None, :] == types).to(weight)
        discount = settings.discount.view(-1, *[1] * (happened.dim() - 1))
        share = -weight[..., None, None, :] * torch.lerp(discount, torch.ones_like(discount), happened)
        log_time = torch.log(observed.time)
        # The part of the log-likelihood that has no parameter is log dz/dt without the precision.
        known = torch.where(observed.event > 0, weight * (observed.log_width - log_time), 0.0)
        if observed.interval is not None:
            known = torch.where(observed.interval, 0.0, known)
            log_time, happened, share = self._of_intervals(observed, log_time, happened, share)
        return log_time[..., None, None, :], happened, share, -known.sum(-1)

    def _of_intervals(
        self, observed: Observations, log_time: Tensor, happened: Tensor, share: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Prepare the rows of intervals for what ``odd_rows`` does to them."""
        assert observed.interval is not None
        assert observed.upper is not None
        interval = observed.interval[..., None, None, :]
        if self.exact and self.architecture.n_events > 1:
            share = torch.where(interval, 0.0, share)  # all of the row is computed there
        if observed.at_origin is not None:
            first = observed.interval & observed.at_origin
            log_time = torch.where(first, torch.log(observed.upper), log_time)
            share = torch.where(first[..., None, None, :] & (happened == 0), 0.0, share)  # S(0) = 1
        return log_time, torch.where(interval, 0.0, happened), share

    def _odd_rows(self, observed: Observations) -> list[OddRows | None]:
        """Find the odd rows of every step."""
        if observed.interval is None and observed.truncated is None and self.t_max is None:
            return [None] * observed.weight.shape[1]
        return odd_rows(observed, self.architecture.n_events, self.architecture.k, self.exact, self.t_max)

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
        work = self._workspace(values, gradient, x)
        hidden = self._encode(work, x, masks)
        self._parameters(work, hidden[-1])
        value, slope, correction = self._values(work, target)
        by_value, terms = (self._mix_exactly if self.exact else self._mix_by_bound)(work, value, target.share)
        loss = terms.sum((1, 2, 3)).add_(target.constant)
        torch.mul(by_value, target.happened, out=work.by_precision)
        by_z = slope.mul_(by_value)
        work.by_precision.addcmul_(by_z, work.z)
        # by_location is the derivative by the shift: that by the base has the other sign where the shift is subtracted.
        torch.addcmul(work.zero, by_z, work.precision, value=self.location_sign, out=work.by_location)
        if correction is not None:
            correction.after_mixing(by_value, self.location_sign)
            correction.add_joint(loss, self.location_sign)
        if self.precision_falls:
            work.by_precision.neg_()
        work.by_out.clamp_(-_LIMIT, _LIMIT)
        self._backward(work, hidden, masks)
        from_centre = torch.sub(work.base, settings.prior_centre, out=work.from_centre)
        work.base_slopes.addcmul_(from_centre, settings.twice_prior)
        if settings.any_head_prior:
            work.head_slopes.addcmul_(work.heads, settings.head_prior.view(-1, 1, 1))
        return loss

    def _workspace(self, values: Parameters, slopes: Parameters, x: Tensor) -> _Workspace:
        work = self._workspaces.get(x.shape[1])
        if work is None or work.values is not values or work.slopes is not slopes or work.shape != x.shape:
            work = _Workspace(values, slopes, self.architecture, x)
            current = {rows: other for rows, other in self._workspaces.items() if other.values is values}
            self._workspaces = current | {x.shape[1]: work}
        return work

    def _encode(self, work: _Workspace, x: Tensor, masks: list[Tensor] | None) -> list[Tensor]:
        """Return the inputs and the output of every layer, dropout included."""
        hidden = [x]
        for layer, active in enumerate(work.active):
            torch.bmm(hidden[-1], work.weights[layer], out=active)
            bias = work.biases[layer]
            if bias is not None:
                active.add_(bias)
            _activate(self.activation, active, work.kept[layer])
            hidden.append(active if masks is None else torch.mul(active, masks[layer], out=work.dropped[layer]))
        return hidden

    def _parameters(self, work: _Workspace, representation: Tensor) -> None:
        """Write the logits ``[models, events, k, rows]``, the shifts after ``act`` and location and log precision."""
        torch.bmm(work.heads, representation.transpose(1, 2), out=work.out)
        if work.gate_bias is not None:
            work.logits.add_(work.gate_bias)
        _activate(self.act, work.shifts, work.shifts_kept)
        torch.add(work.base_rows, work.shifts, out=work.parameters)
        if self.subtracted:
            torch.sub(work.location_base, work.location_shift, out=work.location)
        if self.precision_falls:
            work.log_precision.neg_()

    def _values(self, work: _Workspace, target: _Target) -> tuple[Tensor, Tensor, Correction | None]:
        """Return v and its slope in z, ``[models, events, k, rows]``, and what is left to do; write z and precision."""
        torch.clamp(work.log_precision, max=LOG_LIMIT, out=work.precision).exp_()
        torch.sub(target.log_time, work.location, out=work.z).mul_(work.precision)
        value, slope = self.family.standard(work.z, target.happened)
        value.addcmul_(target.happened, work.log_precision)
        if target.odd is None:
            return value, slope, None
        correction = Correction(target.odd, self.family, work)
        correction.before_mixing(value, slope)
        return value, slope, correction

    def _mix_exactly(self, work: _Workspace, value: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """Write the derivative by the logits; return that by the values, and terms that add up to the loss."""
        torch.add(work.logits, value, out=work.joint)
        work.gate.copy_(work.logits)
        logs = torch.log_softmax(work.mixing, 3)  # of the responsibilities and of the weights
        torch.exp(logs, out=work.mixing).mul_(share)
        torch.sub(work.joint, work.gate, out=work.by_logits)
        # log sum_k w_k exp v_k = v_k + log w_k - log r_k for every k
        return work.joint, torch.sub(logs[1], logs[0]).add_(value).mul_(work.joint)

    def _mix_by_bound(self, work: _Workspace, value: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """The same for the bound."""
        weights = torch.softmax(work.logits, 2)
        mean = (weights * value).sum(2, keepdim=True)
        by_value = weights.mul_(share)
        torch.sub(value, mean, out=work.by_logits).mul_(by_value)
        return by_value, mean.mul_(share)

    def _backward(self, work: _Workspace, hidden: list[Tensor], masks: list[Tensor] | None) -> None:
        """Carry the derivative from the parameters of the mixtures back to those of heads and encoder."""
        torch.sum(work.by_parameters, dim=-1, out=work.base_slopes)
        if work.gate_bias_slopes is not None:
            torch.sum(work.by_logits, dim=-1, out=work.gate_bias_slopes)
        if self.subtracted:
            work.location_base_slopes.neg_()
        if self.act.derivative_in_place is not None:
            self.act.derivative_in_place(work.by_parameters, work.shifts_kept)
        torch.bmm(work.by_out, hidden[-1], out=work.head_slopes)
        above, weights = work.by_rows, work.heads
        for layer in reversed(range(len(work.active))):
            out = torch.bmm(above, weights, out=work.by_active[layer])
            if masks is not None:
                out.mul_(masks[layer])
            if self.activation.derivative_in_place is not None:
                self.activation.derivative_in_place(out, work.kept[layer])
            if work.biases[layer] is not None:
                torch.sum(out, dim=1, out=work.bias_slopes[layer])
            torch.bmm(hidden[layer].transpose(1, 2), out, out=work.weight_slopes[layer])
            above, weights = out, work.weights_across[layer]

    def held_out_target(self, observed: Observations, settings: Settings) -> _Target:
        """Prepare rows whose terms are added up."""
        log_time, happened, share, constant = self._target_parts(observed, settings)
        (odd,) = self._odd_rows(observed.take((slice(None), None)))
        return _Target(log_time, happened, share, constant, odd)

    def held_out(self, values: Parameters, settings: Settings, x: Tensor, target: _Target) -> Tensor:
        """Return minus the weighted sum of the objective."""
        work = self._workspace(values, values, x)
        self._parameters(work, self._encode(work, x, None)[-1])
        value, _, correction = self._values(work, target)
        _, terms = (self._mix_exactly if self.exact else self._mix_by_bound)(work, value, target.share)
        loss = terms.flatten(1).double().sum(1) + target.constant
        if correction is not None:
            correction.add_joint(loss)
        return loss


def _activate(activation: Activation, x: Tensor, kept: Tensor) -> None:
    """Apply an activation in place; where its derivative needs the input, keep a copy of that."""
    if kept is not x:
        kept.copy_(x)
    assert activation.in_place is not None
    activation.in_place(x)
