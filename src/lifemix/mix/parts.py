"""What the average consists of where the user does not say, and how a part is judged and kept."""

from __future__ import annotations

from typing import Any

from ..baselines import CauseSpecific, CoxPH, GradientBoosting, MartingaleForest
from ..estimators import DeepSurvivalMachines
from ..estimators.automatic import choose
from ..preprocessing import TabularPreprocessor

__all__ = ["averaged_over_folds", "default_parts", "to_judge", "with_seed"]

_FEW_ROWS = 2000
_JUDGED = 4  # of so many members of a network one stands for all of them while parts are judged


def default_parts(n_events: int, n_rows: int) -> dict[str, Any]:
    """Return the parts by name.

    Networks see numbers as they are, in a second part piecewise linearly encoded, and a third part has no hidden
    layer; Cox regression has a ridge penalty that it chooses; boosted trees (for few rows smaller ones with smaller
    steps) and the forest find steps and interactions.
    """
    trees = GradientBoosting()
    if n_rows <= _FEW_ROWS:
        trees.set_params(learning_rate=0.05, max_leaf_nodes=8)
    cox = CoxPH(penalty="auto")
    return {
        "networks": DeepSurvivalMachines(),
        "networks on encoded numbers": DeepSurvivalMachines(
            "lognormal", preprocessor=TabularPreprocessor(numbers="piecewise", bins=8)
        ),
        "networks without hidden layer": DeepSurvivalMachines(hidden=()),
        "Cox": CauseSpecific(cox) if n_events > 1 else cox,
        "boosted trees": trees,
        "forest": MartingaleForest(),
    }


def averaged_over_folds(estimator: Any) -> bool:
    """Tell whether the models of the folds are kept: the mean of several sets of trees is better than one of all rows.

    Any other part is fitted once more, to all rows.
    """
    own = estimator.estimator if isinstance(estimator, CauseSpecific) else estimator
    return isinstance(own, GradientBoosting)


def to_judge(estimator: Any, n_rows: int) -> Any:
    """Return a model as it is fitted to a part of the rows: a quarter of a network's members, half of the trees."""
    if isinstance(estimator, DeepSurvivalMachines) and estimator.n_members is None:
        members = choose(n_rows, estimator.hidden, estimator.encoder is not None)["n_members"]
        estimator.set_params(n_members=max(1, members // _JUDGED))
    elif isinstance(estimator, MartingaleForest):
        estimator.set_params(n_trees=(estimator.n_trees + 1) // 2)
    return estimator


def with_seed(estimator: Any, seed: int) -> Any:
    """Set the random seed of a model that has one."""
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    return estimator
