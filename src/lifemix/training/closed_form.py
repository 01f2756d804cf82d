"""What training steps with their gradient written out share: encoder, heads, gate and the way back.

They minimise ``likelihood.combined_loss``, and ``Autograd`` computes the same numbers; a test holds them together. A
step of a small network is ruled by call overhead: here it is some forty calls for all models of a fleet, into memory
that is set aside once, without the bookkeeping of automatic differentiation.

With the value ``v_k`` of a component, ``log(t f_k(t))`` of an event or ``log S_k(t)`` otherwise, the log-likelihood of
a row is ``log sum_k w_k exp v_k`` (exact) or ``sum_k w_k v_k`` (elbo), up to terms without parameters. Its derivative
by ``v_k`` is the responsibility ``r_k``, or the weight ``w_k``; by the gate's logits it is ``r_k - w_k``, or
``w_k (v_k - mean v)``. Values and their derivatives by the parameters are what a subclass knows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..likelihood import Observations
from ..network import Activation, Architecture
from .config import TrainConfig
from .gradients import Parameters, Settings
from .odd_rows import OddTable
from .step_table import StepTable, StepTarget
from .workspace import Workspace

__all__ = ["ClosedForm", "known_parts"]

_LIMIT = 1e12  # of a derivative, so that float32 can hold the squares of their sums


class ClosedForm(ABC):
    """A primitive whose slopes are known and a multilayer perceptron."""

    workspace: ClassVar[type[Workspace]] = Workspace

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        self.architecture, self.exact, self.t_max = (
            architecture,
            config.objective == "exact",
            config.t_max,
        )
        self.joint = (
            self.exact and architecture.n_events > 1
        )  # the probability of an interval is an integral
        self.activation, self.act = architecture.encoder_activation, architecture.act
        self.subtracted = (
            min(architecture.shift_signs) < 0
        )  # the shift of the location, the only one that may be
        self._workspaces: dict[int, Workspace] = {}
        self._table: StepTable | None = None  # the last one

    @abstractmethod
    def _values(self, work: Any, target: StepTarget) -> tuple[Tensor, Any]:
        """Return the values ``[models, events, k, rows]``, and what ``_differentiate`` must know of them."""

    @abstractmethod
    def _differentiate(
        self, work: Any, target: StepTarget, by_value: Tensor, known: Any, loss: Tensor
    ) -> None:
        """Write the derivatives by the shifts from those by the values."""

    @abstractmethod
    def _complete(self, loss: Tensor, known: Any) -> None:
        """Add to the loss ``[models]`` what is not in the values."""

    @abstractmethod
    def _odd_table(self, table: Observations) -> OddTable | None:
        """Find the rows of a table that are neither exact nor right-censored; None where there are none."""

    def targets(
        self, table: Observations, rows: Tensor, weight: Tensor, settings: Settings
    ) -> list[StepTarget]:
        """Prepare an epoch, ``[models, steps, rows]``."""
        known, share = self._read(table), weight / weight.sum(-1, keepdim=True)
        parts = [part.unbind(1) for part in self._target_parts(known, rows, share, settings)]
        return [StepTarget(*step) for step in zip(*parts, known.odd_rows(rows, share), strict=True)]

    def _read(self, table: Observations) -> StepTable:
        """Return what is known of a table; that of the last one is kept, as nobody changes a table in place."""
        if self._table is None or self._table.source is not table:
            self._table = StepTable.of(
                table, self.architecture.n_events, self.joint, self._odd_table(table)
            )
        return self._table

    def _target_parts(
        self, table: StepTable, rows: Tensor, weight: Tensor, settings: Settings
    ) -> tuple[Tensor, ...]:
        return table.parts(rows, weight, settings.discount)

    def loss_and_gradient(
        self,
        values: Parameters,
        gradient: Parameters,
        settings: Settings,
        x: Tensor,
        target: StepTarget,
        masks: list[Tensor] | None,
    ) -> Tensor:
        """Return the loss of each model without the penalties; write the gradient with them."""
        work = self._workspace(values, gradient, x)
        hidden = self._encode(work, x, masks)
        self._parameters(work, hidden[-1])
        value, known = self._values(work, target)
        by_value, terms = (self._mix_exactly if self.exact else self._mix_by_bound)(
            work, value, target.share
        )
        loss = terms.sum((1, 2, 3)).add_(target.constant)
        self._differentiate(work, target, by_value, known, loss)
        work.by_out.clamp_(-_LIMIT, _LIMIT)
        self._backward(work, hidden, masks)
        from_centre = torch.sub(work.base, settings.prior_centre, out=work.from_centre)
        work.base_slopes.addcmul_(from_centre, settings.twice_prior)
        if settings.any_head_prior:
            work.head_slopes.addcmul_(work.heads, settings.head_prior.view(-1, 1, 1))
        return loss

    def _workspace(self, values: Parameters, slopes: Parameters, x: Tensor) -> Any:
        work = self._workspaces.get(x.shape[1])
        if (
            work is None
            or work.values is not values
            or work.slopes is not slopes
            or work.shape != x.shape
        ):
            work = self.workspace(values, slopes, self.architecture, x)
            current = {
                rows: other for rows, other in self._workspaces.items() if other.values is values
            }
            self._workspaces = current | {x.shape[1]: work}
        return work

    def _encode(self, work: Workspace, x: Tensor, masks: list[Tensor] | None) -> list[Tensor]:
        """Return the inputs and the output of every layer, dropout included."""
        hidden = [x]
        for layer, active in enumerate(work.active):
            torch.bmm(hidden[-1], work.weights[layer], out=active)
            bias = work.biases[layer]
            if bias is not None:
                active.add_(bias)
            _activate(self.activation, active, work.kept[layer])
            hidden.append(
                active
                if masks is None
                else torch.mul(active, masks[layer], out=work.dropped[layer])
            )
        return hidden

    def _parameters(self, work: Any, representation: Tensor) -> None:
        """Write the logits ``[models, events, k, rows]``, the shifts after ``act`` and the parameters."""
        torch.bmm(work.heads, representation.transpose(1, 2), out=work.out)
        if work.gate_bias is not None:
            work.logits.add_(work.gate_bias)
        _activate(self.act, work.shifts, work.shifts_kept)
        torch.add(work.base_rows, work.shifts, out=work.parameters)
        if self.subtracted:
            torch.sub(work.location_base, work.location_shift, out=work.location)

    def _mix_exactly(self, work: Workspace, value: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """Write the derivative by the logits; return that by the values, and terms that add up to the loss."""
        torch.add(work.logits, value, out=work.joint)
        work.gate.copy_(work.logits)
        logs = torch.log_softmax(work.mixing, 3)  # of the responsibilities and of the weights
        torch.exp(logs, out=work.mixing).mul_(share)
        torch.sub(work.joint, work.gate, out=work.by_logits)
        # log sum_k w_k exp v_k = v_k + log w_k - log r_k for every k
        return work.joint, torch.sub(logs[1], logs[0]).add_(value).mul_(work.joint)

    def _mix_by_bound(self, work: Workspace, value: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
        """The same for the bound."""
        weights = torch.softmax(work.logits, 2)
        mean = (weights * value).sum(2, keepdim=True)
        by_value = weights.mul_(share)
        torch.sub(value, mean, out=work.by_logits).mul_(by_value)
        return by_value, mean.mul_(share)

    def _backward(self, work: Workspace, hidden: list[Tensor], masks: list[Tensor] | None) -> None:
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

    def held_out_target(
        self, table: Observations, rows: Tensor, weight: Tensor, settings: Settings
    ) -> StepTarget:
        """Prepare rows whose terms are added up."""
        known = self._read(table)
        log_time, happened, share, constant = self._target_parts(known, rows, weight, settings)
        (odd,) = known.odd_rows(rows[:, None], weight[:, None])
        return StepTarget(log_time, happened, share, constant, odd)

    def held_out(
        self, values: Parameters, settings: Settings, x: Tensor, target: StepTarget
    ) -> Tensor:
        """Return minus the weighted sum of the objective."""
        work = self._workspace(values, values, x)
        self._parameters(work, self._encode(work, x, None)[-1])
        value, known = self._values(work, target)
        _, terms = (self._mix_exactly if self.exact else self._mix_by_bound)(
            work, value, target.share
        )
        loss = terms.flatten(1).double().sum(1) + target.constant
        self._complete(loss, known)
        return loss


def known_parts(architecture: Architecture) -> bool:
    """Tell whether encoder and activations are of the sort that is written out."""
    activations = (architecture.encoder_activation, architecture.act)
    return all(one.in_place is not None for one in activations) and architecture.module is None


def _activate(activation: Activation, x: Tensor, kept: Tensor) -> None:
    """Apply an activation in place; where its derivative needs the input, keep a copy of that."""
    if kept is not x:
        kept.copy_(x)
    assert activation.in_place is not None
    activation.in_place(x)
