"""The likelihood of censored, truncated and competing observations: pure functions of tensors."""

from __future__ import annotations

from .censored import OBJECTIVES, Contributions, check_objective, contributions, joint_rows
from .competing import EDGE_LEVELS, common_edges, log_incidence_between, nodes_between
from .loss import Loss, combined_loss, prior_loss
from .observations import Observations
from .prior import base_penalty, head_penalty

__all__ = [
    "EDGE_LEVELS",
    "OBJECTIVES",
    "Contributions",
    "Loss",
    "Observations",
    "base_penalty",
    "check_objective",
    "common_edges",
    "combined_loss",
    "contributions",
    "head_penalty",
    "joint_rows",
    "log_incidence_between",
    "nodes_between",
    "prior_loss",
]
