"""The probability that an event of one type comes first and falls in an interval, inside the likelihood.

``F_m(u) - F_m(l)`` is the integral of ``f_m(s) prod_{j != m} S_j(s)`` over ``(l, u]``. It is taken on the axis of log
time, where every primitive is smooth, by Gauss-Legendre in panels between quantiles of the row's own components, and as
a sum of logarithms, so that it stays differentiable and finite. (Predictions use the adaptive rule of distributions.)
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .devices import constants
from .primitives import Mixture

__all__ = ["EDGE_LEVELS", "common_edges", "log_incidence_between", "nodes_between"]

# How far below the upper end, in log time, an interval from the origin begins: as far as the numbers reach.
_FROM_ORIGIN = {torch.float32: 70.0, torch.float64: 300.0}
_SPREAD = np.array(
    [0.0, 0.0002, 0.0005, 0.001, 0.002, 0.004, 0.0125, 0.033, 0.083, 0.2, 0.42, 1.0]
)  # edges of any interval, as shares of it
_EVEN = np.linspace(0, 1, len(_SPREAD))
EDGE_LEVELS = -np.array([1e-8, 1e-5, 1e-3, 0.02, 0.1, 0.3, 0.7, 1.3, 2.2, 4.0, 8.0, 16.0, 40.0])
"""log S at the edges that follow a component: from a probability of 1e-8 to one of exp(-40) being left."""
_levels = constants(EDGE_LEVELS)


def log_incidence_between(mixtures: Mixture, lower: Tensor, upper: Tensor, event: Tensor) -> Tensor:
    """``log[F_m(upper) - F_m(lower)]`` of each row, m its event.

    mixtures: ``[rows, events, components]``; lower (0: from the origin), upper and event (1..M): ``[rows]``.
    """
    with torch.no_grad():
        log_time, log_width = nodes_between(
            common_edges(lower, upper), _own_edges(mixtures), upper.dtype
        )
        time, least = torch.exp(log_time), torch.finfo(upper.dtype).tiny  # [rows, nodes]
        log_width = torch.where(
            time < least, -torch.inf, log_width
        )  # such times are 0 for the components
    at_nodes = mixtures.map(lambda values: values[:, None])  # [rows, 1, events, k]
    every = time.clamp_(min=least)[..., None].expand(*time.shape, mixtures.log_weights.shape[-2])
    happened = (event[:, None] == torch.arange(1, every.shape[-1] + 1, device=event.device))[
        :, None
    ]
    log_rate = torch.where(happened, at_nodes.log_pdf(every), at_nodes.log_survival(every)).sum(-1)
    return torch.logsumexp(log_rate + log_time + log_width, dim=-1)


def _own_edges(mixtures: Mixture) -> Tensor:
    """Return the log times at which panels of each row should end, in double precision, ``[rows, edges]``."""
    components = mixtures.components.map(lambda values: values.double()[..., None])
    (levels,) = _levels(mixtures.log_weights.device)
    own = torch.log(components.inverse_log_survival(levels)).flatten(
        1
    )  # [rows, events x k x levels]
    own = own.nan_to_num_(
        nan=torch.inf
    )  # beyond any interval: an extreme component may not know its quantiles
    kinks = mixtures.components.kinks()  # a rule is exact for smooth functions only
    return own if kinks is None else torch.cat([own, kinks.double().flatten(1)], dim=1)


class _Constants(NamedTuple):
    spread: Tensor
    even: Tensor
    places: Tensor  # of the nodes, as shares of a panel
    log_sizes: Tensor  # of their weights


@lru_cache(maxsize=8)
def _constants(device: torch.device) -> _Constants:
    """Return what is the same for all intervals, copied to a device once."""
    places, sizes = np.polynomial.legendre.leggauss(6)
    values = (_SPREAD, _EVEN, (places + 1) / 2, np.log(sizes / 2))
    return _Constants(*(torch.from_numpy(value).to(device) for value in values))


def common_edges(lower: Tensor, upper: Tensor) -> Tensor:
    """Return the log times, from upper to lower, at which panels of any interval end: ``[rows, edges]``, in doubles."""
    start, end = torch.stack([lower, upper]).double().log_()[..., None]
    constant, span = _constants(upper.device), (end - start).clamp_(max=_FROM_ORIGIN[upper.dtype])
    return torch.addcmul(
        end, span, torch.where(span > 5.0, constant.spread, constant.even), value=-1
    )


def nodes_between(common: Tensor, own: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the log times at which the integrand is evaluated, and the logarithms of the weights.

    common: what ``common_edges`` gave; own: log times at which panels of each row should end beside those, ``[rows,
    edges]``. Edges outside the interval make panels of no width at its ends, whose weights are nothing; none may be
    NaN. All is computed in doubles: a narrow interval keeps its width.
    """
    edges = (
        torch.cat([common, torch.clamp(own, common[:, -1:], common[:, :1])], dim=1)
        .sort(dim=1)
        .values
    )
    rule, first = _constants(edges.device), edges[:, :-1, None]
    width = edges[:, 1:, None] - first
    nodes = torch.addcmul(first, width, rule.places)
    return nodes.flatten(1).to(dtype), (width.log_() + rule.log_sizes).flatten(1).to(dtype)
