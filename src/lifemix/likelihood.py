"""The log-likelihood of censored, truncated and competing observations, and the training loss.

For the event that happened in a row: ``log f(t)``, or ``log P(lower < T <= upper)`` if only an
interval is known. For every other event, and for all events of a censored row: ``log S(t)``,
because an event of another type counts as censoring. With delayed entry at e everything is
conditional on survival to e.

``exact`` mixes the components inside the logarithm. ``elbo``, the paper's objective, is its lower
bound by Jensen's inequality: ``sum_k w_k log f_k(t) <= log sum_k w_k f_k(t)``. With delayed entry
the gate is conditioned first, ``q_k ~ w_k S_k(e)``, and the bound is ``sum_k q_k [log f_k(t) - log
S_k(e)]``; with the unconditional gate it would be no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ._types import FloatArray
from .errors import SettingError
from .incidence import log_incidence_between
from .primitives import Mixture
from .target import Target

__all__ = [
    "OBJECTIVES",
    "Contributions",
    "Observations",
    "check_objective",
    "combined_loss",
    "contributions",
    "prior_loss",
]

OBJECTIVES = ("exact", "elbo")

_NARROW = 1e-4  # an interval narrower than this share of its lower end counts as an exact time
_MANTISSA = 2.0**20


@dataclass(frozen=True, eq=False)
class Observations:
    """A target as tensors ``[..., n_rows]`` in the model's unit of time; None if no row needs one.

    ``time`` is positive: for a time of 0 it is 1, and ``at_origin`` is true. ``log_width`` is added
    to the log density: minus the log of the unit, so that densities are those of the user's unit,
    and the log width of a narrow interval.
    """

    event: Tensor  # int64, 0 is censored
    time: Tensor
    weight: Tensor
    log_width: Tensor
    at_origin: Tensor | None = None
    upper: Tensor | None = None  # twice the time if the row is no interval
    interval: Tensor | None = None  # mask
    entry: Tensor | None = None  # positive; the time if the row is not truncated
    truncated: Tensor | None = None  # mask

    @classmethod
    def from_target(
        cls,
        target: Target,
        unit: float,
        first_event: float,
        weight: FloatArray | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> Self:
        """Return the observations of a target.

        An event at time 0 is the interval ``(0, first_event]``; a row censored at 0 has weight 0.
        In float32 times are rounded to 20 binary digits, so that the unit of the user's times has
        no effect.
        """
        time, upper = target.time, target.upper.copy()
        upper[(time == 0) & (target.event > 0) & np.isnan(upper)] = first_event
        interval = ~np.isnan(upper)
        is_narrow = interval & (upper - time < _NARROW * time)
        log_width = np.full(len(target), -np.log(unit))
        log_width[is_narrow] += np.log(upper[is_narrow] - time[is_narrow])
        time = np.where(is_narrow, np.sqrt(time) * np.sqrt(upper), time)
        interval &= ~is_narrow
        log_width[interval] = 0.0
        at_origin = time == 0
        time = np.where(at_origin, unit, time)
        weights = np.ones(len(target)) if weight is None else weight
        is_censored_at_origin = (target.time == 0) & (target.event == 0)
        weights = np.where(is_censored_at_origin, 0.0, weights)

        def in_units(values: FloatArray) -> Tensor:
            scaled = values / unit
            if dtype == torch.float32:
                mantissa, exponent = np.frexp(scaled)
                scaled = np.ldexp(np.round(mantissa * _MANTISSA) / _MANTISSA, exponent)
            return torch.as_tensor(scaled).to(dtype)

        optional: dict[str, Tensor] = {}
        if at_origin.any():
            optional["at_origin"] = torch.as_tensor(at_origin)
        if interval.any():
            optional["upper"] = in_units(np.where(interval, upper, 2 * time))
            optional["interval"] = torch.as_tensor(interval)
        if target.truncated.any():
            optional["entry"] = in_units(np.where(target.truncated, target.entry, time))
            optional["truncated"] = torch.as_tensor(target.truncated)
        return cls(
            event=torch.as_tensor(target.event),
            time=in_units(time),
            weight=torch.as_tensor(weights).to(dtype),
            log_width=torch.as_tensor(log_width).to(dtype),
            **optional,
        )

    def __len__(self) -> int:
        return self.time.shape[-1]

    @property
    def lower(self) -> Tensor:
        """The lower end of the interval of each row: the time, or 0 at the origin."""
        return self.time if self.at_origin is None else torch.where(self.at_origin, 0.0, self.time)

    def take(self, rows: Any) -> Self:
        """Return the observations of rows; a matrix of indices gives a matrix of rows."""
        return self.map(lambda values: values[rows])

    def reweighted(self, weight: Tensor) -> Self:
        """Return the observations with other case weights."""
        return replace(self, weight=weight)

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Return the observations with a function applied to every tensor."""
        mapped: dict[str, Any] = {
            name: None if values is None else function(values)
            for name, values in vars(self).items()
        }
        return type(self)(**mapped)


