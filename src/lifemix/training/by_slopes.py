"""The training step with its gradient written out, for a primitive of any parameters that declares its own slopes.

As ``Fused``, which is for log-location-scale families: the encoder, the gate and the way back are the same, between
them stands the primitive's ``value_and_slopes``. Exact and right-censored rows only.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..likelihood import Observations
from ..model import Architecture
from ..networks import Activation
from .config import TrainConfig
from .fused import Fused, _Target, _Workspace
from .gradients import Parameters, Settings

__all__ = ["BySlopes"]

_LIMIT = 1e12  # of a derivative, so that float32 can hold the squares of their sums


class _Space(_Workspace):
    """Memory for a batch of all models, for any number of parameters."""

    def _heads(self, x: Tensor, location_at: int, act: Activation) -> None:
        n_models, n_rows, _ = x.shape
        values, slopes = self.values.blocks, self.slopes.blocks
        self.heads, self.head_slopes = values["heads"], slopes["heads"]
        self.base, self.base_slopes = values["base"], slopes["base"]  # [models, events, parameters, k]
        self.base_rows = self.base[..., None]
        self.gate_bias = values["gate_bias"][..., None] if "gate_bias" in values else None
        self.gate_bias_slopes = slopes.get("gate_bias")
        _, n_events, n_parameters, k = self.base.shape
        parts, mixture = (n_models, n_events, 1 + n_parameters, k, n_rows), (n_models, n_events, k, n_rows)
        self.out, by_out = x.new_empty(n_models, n_events * (1 + n_parameters) * k, n_rows), x.new_empty(parts)
        self.logits, self.shifts = self.out.view(parts)[:, :, 0], self.out.view(parts)[:, :, 1:]
        self.shifts_kept = torch.empty_like(self.shifts) if act.keeps_input else self.shifts
        self.by_out, self.by_rows = by_out.view_as(self.out), by_out.view_as(self.out).transpose(1, 2)
        self.by_logits, self.by_parameters = by_out[:, :, 0], by_out[:, :, 1:]
        self.parameters = x.new_empty(n_models, n_events, n_parameters, k, n_rows)
        self.mixing = x.new_empty(2, *mixture)
        self.joint, self.gate = self.mixing
        self.from_centre = torch.empty_like(self.base)


class BySlopes(Fused):
    """A primitive with slopes of its own and a multilayer perceptron; see ``usable_with``."""

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        self.architecture, self.exact, self.t_max = architecture, config.objective == "exact", config.t_max
        self.activation, self.act = architecture.encoder_activation, architecture.act
        self.primitive = architecture.family
        self.subtracted = False
        self._workspaces: dict[int, _Workspace] = {}

    @staticmethod
    def usable_with(architecture: Architecture, config: TrainConfig, observed: Observations) -> bool:
        """Tell whether all rows, the primitive and the encoder are of the sort that is written out."""
        plain_rows = observed.interval is None and observed.truncated is None and config.t_max is None
        activations = (architecture.encoder_activation, architecture.act)
        known = all(one.in_place is not None for one in activations) and architecture.module is None
        return plain_rows and known and architecture.family.has_slopes

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
        value = self._value_and_slopes(work, target)
        by_value, loss = (self._mix_exactly if self.exact else self._mix_by_bound)(work, value, target.share)
        work.by_parameters.mul_(by_value[:, :, None])
        work.by_out.clamp_(-_LIMIT, _LIMIT)
        self._backward(work, hidden, masks)
        from_centre = torch.sub(work.base, settings.prior_centre, out=work.from_centre)
        work.base_slopes.addcmul_(from_centre, settings.twice_prior)
        if settings.any_head_prior:
            work.head_slopes.addcmul_(work.heads, settings.head_prior.view(-1, 1, 1))
        return loss.sum((1, 2, 3)).add_(target.constant)

    def held_out(self, values: Parameters, settings: Settings, x: Tensor, target: _Target) -> Tensor:
        """Return minus the weighted sum of the objective."""
        work = self._workspace(values, values, x)
        self._parameters(work, self._encode(work, x, None)[-1])
        value = self._value_and_slopes(work, target)
        _, terms = (self._mix_exactly if self.exact else self._mix_by_bound)(work, value, target.share)
        return terms.flatten(1).double().sum(1) + target.constant

    def _value_and_slopes(self, work: _Workspace, target: _Target) -> Tensor:
        """Return the values ``[models, events, k, rows]``; write their slopes in the parameters."""
        assert isinstance(work, _Space)
        return self.primitive.value_and_slopes(target.log_time, target.happened, work.parameters, work.by_parameters)

    def _target_parts(self, observed: Observations, settings: Settings) -> tuple[Tensor, ...]:
        """Prepare what the primitive needs of times and fixed parameters in the place of the log times."""
        log_time, *others = super()._target_parts(observed, settings)  # [models, (steps,) 1, 1, rows]
        fixed = settings.fixed[..., :1]  # [models, events, parameters, 1]: the same for all components
        fixed = fixed.view(len(fixed), *[1] * (log_time.dim() - 4), *fixed.shape[1:])
        return self.primitive.prepared(log_time, fixed), *others

    def _workspace(self, values: Parameters, slopes: Parameters, x: Tensor) -> _Workspace:
        work = self._workspaces.get(x.shape[1])
        if work is None or work.values is not values or work.slopes is not slopes or work.shape != x.shape:
            work = _Space(values, slopes, self.architecture, x)
            current = {rows: other for rows, other in self._workspaces.items() if other.values is values}
            self._workspaces = current | {x.shape[1]: work}
        return work

    def _parameters(self, work: _Workspace, representation: Tensor) -> None:
        """Write the logits ``[models, events, k, rows]``, the shifts after ``act`` and the parameters."""
        torch.bmm(work.heads, representation.transpose(1, 2), out=work.out)
        if work.gate_bias is not None:
            work.logits.add_(work.gate_bias)
        if work.shifts_kept is not work.shifts:
            work.shifts_kept.copy_(work.shifts)
        assert self.act.in_place is not None
        self.act.in_place(work.shifts)
        torch.add(work.base_rows, work.shifts, out=work.parameters)
