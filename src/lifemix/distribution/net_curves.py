"""Curves of each event type by itself, at log times that differ from row to row."""

from __future__ import annotations

from torch import Tensor

from ..primitives import Mixture

__all__ = ["NetCurves"]


class NetCurves:
    """Survival and hazard of each event type by itself, at any log times of any rows.

    Mixtures: ``[events, rows, k]``. Inside, rows are the last axis: sums over components run along memory.
    """

    def __init__(self, mixtures: Mixture) -> None:
        self._mixtures = mixtures.map(
            lambda values: values.transpose(1, 2).contiguous()
        )  # [events, k, rows]
        self._weights = self._mixtures.log_weights.exp()

    def __len__(self) -> int:
        return len(self._weights)

    def survival(self, rows: Tensor, log_t: Tensor) -> Tensor:
        """Return ``S_m``, ``[events, nodes, p]``, at the log times ``[nodes, p]`` of the rows ``[p]``."""
        components = self._mixtures.components.map(
            lambda values: values[:, :, rows][:, :, None]
        )  # [events, k, 1, p]
        curves = components.survival_curve(log_t)
        return curves.mul_(self._weights[:, :, rows][:, :, None]).sum(1).clamp_(max=1.0)

    def log_survival(self, rows: Tensor, log_t: Tensor) -> Tensor:
        """Return ``log S_m``, ``[events, nodes, p]``, at the log times ``[nodes, p]`` of the rows ``[p]``."""
        here = self._mixtures.map(lambda values: values[:, :, rows][:, :, None])
        joint = here.components.log_survival_and_slope(log_t)[0].add_(here.log_weights)
        peak = joint.amax(1)
        return joint.sub_(peak[:, None]).exp_().sum(1).log_().add_(peak)

    def log_survival_and_hazard(self, rows: Tensor, log_t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log S_m`` and the hazard on the axis of log time, ``[events, nodes, p]`` each.

        The slope of a component's log survival is minus its hazard, so one pass gives both.
        """
        here = self._mixtures.map(lambda values: values[:, :, rows][:, :, None])
        log_survival, slope = here.components.log_survival_and_slope(log_t)
        joint = log_survival.add_(here.log_weights)
        peak = joint.amax(1)
        survived = joint.sub_(peak[:, None]).exp_()
        total = survived.sum(1)
        hazard = survived.mul_(slope).sum(1).div_(total).neg_()
        return total.log_().add_(peak), hazard
