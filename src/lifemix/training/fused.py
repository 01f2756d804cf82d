"""The training step with its gradient written out, for log-location-scale families.

The value of a component is ``v_k = happened * log_precision_k + standard(z_k)``. So it is for exact and right-censored
rows; ``correction`` has what differs for the others.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..likelihood import Observations
from ..network import Activation, Architecture
from ..primitives import LogLocationScale
from ..primitives.stable import LOG_LIMIT
from .closed_form import ClosedForm, known_parts
from .config import TrainConfig
from .correction import Correction
from .odd_rows import OddTable
from .step_table import StepTarget
from .workspace import Workspace

__all__ = ["Fused"]

_Known = tuple[Tensor, Correction | None]
"""The slopes of the values in z, and what is left to do for odd rows."""


class _Standardised(Workspace):
    """Memory for location, precision and z."""

    def _heads(self, x: Tensor, location_at: int | None, act: Activation) -> None:
        super()._heads(x, location_at, act)
        at = 0 if location_at is None else location_at
        self.log_precision, self.by_precision = (
            self.parameters[:, :, 1 - at],
            self.by_parameters[:, :, 1 - at],
        )
        self.precision, self.z = torch.empty_like(self.joint), torch.empty_like(self.joint)
        self.zero = x.new_zeros(())


class Fused(ClosedForm):
    """A log-location-scale family and a multilayer perceptron; see ``usable``."""

    workspace = _Standardised

    def __init__(self, architecture: Architecture, config: TrainConfig) -> None:
        super().__init__(architecture, config)
        # Location and log precision are the primitive's parameters up to order and sign, and so are their derivatives.
        assert issubclass(architecture.family, LogLocationScale)
        self.family = architecture.family
        self.location_sign = (
            1 if self.subtracted else -1
        )  # of the derivative by the shift of the location, in by_z
        self.precision_falls = self.family.precision_sign < 0

    @staticmethod
    def usable(architecture: Architecture) -> bool:
        """Tell whether primitive and encoder are of the sort that is written out."""
        return known_parts(architecture) and issubclass(architecture.family, LogLocationScale)

    def _odd_table(self, table: Observations) -> OddTable | None:
        if table.interval is None and table.truncated is None and self.t_max is None:
            return None
        return OddTable(
            table, self.architecture.n_events, self.architecture.k, self.joint, self.t_max
        )

    def _parameters(self, work: _Standardised, representation: Tensor) -> None:
        super()._parameters(work, representation)
        if self.precision_falls:
            work.log_precision.neg_()

    def _values(self, work: _Standardised, target: StepTarget) -> tuple[Tensor, _Known]:
        """Return v and its slope in z, ``[models, events, k, rows]``, and what is left to do; write z and precision."""
        torch.clamp(work.log_precision, max=LOG_LIMIT, out=work.precision).exp_()
        torch.sub(target.log_time, work.location, out=work.z).mul_(work.precision)
        value, slope = self.family.standard(work.z, target.happened)
        value.addcmul_(target.happened, work.log_precision)
        if target.odd is None:
            return value, (slope, None)
        correction = Correction(target.odd, self.family, work)
        correction.before_mixing(value, slope)
        return value, (slope, correction)

    def _differentiate(
        self, work: _Standardised, target: StepTarget, by_value: Tensor, known: _Known, loss: Tensor
    ) -> None:
        slope, correction = known
        torch.mul(by_value, target.happened, out=work.by_precision)
        by_z = slope.mul_(by_value)
        work.by_precision.addcmul_(by_z, work.z)
        # by_location is the derivative by the shift: that by the base has the other sign where the shift is subtracted.
        torch.addcmul(
            work.zero, by_z, work.precision, value=self.location_sign, out=work.by_location
        )
        if correction is not None:
            correction.after_mixing(by_value, self.location_sign)
            correction.add_joint(loss, self.location_sign)
        if self.precision_falls:
            work.by_precision.neg_()

    def _complete(self, loss: Tensor, known: _Known) -> None:
        if known[1] is not None:
            known[1].add_joint(loss)
