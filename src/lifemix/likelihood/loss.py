"""The combined loss of the paper, for a batch of models at once."""

from __future__ import annotations

from torch import Tensor

from .censored import Contributions

__all__ = ["combined_loss"]


def combined_loss(
    terms: Contributions,
    weight: Tensor,
    discount: Tensor | float = 1.0,
    prior_strength: Tensor | float = 0.0,
    prior: Tensor | float = 0.0,
) -> Tensor:
    """``-[ELBO_U + discount * ELBO_C] / sum of weights + prior_strength * prior``, ``[models]``.

    terms and weight are ``[models, rows]``; a discount a model is ``[models]``. The paper maximises, we minimise; the
    strength of the prior does not grow with the number of rows.
    """
    if not isinstance(discount, (int, float)):
        discount = discount[:, None]
    log_likelihood = (weight * terms.total(discount)).sum(-1) / weight.sum(-1)
    return -log_likelihood + prior_strength * prior
