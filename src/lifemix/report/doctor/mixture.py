"""Checks of a mixture: components in use, what the ELBO costs, and whether the members of an ensemble agree.

With w(x) the gate of a subject and H the entropy in nats: ``used = exp H(mean w)`` components are in use in the sample,
``per_subject = exp(mean H(w))`` for one subject, and ``information = H(mean w) - mean H(w)``, from 0 to log k, is the
mutual information of gate and covariates. The ELBO gap is the exact log-likelihood less the paper's bound, in nats: its
mean over the rows, and its median, since a component with a density near 0 at a row's time makes it arbitrarily large.
It is 0 for a model with ``cure=True``, which has no such bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..._types import FloatArray
from ...estimators import DeepSurvivalMachines
from ...likelihood import contributions
from ...preprocessing import TableLike
from ...target import Target
from ..text import listed
from .findings import Finding

__all__ = ["MixtureFacts", "check_members", "check_mixture", "describe_mixture"]

_FEW = 1.5
_SAME_FOR_ALL = 0.01  # share of log k
_GAP = 0.05
_DISAGREE = 0.08
_OUTLYING = 0.1


@dataclass(frozen=True, eq=False)
class MixtureFacts:
    """The gates of each event in numbers, averaged over the members; tuples have one value per event type.

    ``shares``: the average weight of each component of the first member, shape (n_events, k).
    """

    k: int
    n_members: int
    used: tuple[float, ...]
    per_subject: tuple[float, ...]
    information: tuple[float, ...]
    elbo_gap: float
    median_gap: float
    shares: FloatArray


@torch.no_grad()
def describe_mixture(model: DeepSurvivalMachines, X: TableLike, target: Target) -> MixtureFacts:
    """Measure the gates of a fitted Deep Survival Machine on some rows."""
    network = model.network_
    mixtures = network.mixtures(model.preprocess(X))  # [members, rows, events, k]
    weights = mixtures.log_weights.exp()
    in_sample = _entropy(weights.mean(1))  # [members, events]
    of_subject = _entropy(weights).mean(1)
    observed = network.scale.observe(target).take(
        torch.arange(len(target)).expand(len(weights), -1)
    )
    objectives = (
        "exact",
        "exact" if model.cure else "elbo",
    )  # with the outcome never the bound is minus infinity
    exact, bound = (
        contributions(mixtures, observed, objective).total() for objective in objectives
    )
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
    """Yield unused components, gates that ignore the covariates, and a loose bound."""
    if facts.k == 1:
        return
    if max(facts.used) < _FEW:
        yield Finding(
            "note",
            "components",
            f"Of k = {facts.k} components only {_numbers(facts.used)} are in use on average: the others have hardly "
            "any weight.",
            "Try a smaller k; compare by log_likelihood on held-out rows.",
        )
    elif max(facts.information) < _SAME_FOR_ALL * np.log(facts.k):
        yield Finding(
            "note",
            "gate",
            f"The gate gives every subject nearly the same weights (mutual information with the covariates "
            f"{_numbers(facts.information, 3)} of at most {np.log(facts.k):.2f} nats): subjects differ only in the "
            "components' parameters.",
            "Do not interpret the components as groups of subjects. A smaller k may do as well.",
        )
    if objective == "elbo" and facts.elbo_gap > _GAP:
        yield Finding(
            "warn",
            "ELBO gap",
            f"The ELBO that was maximised lies {facts.elbo_gap:.2f} nats per row below the log-likelihood: training "
            "penalised mixtures that the likelihood would favour.",
            "Fit with objective='exact' and compare log_likelihood on held-out rows.",
        )


def _numbers(values: tuple[float, ...], digits: int = 1) -> str:
    return listed([f"{value:.{digits}f}" for value in values])


def check_members(
    model: DeepSurvivalMachines, X: TableLike, horizons: FloatArray
) -> Iterator[Finding]:
    """Yield whether the members of an ensemble disagree, or one differs from all others."""
    members = model.network_.members()
    if len(members) < 2 or not len(horizons):
        return
    matrix = model.preprocess(X)
    curves = np.stack(
        [member.distribution(matrix).survival(horizons) for member in members]
    )  # [members, rows, times]
    spread = curves.std(axis=0, ddof=1).mean(axis=0)
    worst = int(spread.argmax())
    if spread[worst] > _DISAGREE:
        yield Finding(
            "warn",
            "members disagree",
            f"The {len(members)} members differ by {spread[worst]:.2f} (standard deviation) in a subject's survival at "
            f"{horizons[worst]:g}: the result of a single fit depends strongly on its random seed.",
            "Use more members, a smaller model or more weight_decay.",
        )
    means = curves.mean(axis=(1, 2))
    for number, mean in enumerate(means):
        others = float(np.delete(means, number).mean())
        if len(members) > 2 and abs(mean - others) > _OUTLYING:
            yield Finding(
                "warn",
                "outlying member",
                f"Member {number} predicts a mean survival of {mean:.2f}, the others {others:.2f}: its training "
                "probably failed.",
                "Look at its training history in history_, and fit again with another random_state.",
            )
