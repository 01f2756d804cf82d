"""The priors of the paper's generative story, as penalties (its printed sign is that of a log density)."""

from __future__ import annotations

from torch import Tensor

__all__ = ["base_penalty", "head_penalty"]


def base_penalty(base: Tensor, warm_start: Tensor) -> Tensor:
    """The paper's prior loss: ``sum_k (beta_k - beta)^2 + (eta_k - eta)^2`` on the log scale, over all events.

    base: ``[models, events, parameters, k]``; warm_start: the same, or k = 1. Returns ``[models]``.
    """
    return (base - warm_start).square().sum(dim=(-3, -2, -1))


def head_penalty(heads: Tensor) -> Tensor:
    """The zero-mean normal prior of w, zeta and xi, which the paper's loss leaves out: half the sum of squares.

    heads: ``[models, ...]``. Returns ``[models]``.
    """
    return heads.square().flatten(1).sum(-1) / 2
