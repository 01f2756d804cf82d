"""Families whose log time is the logarithm of a gamma variate, moved and stretched."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from .base import Primitive
from .gamma_tail import density, inverse, log_density, log_moment, log_tails, survival
from .numeric import integral_of_survival
from .stable import limit_gradient, standardise

__all__ = ["LogGamma"]

# w at the ends of the panels over which an exported program integrates
_PANEL_EDGES = (-24.0, -12.0, -8.0, -5.0, -3.0, -1.5, 0.0, 1.5, 3.0, 5.0, 8.0, 12.0, 24.0)


class LogGamma(Primitive):
    """A family in which ``w = precision * (log t - location)`` is a standardised log-gamma variate of shape q."""

    @abstractmethod
    def log_gamma(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return location, log precision and q.

        Returns
        -------
        tuple of Tensor
            The three.
        """

    def log_survival(self, t: Tensor) -> Tensor:
        return torch.where(t > 0, log_tails(*self._standardised(t))[0], 0.0)

    def log_cdf(self, t: Tensor) -> Tensor:
        return torch.where(t > 0, log_tails(*self._standardised(t))[1], -torch.inf)

    def log_pdf(self, t: Tensor) -> Tensor:
        _, log_precision, _ = self.log_gamma()
        at = torch.where(
            t > 0, t, torch.finfo(t.dtype).tiny
        )  # the density at the origin is that right beside it
        return log_density(*self._standardised(at)) + log_precision - torch.log(at)

    def log_survival_and_slope(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        location, log_precision, q = self.log_gamma()
        w = (log_t - location) * torch.exp(log_precision)
        log_survival = log_tails(w, q)[0]
        return log_survival, torch.exp(log_density(w, q) + log_precision - log_survival).neg_()

    def survival_curve(self, log_t: Tensor, out: Tensor | None = None) -> Tensor:
        location, log_precision, q = self.log_gamma()
        return survival((log_t - location) * torch.exp(log_precision), q)

    def density_curve(self, log_t: Tensor) -> Tensor:
        location, log_precision, q = self.log_gamma()
        precision = torch.exp(log_precision)
        return precision * density((log_t - location) * precision, q)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        location, log_precision, q = self.log_gamma()
        inside = (log_s < 0) & (log_s > -torch.inf)
        w = inverse(torch.where(inside, log_s, -1.0), q)
        t = torch.exp(location + w * torch.exp(-log_precision))
        return torch.where(inside, t, torch.where(log_s < 0, torch.inf, 0.0))

    def panel_edges(self) -> Tensor:
        location, log_precision, q = (part[..., None] for part in self.log_gamma())
        edges = torch.tensor(_PANEL_EDGES, dtype=q.dtype, device=q.device)
        # wider on the side of the long tail, which falls like exp(-w / |q|)
        stretched = edges * (1 + 2 * q.abs() * (edges * q < 0))
        return location + stretched * torch.exp(-log_precision)

    def steepness(self) -> Tensor:
        _, log_precision, q = self.log_gamma()
        return torch.exp(log_precision) * q.abs().clamp(min=1.0)

    def mean(self) -> Tensor:
        location, log_precision, q = self.log_gamma()
        return torch.exp(location + log_moment(torch.exp(-log_precision), q)[0])

    def rmst(self, t: Tensor) -> Tensor:
        # E(T; T <= t) + t S(t); the first is the mean times a distribution function of the same kind
        log_mean, log_tails_ = self._by_mean(t)
        inside = torch.exp(log_mean + log_tails_[1]) + t * torch.exp(self.log_survival(t))
        infinite = (log_mean == torch.inf).broadcast_to(inside.shape)
        if bool(infinite.any()):
            inside = torch.where(
                infinite, integral_of_survival(self, torch.zeros_like(t), t), inside
            )
        return torch.where(t > 0, inside, 0.0)

    def mean_beyond(self, t: Tensor) -> Tensor:
        log_mean, log_tails_ = self._by_mean(t)
        rest = torch.exp(log_mean + log_tails_[0]) - t * torch.exp(self.log_survival(t))
        return torch.where(
            log_mean == torch.inf, torch.inf, torch.where(t > 0, rest.clamp(min=0.0), self.mean())
        )

    def _by_mean(self, t: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the log mean, and log survival and log distribution function weighted by time."""
        location, log_precision, q = self.log_gamma()
        moment, shape, root, moved = log_moment(torch.exp(-log_precision), q)
        finite = moment < torch.inf
        w = self._standardised(t)[0]
        tails = log_tails(
            torch.where(finite, (w - moved) * root, 0.0), torch.where(finite, shape, 0.0)
        )
        return location + moment, tails

    def _standardised(self, t: Tensor) -> tuple[Tensor, Tensor]:
        location, log_precision, q = self.log_gamma()
        at = torch.where(t > 0, t, 1.0)
        return limit_gradient(standardise(torch.log(at), location, log_precision)), limit_gradient(
            q
        )
