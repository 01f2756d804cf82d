"""Which model a command fits: by its name, with the settings of a network where it is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from .output import Screen
from .reference_models import MODEL_NAMES, make_reference

if TYPE_CHECKING:
    from .training_table import TrainingTable

__all__ = ["ModelChoice", "check_jobs", "composition"]

_EPOCHS = 200


@dataclass(frozen=True)
class ModelChoice:
    """The name of a model and, for Deep Survival Machines, the settings of a fit; None leaves one to us."""

    name: str
    settings: Mapping[str, Any]
    search: bool = False
    members: int | None = None
    epochs: int | None = None
    jobs: int = 1
    seed: int = 0

    @classmethod
    def of(
        cls,
        name: str | None,
        settings: Mapping[str, Any],
        *,
        fast: bool = False,
        search: bool | None = None,
        members: int | None = None,
        epochs: int | None = None,
        intervals: bool = False,
        jobs: int = 1,
        seed: int = 0,
    ) -> ModelChoice:
        """Return what is to be fitted: what is said about a network is said about Deep Survival Machines."""
        check_jobs(jobs)
        told = {**{f"--{key.replace('_', '-')}": value for key, value in settings.items()}}
        told |= {
            "--members": members,
            "--epochs": epochs,
            "--search": search,
            "--fast": fast or None,
        }
        given = [option for option, value in told.items() if value is not None]
        name = (name or ("dsm" if given or intervals else "lifemix")).lower()
        if name not in MODEL_NAMES:
            raise SettingError(f"--model must be one of {', '.join(MODEL_NAMES)}; got {name!r}.")
        if given and name != "dsm":
            raise SettingError(
                f"{given[0]} is for networks; got --model {name}. Leave it out, or use --model dsm."
            )
        if fast and search:
            raise SettingError(
                "--fast fits one network without a search; leave out --search, or --fast."
            )
        members = 1 if fast and members is None else members
        return cls(
            name,
            settings,
            name == "dsm" and not fast and search is not False,
            members,
            epochs,
            jobs,
            seed,
        )

    @property
    def label(self) -> str:
        """What the model is called in tables."""
        return MODEL_NAMES[self.name]

    @property
    def first(self) -> ModelChoice:
        """One network, the answer that does not take long."""
        return ModelChoice("dsm", {}, members=1, seed=self.seed)

    @property
    def max_epochs(self) -> int:
        """How many epochs a network has at most."""
        return self.epochs if self.epochs is not None else _EPOCHS

    def make(self, y: Any, settings: Mapping[str, Any]) -> Any:
        """Return the unfitted model for a target; ``settings`` are those of the search, or those given."""
        if self.name != "dsm":
            return make_reference(self.name, y, self.seed, self.jobs)
        from ..estimators import DeepSurvivalMachines
        from .settings_search import batch_size, ensemble_size

        chosen: dict[str, Any] = {**settings, "max_epochs": self.max_epochs}
        if self.members is not None or self.search:
            chosen["n_members"] = self.members or ensemble_size(len(y))
        if self.search:
            chosen["batch_size"] = batch_size(len(y))
        return DeepSurvivalMachines(**chosen, random_state=self.seed)

    def fit(
        self, screen: Screen, training: TrainingTable, rows: Any, settings: Mapping[str, Any]
    ) -> Any:
        """Return the model fitted to some rows of a table, with its progress on the screen."""
        X, y = training.X.iloc[rows], training.y[rows]
        model = self.make(y, settings)
        if self.name == "dsm":
            model.set_params(verbose=screen.progress)
        with screen.follow():
            model.fit(X, y)
        unseen = {"verbose": False} if self.name == "dsm" else {"n_jobs": None}
        own = model.get_params(deep=False)
        return model.set_params(**{name: value for name, value in unseen.items() if name in own})


def check_jobs(jobs: int) -> None:
    """Refuse a number of processes that is none."""
    if jobs == 0 or jobs < -1:
        raise SettingError(
            f"--jobs must be a number of processes, or -1 for one per core; got {jobs}."
        )


def composition(model: Any) -> list[str]:
    """Return in two lines what an average of models consists of, and how much each part counts; none for others."""
    weights: Mapping[str, float] = getattr(model, "weights_", None) or {}
    if not weights:
        return []
    shares = sorted(weights.items(), key=lambda part: -part[1])
    dropped = [str(name) for name in getattr(model, "dropped_", ())]
    without = f"; left out, as they did not earn a share: {', '.join(dropped)}" if dropped else ""
    even = len(shares) > 1 and shares[0][1] - shares[-1][1] < 1e-9
    how = "which count alike" if even else "weighed on rows they had not seen"
    return [
        f"an average of {len(model.models_)} fitted models of {len(shares)} kind{'s' * (len(shares) > 1)}, {how}",
        ", ".join(f"{name} {share:.0%}" for name, share in shares) + without,
    ]
