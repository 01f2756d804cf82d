"""What the average consists of where the user does not say."""

from __future__ import annotations

from typing import Any

from ..baselines import CauseSpecific, CoxPH, GradientBoosting
from ..estimators import DeepSurvivalMachines
from ..preprocessing import TabularPreprocessor

__all__ = ["default_parts", "with_seed"]

_MEMBERS = 2  # networks per fold
_NETWORK: dict[str, Any] = {
    "hidden": (50, 50),
    "activation": "tanh",
    "dropout": 0.3,
    "n_members": _MEMBERS,
    "batch_size": 128,
    "learning_rate": 1e-3,
}


def default_parts(n_events: int) -> dict[str, Any]:
    """Return the parts by name.

    Networks see numbers as they are, in a second part piecewise linearly encoded (which does not help with competing
    risks); Cox regression has a ridge penalty that it chooses; boosted trees find steps and interactions.
    """
    networks = DeepSurvivalMachines(**_NETWORK)
    cox = CoxPH(penalty="auto")
    if n_events > 1:
        return {"networks": networks, "Cox": CauseSpecific(cox), "boosted trees": GradientBoosting()}
    encoded = DeepSurvivalMachines(
        primitive="lognormal", preprocessor=TabularPreprocessor(numbers="piecewise", bins=8), **_NETWORK
    )
    return {
        "networks": networks,
        "networks on encoded numbers": encoded,
        "Cox": cox,
        "boosted trees": GradientBoosting(),
    }


def with_seed(estimator: Any, seed: int) -> Any:
    """Set the random seed of a model that has one."""
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    return estimator
