"""Distributions made of components: integrals of survival that see the scale of each of them."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor

from ..primitives import Mixture, Primitive
from .base import SurvivalDistribution
from .net_curves import NetCurves
from .root import invert
from .scales import Scales
from .survival_integral import integrate_survival

__all__ = ["ComponentDistribution"]

_LATEST = 300.0  # cumulative hazard of a component up to which it may matter to a mean
_NEGLIGIBLE = 1e-9  # share of a mean
_SEARCH_STEPS = 200
_HALVINGS = 8  # of the bracket around the median
_FAR = 300.0  # log times, on either side, up to which neither t nor S leaves the numbers before it matters
_FIRST, _LAST = -744.0, 709.0  # log times that are numbers
_LOG_EARLY = (
    -4.6
)  # log cumulative hazard up to which its digits are those of the distribution function


class ComponentDistribution(SurvivalDistribution):
    """A distribution made of primitives, with its means by quadrature."""

    @abstractmethod
    def _log_survival_at(self, x: Tensor) -> Tensor:
        """``log S`` at log times, which may be those of times too large for a number."""

    @abstractmethod
    def _by_member_and_event(self) -> tuple[Mixture, int]:
        """Return the mixtures, ``[members x events, rows, k]``, and the number of members."""

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
            result[finite] = (
                part._since_column() + part._integral(scales, part._way_out(index[finite]))[:, -1:]
            )
        return result

    def _way_out(self, index: Tensor) -> Tensor:
        """Return log times, ``[rows, steps]``, at the last of which what remains of the mean is negligible."""
        scales = Scales.of(self._all_components())
        start, base = self._start(scales), self._log_survival_at_since()
        middle = self._middle(_Curves(*self._by_member_and_event(), base[:, 0]))
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
        start, since = self._start(scales), self._since_column()
        before = torch.exp(torch.minimum(ends, start[:, None])) - since
        ends = torch.maximum(ends, start[:, None])
        linear = self._since is None and float(ends.max()) < _FAR and float(start.min()) > -_FAR
        if self._since is not None:
            scales = scales.without_end()
        curve = _Curves(*self._by_member_and_event(), self._log_survival_at_since()[:, 0])
        integrand = curve.weighted if linear else curve.weighted_by_logarithms
        inside = integrate_survival(integrand, scales, start, self._middle(curve), ends)
        return before.clamp(min=0) + inside

    def _start(self, scales: Scales) -> Tensor:
        return torch.maximum(scales.start, torch.log(self._since_column()[:, 0]))

    def _middle(self, curve: _Curves) -> Tensor:
        """Return log times at which half of those alive at ``since`` are left, or a little before, ``[rows]``."""
        low, high = (
            end[:, 0].clamp(_FIRST, _LAST)
            for end in self._bracket(self._log_survival_at_since() - np.log(2))
        )
        rows = torch.arange(len(self))
        for _ in range(_HALVINGS):
            x = (low + high) / 2
            before = curve.log_survival(rows, x[None])[0] >= -np.log(2)
            low, high = torch.where(before, x, low), torch.where(before, high, x)
        return low

    def _invert(self, log_s: Tensor) -> Tensor:
        curve = _Curves(*self._by_member_and_event(), torch.zeros(len(self), dtype=torch.float64))

        def hazard(rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            value, slope = curve.log_hazard_and_slope(rows, x)
            early = (value < _LOG_EARLY).nonzero()[
                :, 0
            ]  # by the distribution function, which keeps the digits
            if len(early):
                value[early], slope[early] = self._log_hazard_and_slope(rows[early], x[early])
            return value, slope

        return invert(hazard, log_s, *self._bracket(log_s))


class _Curves:
    """Curves at any log times ``[nodes, p]`` of any rows ``[p]``, relative to ``exp(base)``, ``[rows]``."""

    def __init__(self, mixtures: Mixture, members: int, base: Tensor) -> None:
        self._net, self._members, self._base = NetCurves(mixtures), members, base

    def log_survival(self, rows: Tensor, x: Tensor) -> Tensor:
        by_member = self._together(self._net.log_survival(rows, x)).sum(1)
        return _log_mean(by_member).sub_(self._base[rows])

    def weighted_by_logarithms(self, rows: Tensor, x: Tensor) -> Tensor:
        """``t S(t)``, however small S and however large t is."""
        return self.log_survival(rows, x).add_(x).exp_()

    def weighted(self, rows: Tensor, x: Tensor) -> Tensor:
        """``t S(t)`` from the origin on."""
        return self._together(self._net.survival(rows, x)).prod(1).mean(0).mul_(x.exp())

    def log_hazard_and_slope(self, rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log H`` and its slope, each at its own log time, ``[p]``."""
        log_survival, hazard = (
            self._together(part[:, 0]).sum(1)
            for part in self._net.log_survival_and_hazard(rows, x[None])
        )
        total = _log_mean(log_survival)
        slope = (torch.exp(log_survival - total) * hazard).mean(0) / -total
        return torch.log(-total), slope

    def _together(self, by_event: Tensor) -> Tensor:
        return by_event.unflatten(0, (self._members, -1))


def _log_mean(values: Tensor) -> Tensor:
    return torch.logsumexp(values, dim=0) - np.log(len(values)) if len(values) > 1 else values[0]
