"""The probability that an event of one kind comes first and falls in an interval, inside the likelihood.

``F_m(u) - F_m(l)`` is the integral of ``f_m(s) prod_{j != m} S_j(s)`` over ``(l, u]``. It is taken on the axis of log
time, where every primitive is smooth, by Gauss-Legendre in panels that are short near u, and as a sum of logarithms, so
that it stays differentiable and finite. (Predictions use the adaptive rule of the distribution.)
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..primitives import Mixture

__all__ = ["log_incidence_between"]

_FROM_ORIGIN = 60.0  # in log time below the upper end; nothing that a float can tell from 0 lies further away
_PANELS = np.array([0.0, 0.004, 0.0125, 0.033, 0.083, 0.2, 0.42, 1.0])  # short near the upper end
_EVEN_PANELS = np.linspace(0.0, 1.0, 8)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _composite(panels: np.ndarray) -> tuple[Tensor, Tensor]:
    """Return nodes in (0, 1) and the logarithms of their weights."""
    widths = np.diff(panels)[:, None]
    nodes = panels[:-1, None] + widths * (_NODES + 1) / 2
    return torch.from_numpy(nodes.reshape(-1)), torch.from_numpy(np.log(widths * _WEIGHTS / 2).reshape(-1))


_GRADED, _EVEN = _composite(_PANELS), _composite(_EVEN_PANELS)


def log_incidence_between(mixtures: Mixture, lower: Tensor, upper: Tensor, event: Tensor) -> Tensor:
    """``log[F_m(upper) - F_m(lower)]`` of each row, m its event.

    mixtures: ``[rows, events, components]``; lower (0: from the origin), upper and event (1..M): ``[rows]``.
    """
    from_origin = lower <= 0
    span = torch.log1p((upper - lower) / torch.where(from_origin, upper, lower))
    span = torch.where(from_origin, _FROM_ORIGIN, span)  # log(upper / lower)
    graded = (span > 5.0)[:, None]
    nodes, log_weights = (
        torch.where(graded, a.to(lower), b.to(lower)) for a, b in zip(_GRADED, _EVEN, strict=True)
    )  # [rows, nodes]
    time = torch.exp(torch.log(upper)[:, None] - span[:, None] * nodes)
    at_nodes = mixtures.map(lambda values: values[:, None])  # [rows, 1, events, k]
    every = time[..., None].expand(*time.shape, mixtures.log_weights.shape[-2])  # [rows, nodes, events]
    happened = (event[:, None] == torch.arange(1, every.shape[-1] + 1, device=event.device))[:, None]
    log_rate = torch.where(happened, at_nodes.log_pdf(every), at_nodes.log_survival(every)).sum(-1)
    return torch.logsumexp(log_rate + torch.log(time) + log_weights, dim=-1) + torch.log(span)
