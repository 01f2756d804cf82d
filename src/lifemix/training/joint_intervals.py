"""Events of one of several types that fell in an interval: the likelihood of such rows with its slopes written out.

``log[F_m(upper) - F_m(lower)]`` is the logarithm of a sum over nodes n of ``f_m(s_n) prod_{j != m} S_j(s_n)`` times a
weight; so its derivative is the mean of those of the terms' logarithms, each node with its share of the sum.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from ..devices import perhaps_any
from ..likelihood import EDGE_LEVELS, Observations, nodes_between
from ..primitives import LogLocationScale
from ..primitives.stable import LOG_LIMIT

__all__ = ["joint_intervals"]

_AT_ONCE = 64  # rows; each has hundreds of nodes


def joint_intervals(
    family: type[LogLocationScale], logits: Tensor, location: Tensor, log_precision: Tensor, observed: Observations
) -> tuple[Tensor, Tensor]:
    """Return the log-likelihood of each row, given its entry, and its slopes.

    logits, location, log_precision: ``[rows, events, k]``; the slopes are by these three, ``[3, rows, events, k]``.
    """
    values, slopes = [], []
    parts = zip(*(part.split(_AT_ONCE) for part in (logits, location, log_precision)), strict=True)
    for number, (gate, centre, spread) in enumerate(parts):
        seen = observed.take(slice(number * _AT_ONCE, (number + 1) * _AT_ONCE))
        value, slope = _between(family, gate, centre, spread, seen)
        if seen.truncated is not None and perhaps_any(seen.truncated):
            survived, by_entry = _survived(family, gate, centre, spread, seen)
            value, slope = value - survived, slope - by_entry
        values.append(value)
        slopes.append(slope)
    return torch.cat(values), torch.cat(slopes, 1)


def _between(
    family: type[LogLocationScale], logits: Tensor, location: Tensor, log_precision: Tensor, observed: Observations
) -> tuple[Tensor, Tensor]:
    """Return ``log[F_m(upper) - F_m(lower)]`` and its slopes."""
    assert observed.upper is not None
    log_weights = torch.log_softmax(logits, -1)
    lower = observed.time if observed.at_origin is None else torch.where(observed.at_origin, 0.0, observed.time)
    precision = log_precision.clamp(max=LOG_LIMIT).exp()
    edges = location[..., None].double() + _standard_edges(family, logits.device) / precision[..., None]
    log_time, log_width = nodes_between(edges.flatten(1), lower, observed.upper)  # [rows, nodes]
    types = torch.arange(1, logits.shape[1] + 1, device=logits.device)
    happened = (observed.event[:, None] == types).to(logits)[..., None, None]  # [rows, events, 1, 1]
    z = (log_time[:, None, None] - location[..., None]).mul_(precision[..., None])  # [rows, events, k, nodes]
    value, slope = family.standard(z, happened)
    value.addcmul_(happened, log_precision[..., None]).add_(log_weights[..., None])
    of_event = torch.logsumexp(value, 2, keepdim=True)
    of_node = of_event.sum((1, 2)).add_(log_width)
    total = torch.logsumexp(of_node, 1)
    share = torch.exp(of_node - total[:, None])
    by_value = value.sub_(of_event).exp_().mul_(share[:, None, None])
    by_z = slope.mul_(by_value)
    mean = by_value.sum(-1)
    by_precision = (by_z * z).sum(-1).addcmul_(happened[..., 0], mean)
    return total, torch.stack([mean - log_weights.exp(), -by_z.sum(-1).mul_(precision), by_precision])


@lru_cache(maxsize=64)
def _standard_edges(family: type[LogLocationScale], device: torch.device) -> Tensor:
    """Return z at the levels that panels end at: all components of a family have the same."""
    zero = torch.zeros((), dtype=torch.float64)
    levels = torch.from_numpy(EDGE_LEVELS)
    return torch.log(family.from_location(zero, zero).inverse_log_survival(levels)).to(device)


def _survived(
    family: type[LogLocationScale], logits: Tensor, location: Tensor, log_precision: Tensor, observed: Observations
) -> tuple[Tensor, Tensor]:
    """Return the log probability that no event has happened before the entry, and its slopes; 0 without an entry."""
    assert observed.entry is not None
    assert observed.truncated is not None
    log_weights = torch.log_softmax(logits, -1)
    precision = log_precision.clamp(max=LOG_LIMIT).exp()
    z = (torch.log(observed.entry)[:, None, None] - location).mul_(precision)
    value, slope = family.standard(z, z.new_zeros(()))
    value += log_weights
    of_event = torch.logsumexp(value, -1, keepdim=True)
    shares = value.sub_(of_event).exp_()
    by_z = slope.mul_(shares)
    slopes = torch.stack([shares - log_weights.exp(), -by_z * precision, by_z * z])
    late = observed.truncated
    return torch.where(late, of_event.sum((1, 2)), 0.0), torch.where(late[:, None, None], slopes, 0.0)
