"""Distributions made of components: integrals of survival that see the scale of each of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..primitives import Primitive
from .base import SurvivalDistribution
from .scales import Scales
from .survival_integral import integrate_survival

__all__ = ["ComponentDistribution"]

_LATEST = 300.0  # cumulative hazard of a component up to which it may matter to a mean
_NEGLIGIBLE = 1e-9  # share of a mean
_SEARCH_STEPS = 200


class ComponentDistribution(SurvivalDistribution):
    """A distribution made of primitives, with its means by quadrature."""

    @abstractmethod
    def _log_survival_at(self, x: Tensor) -> Tensor:
        """``log S`` at log times, which may be those of times too large for a number."""

    @abstractmethod
    def _all_components(self) -> Primitive:
        """Return all components of each row, ``[rows, components]``."""

    @abstractmethod
    def _tail_index(self) -> Tensor:
        """The power with which S falls in the end, ``[rows, 1]``; infinite where it falls faster."""

    def _rmst(self, t: Tensor) -> Tensor:
        """Return ``E min(T, t)``, ``[rows, times]``."""
        log_t, order = torch.log(t).sort(dim=1)
        inside = self._integral(Scales.of(self._all_components()), log_t)
        sorted_ = torch.minimum(t.gather(1, order), self._since_column()) + inside
        return torch.empty_like(t).scatter_(1, order, sorted_)

    def _mean(self) -> Tensor:
        """Return the mean, ``[rows, 1]``."""
        index = self._tail_index()
        finite = (index > 1)[:, 0]
        result = torch.full_like(index, torch.inf)
        if bool(finite.any()):
            part = self._take(finite)
            scales = Scales.of(part._all_components(), _LATEST)
            result[finite] = part._since_column() + part._integral(scales, part._way_out(index[finite]))[:, -1:]
        return result

    def _way_out(self, index: Tensor) -> Tensor:
        """Return log times, ``[rows, steps]``, at the last of which what remains of the mean is negligible."""
        scales = Scales.of(self._all_components())
        start, base = self._start(scales), self._log_survival_at_since()
        middle = self._middle()
        known = torch.exp(middle) * -torch.expm1(start - middle)
        enough = torch.log(_NEGLIGIBLE * known * (index[:, 0] - 1).clamp(max=1.0))
        x = torch.maximum(scales.last.amax(1), start)
        step = torch.where(torch.isfinite(scales.width), scales.width, 1.0).amax(1)
        way = [x]
        for _ in range(_SEARCH_STEPS):
            more = x + (self._log_survival_at(x[:, None]) - base)[:, 0] > enough
            if not bool(more.any()):
                break
            x = torch.where(more, x + step, x)
            step = 1.5 * step
            way.append(x)
        return torch.stack(way, 1)

    def _integral(self, scales: Scales, ends: Tensor) -> Tensor:
        """Integrate the conditional survival from ``since`` to ascending log times, ``[rows, ends]``.

        It is 1 up to where the first component begins.
        """
        start, since, base = self._start(scales), self._since_column(), self._log_survival_at_since()

        curve = self._log_survival_of_rows()

        def log_survival(rows: Tensor, x: Tensor) -> Tensor:
            return curve(rows, x) - base[rows]

        if self._since is not None:
            scales = scales.without_end()
        inside = integrate_survival(log_survival, scales, start, self._middle(), torch.maximum(ends, start[:, None]))
        before = torch.exp(torch.minimum(ends, start[:, None])) - since
        return before.clamp(min=0) + inside

    def _log_survival_of_rows(self) -> Callable[[Tensor, Tensor], Tensor]:
        """Return log S as a function of rows ``[p]`` and their log times ``[p, nodes]``."""
        return lambda rows, x: self._take(rows)._log_survival_at(x)

    def _start(self, scales: Scales) -> Tensor:
        return torch.maximum(scales.start, torch.log(self._since_column()[:, 0]))

    def _middle(self) -> Tensor:
        """Return the log times at which half of those alive at ``since`` are left, ``[rows]``."""
        return torch.log(self._invert(self._log_survival_at_since() - np.log(2))[:, 0]).clamp(min=-744.0)
