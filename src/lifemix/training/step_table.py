"""What a training step with its gradient written out must know of its rows, worked out once for a whole table."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..likelihood import Observations
from .odd_rows import OddRows, OddTable

__all__ = ["StepTable", "StepTarget"]


@dataclass(frozen=True, eq=False)
class StepTarget:
    """What the likelihood must know of its rows; rows are the last axis: sums over components run along memory."""

    log_time: Tensor  # [models, 1, 1, rows]; of an interval its lower end, or the upper one where that is 0
    happened: Tensor  # [models, events, 1, rows], 1 or 0; 0 for an event in an interval
    share: Tensor  # [models, events, 1, rows]: minus the weight of the term in the loss
    constant: Tensor  # [models]: the part of the loss without parameters
    odd: OddRows | None = None


@dataclass(frozen=True, eq=False)
class StepTable:
    """One value per row of a table; what no row needs is None."""

    source: Observations
    log_time: Tensor
    known: (
        Tensor  # the part of the log-likelihood without parameters: log dz/dt without the precision
    )
    types: Tensor  # [events, 1, 1]: 1, 2, ...
    odd: OddTable | None
    exact: Tensor | None = None  # the event, 0 where it fell in an interval
    first: Tensor | None = None  # whether such an interval begins at the origin
    apart: Tensor | None = None  # whether ``correction`` computes all of a row

    @classmethod
    def of(
        cls, observed: Observations, n_events: int, joint: bool, odd: OddTable | None
    ) -> StepTable:
        """Read a table; joint: whether the probability of an interval is that of several events."""
        types = torch.arange(1, n_events + 1, device=observed.event.device)[:, None, None]
        log_time = torch.log(observed.time)
        known = torch.where(observed.event > 0, observed.log_width - log_time, 0.0)
        interval = observed.interval
        if interval is None:
            return cls(observed, log_time, known, types, odd)
        known = torch.where(interval, 0.0, known)
        if joint:
            return cls(observed, log_time, known, types, odd, apart=interval)
        assert observed.upper is not None
        first = None if observed.at_origin is None else interval & observed.at_origin
        if first is not None:
            log_time = torch.where(first, torch.log(observed.upper), log_time)
        return cls(
            observed, log_time, known, types, odd, torch.where(interval, 0, observed.event), first
        )

    def parts(
        self, rows: Tensor, weight: Tensor, discount: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the tensors of a ``StepTarget`` for rows ``[models, ..., rows]`` of these weights."""
        if self.apart is not None:
            weight = torch.where(self.apart[rows], 0.0, weight)
        happened = self._is(self.source.event, rows).to(weight)
        discount = discount.view(-1, *[1] * (happened.dim() - 1))
        share = -weight[..., None, None, :] * torch.lerp(
            discount, torch.ones_like(discount), happened
        )
        if self.first is not None:
            share = torch.where(
                self.first[rows][..., None, None, :] & (happened == 0), 0.0, share
            )  # S(0) = 1
        if self.exact is not None:
            happened = self._is(self.exact, rows).to(weight)
        return (
            self.log_time[rows][..., None, None, :],
            happened,
            share,
            -(weight * self.known[rows]).sum(-1),
        )

    def _is(self, event: Tensor, rows: Tensor) -> Tensor:
        """Tell which event it is, ``[models, ..., events, 1, rows]``."""
        return event[rows][..., None, None, :] == self.types

    def odd_rows(self, rows: Tensor, weight: Tensor) -> list[OddRows | None]:
        """Return the odd rows of every step of ``[models, steps, rows]``."""
        return [None] * rows.shape[1] if self.odd is None else self.odd.of_steps(rows, weight)
