"""The models by their names on the command line, and the search over settings of networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..preprocessing import TableData
    from ..target import TargetLike

__all__ = ["LABELS", "ModelChoice", "composition", "search_settings"]

LABELS = {
    "lifemix": "LifeMix",
    "dsm": "Deep Survival Machines",
    "cox": "Cox regression",
    "fine-gray": "Fine-Gray",
    "forest": "random survival forest",
    "boosting": "gradient boosting",
    "deepsurv": "DeepSurv",
    "deephit": "DeepHit",
    "martingale-forest": "martingale forest",
    "curve": "no covariates",
}
_OF_ONE_EVENT_TYPE = {"cox", "forest", "boosting", "deepsurv"}
_NETWORKS: tuple[dict[str, list[Any]], ...] = (
    {"hidden": [()], "dropout": [0.0], "learning_rate": [5e-3]},
    {"hidden": [(50,)], "dropout": [0.25], "learning_rate": [2e-3]},
    {"hidden": [(100,)], "dropout": [0.5], "learning_rate": [1e-3]},
)


@dataclass(frozen=True)
class ModelChoice:
    """A model by its name; settings are those of Deep Survival Machines."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        if self.name not in LABELS:
            raise SettingError(
                f"a model must be one of {', '.join(LABELS)}; got {self.name!r}. Correct --model or --models."
            )

    @property
    def label(self) -> str:
        """The name in tables."""
        return LABELS[self.name]

    def make(self, y: TargetLike) -> Any:
        """Return the unfitted model with the defaults of Python; one per event type if it takes only one type."""
        from .. import baselines
        from ..estimators import DeepSurvivalMachines, LifeMix
        from ..target import as_target

        seed, jobs, has_several_types = self.seed, self.jobs, as_target(y).n_events > 1
        factories: dict[str, Callable[[], Any]] = {
            "lifemix": lambda: LifeMix(random_state=seed, n_jobs=jobs),
            "dsm": lambda: DeepSurvivalMachines(random_state=seed, **self.settings),
            "cox": baselines.CoxPH,
            "fine-gray": baselines.FineGray,
            "forest": lambda: baselines.RandomSurvivalForest(random_state=seed),
            "boosting": lambda: baselines.GradientBoosting(random_state=seed),
            "deepsurv": lambda: baselines.DeepSurv(random_state=seed),
            "deephit": lambda: baselines.DeepHit(random_state=seed),
            "martingale-forest": lambda: baselines.MartingaleForest(random_state=seed, n_jobs=jobs),
            "curve": baselines.AalenJohansen if has_several_types else baselines.KaplanMeier,
        }
        model = factories[self.name]()
        if has_several_types and self.name in _OF_ONE_EVENT_TYPE:
            return baselines.CauseSpecific(model)
        return model


def search_settings(
    choice: ModelChoice, X: TableData, y: NDArray[Any]
) -> tuple[ModelChoice, list[dict[str, Any]]]:
    """Return the choice with the settings of highest held-out likelihood, and the score of every candidate.

    The candidates are distributions and networks, each with the settings of the user.
    """
    from ..estimators import DeepSurvivalMachines, FleetSearchCV
    from ..splits import EventStratifiedKFold

    grid: list[dict[str, list[Any]]] = []
    for network in _NETWORKS:
        candidates = {"primitive": ["weibull", "lognormal"], **network}
        free = {name: values for name, values in candidates.items() if name not in choice.settings}
        if free not in grid:
            grid.append(free)
    search = FleetSearchCV(
        DeepSurvivalMachines(**{**choice.settings, "n_members": 1}, random_state=choice.seed),
        grid,
        scoring="log_likelihood",
        cv=EventStratifiedKFold(3, random_state=choice.seed),
        refit=False,
        n_jobs=choice.jobs,
    ).fit(X, y)
    scores = [
        {"settings": settings, "log_likelihood": score}
        for settings, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
    ]
    scores.sort(key=lambda score: -score["log_likelihood"])
    return replace(choice, settings={**search.best_params_, **choice.settings}), scores


def composition(model: Any) -> str:
    """Return what an average of models consists of; "" for other models."""
    shares = sorted((getattr(model, "weights_", None) or {}).items(), key=lambda item: -item[1])
    parts = ", ".join(f"{name} {share:.0%}" for name, share in shares)
    dropped = ", ".join(map(str, getattr(model, "dropped_", ())))
    return parts + (f"; dropped (weight below 0.05): {dropped}" if parts and dropped else "")
