"""The combined loss of the paper, for a batch of models at once: what training minimises.

The paper maximises ``ELBO_U + alpha ELBO_C`` and adds ``lambda`` times its prior. We minimise, per unit of weight, so
that the strength of the prior does not depend on the number of rows. With the exact objective the two terms are the
log-likelihood itself in place of its lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .censored import Contributions
from .prior import base_penalty, head_penalty

__all__ = ["Loss", "combined_loss", "prior_loss"]


@dataclass(frozen=True, eq=False)
class Loss:
    """The two parts of the loss of each model, ``[models]``."""

    likelihood: Tensor  # -(ELBO_U + alpha ELBO_C) / sum of weights
    prior: Tensor | float

    @property
    def total(self) -> Tensor:
        """Their sum."""
        return self.likelihood + self.prior


def combined_loss(
    terms: Contributions,
    weight: Tensor,
    discount: Tensor | float = 1.0,
    prior: Tensor | float = 0.0,
) -> Loss:
    """``-(ELBO_U + discount * ELBO_C) / sum of weights + prior``, ``[models]``.

    terms and weight: ``[models, rows]``; discount: the paper's alpha, a number or one per model; prior: what
    ``prior_loss`` returns.
    """
    if not isinstance(discount, (int, float)):
        discount = discount[:, None]
    log_likelihood = (weight * terms.total(discount)).sum(-1) / weight.sum(-1)
    return Loss(-log_likelihood, prior)


def prior_loss(
    base: Tensor,
    centre: Tensor,
    heads: Tensor,
    prior_strength: Tensor | float,
    head_prior: Tensor | float = 0.0,
) -> Tensor:
    """``prior_strength * sum (base - centre)^2``, the paper's lambda and prior, plus the optional one of the heads.

    base: ``[models, events, parameters, k]``; centre: the warm start, likewise, or k = 1; heads:
    ``[models, ...]``. Returns ``[models]``.
    """
    return prior_strength * base_penalty(base, centre) + head_prior * head_penalty(heads)
