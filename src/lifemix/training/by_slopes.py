"""The training step with its gradient written out, for a primitive of any parameters that declares its own slopes.

Exact and right-censored rows only.
"""

from __future__ import annotations

from torch import Tensor

from ..likelihood import Observations
from ..network import Architecture
from .closed_form import ClosedForm, known_parts
from .config import TrainConfig
from .gradients import Settings
from .step_table import StepTable, StepTarget
from .workspace import Workspace

__all__ = ["BySlopes"]


class BySlopes(ClosedForm):
    """A primitive with slopes of its own and a multilayer perceptron; see ``usable_with``."""

    @staticmethod
    def usable_with(
        architecture: Architecture, config: TrainConfig, observed: Observations
    ) -> bool:
        """Tell whether all rows, the primitive and the encoder are of the sort that is written out."""
        plain_rows = (
            observed.interval is None and observed.truncated is None and config.t_max is None
        )
        return plain_rows and known_parts(architecture) and architecture.family.has_slopes

    def _target_parts(
        self, table: StepTable, rows: Tensor, weight: Tensor, settings: Settings
    ) -> tuple[Tensor, ...]:
        """Prepare what the primitive needs of times and fixed parameters in the place of the log times."""
        log_time, *others = super()._target_parts(
            table, rows, weight, settings
        )  # [models, (steps,) 1, 1, rows]
        fixed = settings.fixed[
            ..., :1
        ]  # [models, events, parameters, 1]: the same for all components
        fixed = fixed.view(len(fixed), *[1] * (log_time.dim() - 4), *fixed.shape[1:])
        return self.architecture.family.prepared(log_time, fixed), *others

    def _odd_table(self, table: Observations) -> None:
        return None

    def _values(self, work: Workspace, target: StepTarget) -> tuple[Tensor, None]:
        family = self.architecture.family
        return family.value_and_slopes(
            target.log_time, target.happened, work.parameters, work.by_parameters
        ), None

    def _differentiate(
        self, work: Workspace, target: StepTarget, by_value: Tensor, known: None, loss: Tensor
    ) -> None:
        work.by_parameters.mul_(by_value[:, :, None])
        if self.subtracted:  # by the shift, as that by the base is with the other sign
            work.by_location.neg_()

    def _complete(self, loss: Tensor, known: None) -> None:
        """All is in the values."""