@dataclass(frozen=True, eq=False)
class Contributions:
    """The log-likelihood of each row in two terms, each ``[..., n_rows]``."""

    happened: Tensor  # of the event that happened, at a time or in an interval
    censored: Tensor  # of the events that did not happen: the paper's discount multiplies it

    def total(self, discount: Tensor | float = 1.0) -> Tensor:
        """Return ``happened + discount * censored``."""
        return self.happened + discount * self.censored


def check_objective(objective: object) -> None:
    """Raise a ``SettingError`` unless the objective exists."""
    if objective not in OBJECTIVES:
        raise SettingError(
            f"unknown objective; got {objective!r}, expected one of {list(OBJECTIVES)}."
        )


def contributions(
    mixtures: Mixture,
    observations: Observations,
    objective: str = "exact",
) -> Contributions:
    """Return the log-likelihood of every row, or with ``elbo`` its lower bound.

    mixtures: one mixture per event, ``[..., n_rows, n_events, k]``.
    """
    n_events, event = mixtures.log_weights.shape[-2], observations.event
    events = torch.arange(1, n_events + 1, device=event.device)
    has_happened = event[..., None] == events  # [..., n_rows, n_events]
    values = _component_values(mixtures, observations, has_happened)
    if observations.entry is None or observations.truncated is None:
        by_event = mixtures.log_mix(values) if objective == "exact" else mixtures.expect(values)
    else:
        at_entry = mixtures.components.log_survival(observations.entry[..., None, None])
        at_entry = torch.where(observations.truncated[..., None, None], at_entry, 0.0)
        if objective == "exact":
            by_event = mixtures.log_mix(values) - mixtures.log_mix(at_entry)
        else:
            by_event = mixtures.given(at_entry).expect(values - at_entry)
    happened = torch.where(has_happened, by_event, 0.0).sum(-1)
    happened = happened + torch.where(event > 0, observations.log_width, 0.0)
    censored = torch.where(has_happened, 0.0, by_event).sum(-1)
    if observations.interval is not None and n_events > 1 and objective == "exact":
        rows = observations.interval.nonzero(as_tuple=True)
        if len(rows[0]) == 0:
            return Contributions(happened, censored)
        interval_mixtures = mixtures.map(lambda parameter: parameter[rows])
        joint = _log_joint_intervals(interval_mixtures, observations.take(rows))
        happened = happened.index_put(rows, joint)
        censored = censored.index_put(rows, torch.zeros_like(joint))
    return Contributions(happened, censored)


def _component_values(
    mixtures: Mixture, observations: Observations, has_happened: Tensor
) -> Tensor:
    """Return ``log f_k``, ``log S_k`` or ``log P_k(interval)``, ``[..., n_rows, n_events, k]``."""
    components, time = mixtures.components, observations.time[..., None, None]
    survival = components.log_survival(time)
    if observations.at_origin is not None:
        survival = torch.where(observations.at_origin[..., None, None], 0.0, survival)
    values = torch.where(has_happened[..., None], components.log_pdf(time), survival)
    if observations.interval is None or observations.upper is None:
        return values
    lower, upper = observations.lower[..., None, None], observations.upper[..., None, None]
    is_interval = (has_happened & observations.interval[..., None])[..., None]
    return torch.where(is_interval, components.log_interval(lower, upper), values)


def _log_joint_intervals(mixtures: Mixture, observations: Observations) -> Tensor:
    """Return ``log[F_m(upper) - F_m(lower)]`` of competing risks for rows with intervals."""
    assert observations.upper is not None
    joint = log_incidence_between(
        mixtures, observations.lower, observations.upper, observations.event
    )
    if observations.entry is None or observations.truncated is None:
        return joint
    entry = observations.entry[..., None].expand(mixtures.log_weights.shape[:-1])
    at_entry = mixtures.log_survival(entry).sum(-1)
    return joint - torch.where(observations.truncated, at_entry, 0.0)


def combined_loss(terms: Contributions, weight: Tensor, discount: Tensor | float = 1.0) -> Tensor:
    """Return the paper's ``-(ELBO_U + discount * ELBO_C) / sum of weights``, ``[n_models]``.

    Dividing by the weights makes the strength of the prior independent of the number of rows.

    terms, weight: ``[n_models, n_rows]``; discount: a number, or ``[n_models, 1]``.
    """
    log_likelihood = weight * terms.total(discount)
    return -log_likelihood.sum(-1) / weight.sum(-1)


def prior_loss(
    base: Tensor,
    centre: Tensor,
    heads: Tensor,
    prior_strength: Tensor | float,
    head_prior: Tensor | float = 0.0,
) -> Tensor:
    """Return ``prior_strength * sum (base - centre)^2 + head_prior * sum heads^2 / 2``.

    The first term is the paper's, on the log scale, as a penalty (its printed sign is that of a log
    density). The second is the normal prior of w, zeta and xi, which the paper's loss leaves out.

    base: ``[n_models, n_events, n_parameters, k]``; centre: the warm start, of the same shape, or
    with k = 1; heads: ``[n_models, ...]``. The result is ``[n_models]``.
    """
    base_penalty = (base - centre).square().sum(dim=(-3, -2, -1))
    head_penalty = heads.square().flatten(1).sum(-1) / 2
    return prior_strength * base_penalty + head_prior * head_penalty
