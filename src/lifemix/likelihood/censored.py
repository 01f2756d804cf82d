"""What each row says about the model, by event: the paper's uncensored and censoring losses, and their extensions.

For the event that happened in a row: ``log f(t)``, or ``log P(lower < T <= upper)`` where only an interval is known.
For every other event, and in a censored row for all: ``log S(t)``, since an event of another type counts as censoring.
With delayed entry at e all is given survival to e.

``exact`` mixes the components inside the logarithm. ``elbo``, the paper's objective, takes the logarithm first, by
Jensen's inequality: ``sum_k w_k log f_k(t) <= log sum_k w_k f_k(t)``. Under truncation the gate is conditioned first,
``q_k ~ w_k S_k(e)``, and the bound is ``sum_k q_k [log f_k(t) - log S_k(e)]``; with the unconditioned gate it is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SettingError
from ..primitives import Mixture
from .competing import log_incidence_between
from .observations import Observations

__all__ = ["OBJECTIVES", "Contributions", "check_objective", "contributions", "joint_rows"]

OBJECTIVES = ("exact", "elbo")


@dataclass(frozen=True, eq=False)
class Contributions:
    """The log-likelihood of each row in two parts, shape ``[..., rows]``."""

    happened: Tensor  # of the event that happened, exactly or in an interval
    censored: Tensor  # of the events that did not: what the discount of the paper multiplies

    def total(self, discount: Tensor | float = 1.0) -> Tensor:
        """Return ``happened + discount * censored``."""
        return self.happened + discount * self.censored


def check_objective(objective: object) -> None:
    """Refuse an objective that does not exist."""
    if objective not in OBJECTIVES:
        raise SettingError(
            f"unknown objective; got {objective!r}, expected one of {list(OBJECTIVES)}."
        )


def contributions(
    mixtures: Mixture,
    observed: Observations,
    objective: str = "exact",
    t_max: float | None = None,
    joint: tuple[Tensor, ...] | None = None,
) -> Contributions:
    """Return the log-likelihood of every row (`elbo`: its lower bound).

    mixtures: one mixture per event, ``[..., rows, events, components]``.
    t_max: where given, a censored time t is the interval ``(t, t_max]``, the paper's other way against long tails.
    joint: what ``joint_rows`` found, where it has been called already.
    """
    n_events = mixtures.log_weights.shape[-2]
    types = torch.arange(1, n_events + 1, device=observed.event.device)
    happened = observed.event[..., None] == types  # [..., rows, events]
    values = _component_values(mixtures, observed, happened, t_max)
    by_event = _mix(mixtures, values, observed, objective)
    own = torch.where(happened, by_event, 0.0).sum(-1)
    others = torch.where(happened, 0.0, by_event).sum(-1)
    own = own + torch.where(observed.event > 0, observed.log_width, 0.0)
    rows = joint_rows(observed, n_events, objective) if joint is None else joint
    if rows:
        own, others = _with_joint_intervals(mixtures, observed, rows, own, others)
    return Contributions(own, others)


def joint_rows(observed: Observations, n_events: int, objective: str) -> tuple[Tensor, ...]:
    """Return the places of the rows whose event, one of several, fell in an interval; nothing where there is none."""
    if observed.interval is None or n_events == 1 or objective != "exact":
        return ()
    rows = observed.interval.nonzero(as_tuple=True)
    return rows if len(rows[0]) else ()


def _component_values(
    mixtures: Mixture, observed: Observations, happened: Tensor, t_max: float | None
) -> Tensor:
    """Return ``log f_k``, ``log S_k`` or ``log P_k(interval)``, whichever the row calls for, ``[..., events, k]``."""
    components = mixtures.components
    time = observed.time[..., None, None]
    survived = components.log_survival(time)
    if t_max is not None:
        survived = components.log_interval(time, torch.full_like(time, t_max))
    if observed.at_origin is not None:
        survived = torch.where(observed.at_origin[..., None, None], 0.0, survived)
    values = torch.where(happened[..., None], components.log_pdf(time), survived)
    if observed.interval is None or observed.upper is None:
        return values
    lower = (
        time
        if observed.at_origin is None
        else torch.where(observed.at_origin[..., None, None], 0.0, time)
    )
    within = components.log_interval(lower, observed.upper[..., None, None])
    return torch.where((happened & observed.interval[..., None])[..., None], within, values)


def _mix(mixtures: Mixture, values: Tensor, observed: Observations, objective: str) -> Tensor:
    """Join the components of each event, given survival to the entry."""
    join = Mixture.log_mix if objective == "exact" else Mixture.expect
    if observed.entry is None or observed.truncated is None:
        return join(mixtures, values)
    at_entry = mixtures.components.log_survival(observed.entry[..., None, None])
    at_entry = torch.where(observed.truncated[..., None, None], at_entry, 0.0)
    if objective == "exact":
        return mixtures.log_mix(values) - mixtures.log_mix(at_entry)
    return mixtures.given(at_entry).expect(values - at_entry)


def _with_joint_intervals(
    mixtures: Mixture, observed: Observations, rows: tuple[Tensor, ...], own: Tensor, others: Tensor
) -> tuple[Tensor, Tensor]:
    """Replace the rows whose event fell in an interval by ``log[F_m(upper) - F_m(lower)]`` of the competing risks."""
    picked, seen = mixtures.map(lambda values: values[rows]), observed.take(rows)
    assert seen.upper is not None
    lower = seen.time if seen.at_origin is None else torch.where(seen.at_origin, 0.0, seen.time)
    joint = log_incidence_between(picked, lower, seen.upper, seen.event)
    if seen.entry is not None and seen.truncated is not None:
        at_entry = picked.log_survival(
            seen.entry[..., None].expand(picked.log_weights.shape[:-1])
        ).sum(-1)
        joint = joint - torch.where(seen.truncated, at_entry, 0.0)
    return own.index_put(rows, joint), others.index_put(rows, torch.zeros_like(joint))
