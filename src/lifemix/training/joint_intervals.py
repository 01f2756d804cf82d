"""Events of one of several types that fell in an interval: the likelihood of such rows with its slopes written out.

``log[F_m(upper) - F_m(lower)]`` is the logarithm of a sum over nodes n of ``f_m(s_n) prod_{j != m} S_j(s_n)`` times a
weight; so its derivative is the mean of those of the terms' logarithms, each node with its share of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor

from ..incidence import EDGE_LEVELS, common_edges, nodes_between
from ..likelihood import Observations
from ..primitives import LogLocationScale

__all__ = ["Joint", "joint_intervals"]


@dataclass(frozen=True, eq=False)
class Joint:
    """What does not depend on the model of rows whose event fell in an interval."""

    edges: Tensor  # [rows, edges]: of any interval
    happened: Tensor  # [rows, events, 1, 1], 1 or 0
    log_entry: Tensor | None = None  # [rows, 1, 1]; of no meaning where there is none
    late: Tensor | None = None  # [rows, 1, 1], 1 or 0

    @classmethod
    def of(cls, observed: Observations, n_events: int) -> Joint:
        """Read rows that are all of that sort."""
        assert observed.upper is not None
        lower = observed.time
        if observed.at_origin is not None:
            lower = torch.where(observed.at_origin, 0.0, lower)
        types = torch.arange(1, n_events + 1, device=lower.device).view(-1, 1, 1)
        happened = (observed.event.view(-1, 1, 1, 1) == types).to(lower)
        late, log_entry = None, None
        if observed.entry is not None and observed.truncated is not None:
            late, log_entry = (
                observed.truncated.to(lower).view(-1, 1, 1),
                torch.log(observed.entry).view(-1, 1, 1),
            )
        return cls(common_edges(lower, observed.upper), happened, log_entry, late)

    def take(self, rows: Tensor) -> Joint:
        """Return some rows."""
        known = Joint(self.edges[rows], self.happened[rows])
        if self.log_entry is None or self.late is None:
            return known
        return replace(known, log_entry=self.log_entry[rows], late=self.late[rows])


def joint_intervals(
    family: type[LogLocationScale],
    logits: Tensor,
    location: Tensor,
    log_precision: Tensor,
    precision: Tensor,
    rows: Joint,
) -> tuple[Tensor, Tensor]:
    """Return the log-likelihood of each row, given its entry, and its slopes.

    logits, location, log_precision, precision: ``[rows, events, k]``; the slopes are by logits, minus the location and
    log precision, ``[3, rows, events, k]``.
    """
    log_weights = torch.log_softmax(logits, -1)
    value, slopes = _between(family, log_weights, location, log_precision, precision, rows)
    if rows.log_entry is None or rows.late is None:
        return value, slopes
    survived, by_entry = _survived(family, log_weights, location, precision, rows.log_entry)
    return value - survived * rows.late[:, 0, 0], slopes - by_entry * rows.late


def _between(
    family: type[LogLocationScale],
    log_weights: Tensor,
    location: Tensor,
    log_precision: Tensor,
    precision: Tensor,
    rows: Joint,
) -> tuple[Tensor, Tensor]:
    """Return ``log[F_m(upper) - F_m(lower)]`` and its slopes."""
    centre, steep = location[..., None], precision[..., None]
    own = torch.addcdiv(centre, _standard_edges(family, location.dtype, location.device), steep)
    log_time, log_width = nodes_between(rows.edges, own.flatten(1), location.dtype)  # [rows, nodes]
    z = (log_time[:, None, None] - centre).mul_(steep)  # [rows, events, k, nodes]
    value, slope = family.standard(z, rows.happened)
    value.add_(torch.addcmul(log_weights[..., None], rows.happened, log_precision[..., None]))
    of_event, by_value = _log_sum(value, 2)
    total, share = _log_sum(of_event.sum(1).add_(log_width), 1)
    by_value.mul_(share[:, None, None])
    by_z = slope.mul_(by_value)
    mean = by_value.sum(-1)
    by_minus_location = by_z.sum(-1).mul_(precision)
    by_precision = by_z.mul_(z).sum(-1).addcmul_(rows.happened[..., 0], mean)
    return total, torch.stack([mean - log_weights.exp(), by_minus_location, by_precision])


def _log_sum(values: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the sum of the exponentials, and their shares of it, the largest of which is known."""
    shares = torch.softmax(values, dim)
    return values.amax(dim).sub_(shares.amax(dim).log_()), shares


@lru_cache(maxsize=64)
def _standard_edges(
    family: type[LogLocationScale], dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Return z at the levels that panels end at: all components of a family have the same."""
    zero = torch.zeros((), dtype=torch.float64)
    levels = torch.from_numpy(EDGE_LEVELS)
    return torch.log(family.from_location(zero, zero).inverse_log_survival(levels)).to(
        device, dtype
    )


def _survived(
    family: type[LogLocationScale],
    log_weights: Tensor,
    location: Tensor,
    precision: Tensor,
    log_entry: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the log probability that no event has happened before the entry, and its slopes."""
    z = (log_entry - location).mul_(precision)
    value, slope = family.standard(z, z.new_zeros(()))
    of_event, shares = _log_sum(value.add_(log_weights), -1)
    by_z = slope.mul_(shares)
    return of_event.sum(1), torch.stack([shares - log_weights.exp(), by_z * precision, by_z * z])
