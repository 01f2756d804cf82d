"""Cumulative incidences of many events, each at times of its own: one polynomial for all times between common nodes."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray
from .gauss_nodes import OWN_NODES, gauss, integrals
from .weibull_rates import AT_ONCE, LOWEST_POWER, WeibullRates

__all__ = ["OWN_WIDTH", "OwnRule"]

OWN_WIDTH = 1.85  # the largest product of shape and distance that the nodes are enough for


class OwnRule:
    """The rule for times of each event's own, ``[events, times]``, at a level.

    Between the first and the last of all times the rates are interpolated by polynomials through common nodes.
    """

    def __init__(self, times: FloatArray, nodes: int, shape: float) -> None:
        log_times = np.log(times)
        first, width = log_times.min(), np.ptp(log_times)
        own, weights = gauss(nodes)
        pieces = int(np.ceil(width * shape / OWN_WIDTH))  # none where all times are one
        between = list(itertools.pairwise(np.linspace(first, first + width, pieces + 1)))
        inner = [low + (high - low) * gauss(OWN_NODES)[0] for low, high in between]
        parts = [
            integrals((log_times - low) / (high - low)) * (high - low) for low, high in between
        ]
        self._weights = torch.from_numpy(
            np.concatenate([np.zeros((*times.shape, 0)), *parts], axis=2)
        )
        self._after = torch.from_numpy(np.concatenate([np.zeros(0), *inner]))[:, None]
        self._before, self._first = torch.from_numpy(np.log(own))[:, None], first
        self._early = torch.from_numpy(weights / own)

    def incidences(self, curves: WeibullRates) -> Tensor:
        """Return the incidences, ``[events, times, rows]``."""
        events, k, rows = curves.shape.shape
        points = len(self._before) + len(self._after)
        size = max(1, AT_ONCE // (points * events * k))
        space = torch.empty(2, min(rows, size) * points * events * k, dtype=torch.float64)
        result = torch.empty(events, self._weights.shape[1], rows, dtype=torch.float64)
        for start in range(0, rows, size):
            at = slice(start, start + size)
            curve = curves[at]
            power = curve.shape.amin((0, 1)).mul_(1 / LOWEST_POWER)
            before = self._before / power + self._first
            rates = curve.all_rates(
                torch.cat([before, self._after.expand(-1, before.shape[1])]), space
            )
            early = torch.matmul(self._early, rates[:, : len(before)]) / power  # [events, rows]
            result[..., at] = torch.bmm(self._weights, rates[:, len(before) :]).add_(early[:, None])
        return result
