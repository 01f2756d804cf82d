"""What the gates of a Deep Survival Machine do: how many components are in use, and what the bound costs.

With w(x) the gate of a subject and H the entropy in nats: ``used = exp H(mean w)`` components are in use in the sample,
``per_subject = exp(mean H(w))`` for one subject, and ``information = H(mean w) - mean H(w)``, from 0 to log k, is what
the gate learns from the covariates. The ELBO gap is the exact log-likelihood less the paper's bound, in nats: its mean
over the rows, and its median, since a component that holds a time for impossible makes it as large as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...likelihood import contributions
from ...target import Target
from ..text import listed
from .findings import Finding
from .variables import Floats

__all__ = ["MixtureFacts", "check_mixture", "describe_mixture"]

_FEW = 1.5
_SAME_FOR_ALL = 0.01  # share of log k
_GAP = 0.05


@dataclass(frozen=True, eq=False)
class MixtureFacts:
    """The gates of each event in numbers, averaged over the members; tuples have one value an event.

    ``shares``: the average weight of each component of the first member, shape (n_events, k).
    """

    k: int
    n_members: int
    used: tuple[float, ...]
    per_subject: tuple[float, ...]
    information: tuple[float, ...]
    elbo_gap: float
    median_gap: float
    shares: Floats


@torch.no_grad()
def describe_mixture(model: Any, X: Any, target: Target) -> MixtureFacts:
    """Measure the gates of a fitted Deep Survival Machine on some rows."""
    network = model._network
    mixtures = network.mixtures(model._matrix(X))  # [members, rows, events, k]
    weights = mixtures.log_weights.exp()
    in_sample = _entropy(weights.mean(1))  # [members, events]
    of_subject = _entropy(weights).mean(1)
    observed = network.scale.observe(target).take(torch.arange(len(target)).expand(len(weights), -1))
    exact, bound = (contributions(mixtures, observed, objective).total() for objective in ("exact", "elbo"))
    weight = observed.weight / observed.weight.sum().clamp(min=1e-300)
    return MixtureFacts(
        k=weights.shape[-1],
        n_members=len(weights),
        used=_by_event(in_sample.exp()),
        per_subject=_by_event(of_subject.exp()),
        information=_by_event(in_sample - of_subject),
        elbo_gap=float((weight * (exact - bound)).sum()),
        median_gap=float((exact - bound)[observed.weight > 0].median()),
        shares=weights[0].mean(0).numpy(),
    )


def _entropy(weights: Tensor) -> Tensor:
    return -torch.xlogy(weights, weights).sum(-1)


def _by_event(values: Tensor) -> tuple[float, ...]:
    return tuple(values.mean(0).tolist())


def check_mixture(facts: MixtureFacts, objective: str) -> Iterator[Finding]:
    """Yield components that are not used, gates that do not look at the covariates, and a bound that costs much."""
    if facts.k == 1:
        return
    if max(facts.used) < _FEW:
        yield Finding(
            "note",
            "components",
            f"Of k = {facts.k} components only {_numbers(facts.used)} are in use on average: the others get next to no "
            "weight.",
            "Try a smaller k; compare by log_likelihood on held-out rows.",
        )
    elif max(facts.information) < _SAME_FOR_ALL * np.log(facts.k):
        yield Finding(
            "note",
            "gate",
            f"The gate gives every subject nearly the same mixture (it learns {_numbers(facts.information, 3)} of at "
            f"most {np.log(facts.k):.2f} nats from the covariates): subjects differ by the components' parameters "
            "only.",
            "Do not read the components as groups of subjects. A smaller k may do as well.",
        )
    if objective == "elbo" and facts.elbo_gap > _GAP:
        yield Finding(
            "warn",
            "bound",
            f"The bound that was maximised lies {facts.elbo_gap:.2f} nats a row below the log-likelihood: training "
            "worked against a part of what the mixture can express.",
            "Fit with objective='exact' and compare log_likelihood on held-out rows.",
        )


def _numbers(values: tuple[float, ...], digits: int = 1) -> str:
    return listed([f"{value:.{digits}f}" for value in values])
