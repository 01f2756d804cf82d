"""The models of the tables: of each the settings to select from, and how one is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from lifemix import baselines
from lifemix.baselines.base import Baseline
from lifemix.baselines.deephit import DEEPHIT_PAPER
from lifemix.baselines.forest import PAPER_TREES
from lifemix.errors import MissingExtraError, SettingError
from lifemix.estimators import DeepSurvivalMachines, LifeMix
from lifemix.estimators.settings import ONE_NETWORK

from .best import tuned_model, tuned_settings, with_trees, with_trees_settings
from .protocol import paper_preprocessor
from .records import Setting
from .truth import TrueSynthetic

__all__ = [
    "DEEPHIT_CHOICES",
    "LEARNERS",
    "TUNED_FOREST",
    "Learner",
    "TableModel",
    "check_extras",
    "deephit_settings",
    "learner",
]

TableModel = DeepSurvivalMachines | Baseline
Build = Callable[[str, Setting, int], TableModel]
Settings = Callable[[str], list[Setting]]
_ONE: Settings = lambda data: [{}]  # noqa: E731


@dataclass(frozen=True)
class Learner:
    """One model of the tables.

    build: the estimator of a data set, a setting and a seed.
    settings: what is selected from, for a data set, in a full run; quick: in a quick run; reduced: a part of
    ``settings``, where all are too many for large data.
    fleet: whether settings train together, stop early by the inner validation part and are scored on it; others are
    fitted to all training rows, and where there are settings to select from once more without the inner part.
    risks: ``"single"``, ``"competing"`` or ``"both"``. only: the data sets that the model is for, if not for all.
    optional: whether it runs only when named. needs: the optional package that it is built on.
    """

    name: str
    build: Build
    settings: Settings = _ONE
    quick: Settings = _ONE
    reduced: Settings | None = None
    fleet: bool = False
    risks: str = "both"
    only: tuple[str, ...] = ()
    optional: bool = False
    needs: str = ""

    def candidates(self, data: str, run: str = "full", grid: str = "full") -> list[Setting]:
        """Return the settings to select from in a full or quick run with the full or the reduced grid."""
        if run == "quick":
            return self.quick(data)
        return (
            self.reduced(data)
            if grid == "reduced" and self.reduced is not None
            else self.settings(data)
        )

    def covers(self, data: str, n_events: int) -> bool:
        """Tell whether the model is for a data set."""
        fits = self.risks in ("both", "single" if n_events == 1 else "competing")
        return fits and (not self.only or data in self.only)


# Deep Survival Machines with the paper's grid: 144 settings.

_WITHOUT_BIASES = ("support", "metabric")


def _dsm_settings(data: str) -> list[Setting]:
    """The paper's grid; with competing risks twice, without and with biases in the network.

    The paper leaves them open. SYNTHETIC's quadratic form is hard to learn without (``docs/decisions.md``).
    """
    grid = product(
        ("weibull", "lognormal"),
        (4, 6, 8),
        ([50], [100], [50, 50], [100, 100]),
        (1e-3, 1e-4),
        (0.5, 0.75, 1.0),
    )
    settings = [
        {
            "primitive": primitive,
            "k": k,
            "hidden": hidden,
            "learning_rate": rate,
            "discount": discount,
        }
        for primitive, k, hidden, rate, discount in grid
    ]
    if data in _WITHOUT_BIASES:
        return list(settings)
    return [setting | {"bias": bias} for bias in (False, True) for setting in settings]


def _dsm_part(data: str, **kept: tuple[Any, ...]) -> list[Setting]:
    return [
        one
        for one in _dsm_settings(data)
        if all(one[name] in values for name, values in kept.items())
    ]


def _dsm_reduced(data: str) -> list[Setting]:
    """A ninth: the larger learning rate, the two ends of the discount, the wider layers, fewer components."""
    return _dsm_part(
        data, k=(4, 6), hidden=([100], [100, 100]), learning_rate=(1e-3,), discount=(0.5, 1.0)
    )


def _dsm_quick(data: str) -> list[Setting]:
    return _dsm_part(data, k=(4,), hidden=([100],), learning_rate=(1e-3,))


def _dsm(data: str, setting: Setting, seed: int) -> DeepSurvivalMachines:
    options = {**setting, "hidden": tuple(setting["hidden"])}
    return DeepSurvivalMachines.paper(
        **options, preprocessor=paper_preprocessor(data), random_state=seed
    )


# The paper's baselines.

_FEW_TREES_FOR = ("synthetic", "seer")
DEEPHIT_CHOICES: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "shared_layers": (1, 2, 3, 5),
        "shared_nodes": (50, 100, 200, 300),
        "cause_layers": (1, 2, 3, 5),
        "cause_nodes": (50, 100, 200, 300),
        "activation": ("relu", "elu", "tanh"),
        "alpha": (0.1, 0.5, 1.0, 3.0, 5.0),
    }
)
"""What the paper's random search for DeepHit draws from."""


def deephit_settings(
    n_settings: int = 10, random_state: int | np.random.Generator | None = 0
) -> list[dict[str, Any]]:
    """Draw settings of DeepHit as the paper's random search does: each option uniformly from its list.

    Parameters
    ----------
    n_settings : int, default 10
        How many to draw; the paper draws ten.
    random_state : int, Generator or None, default 0
        Random seed.

    Returns
    -------
    list of dict
        Arguments of ``baselines.DeepHit``.

    Examples
    --------
    >>> from experiments.learners import deephit_settings
    >>> len(deephit_settings(3))
    3
    """
    rng = np.random.default_rng(random_state)
    return [
        {name: values[int(rng.integers(len(values)))] for name, values in DEEPHIT_CHOICES.items()}
        for _ in range(n_settings)
    ]


def _cph(data: str, setting: Setting, seed: int) -> baselines.CoxPH:
    return baselines.CoxPH(preprocessor=paper_preprocessor(data))


def _rsf(data: str, setting: Setting, seed: int) -> baselines.RandomSurvivalForest:
    prepared = paper_preprocessor(data)
    return baselines.RandomSurvivalForest.paper(
        **setting, random_state=seed, preprocessor=prepared, n_jobs=1
    )


def _rsf_settings(data: str) -> list[Setting]:
    return [{"n_trees": count} for count in PAPER_TREES]


def _rsf_reduced(data: str) -> list[Setting]:
    """SYNTHETIC has 24,000 training rows, SEER more: a hundred trees would take twelve minutes per fold."""
    return [{"n_trees": 20, "split_times": 100}] if data in _FEW_TREES_FOR else _rsf_settings(data)


def _deepsurv(data: str, setting: Setting, seed: int) -> baselines.DeepSurv:
    return baselines.DeepSurv.paper(data, random_state=seed, preprocessor=paper_preprocessor(data))


def _deephit(data: str, setting: Setting, seed: int) -> baselines.DeepHit:
    own = data if data in DEEPHIT_PAPER else "seer"  # the stand-ins are for SEER
    return baselines.DeepHit.paper(
        own, random_state=seed, preprocessor=paper_preprocessor(data), **setting
    )


def _fine_gray(data: str, setting: Setting, seed: int) -> baselines.FineGray:
    return baselines.FineGray(preprocessor=paper_preprocessor(data))


# Beyond the paper: stronger rivals, lower and upper bound, and ours.

TUNED_FOREST: Setting = MappingProxyType(
    {"n_trees": 150, "min_samples_leaf": 5, "max_features": 0.4, "split_times": 100}
)
"""The strongest forest found on SUPPORT."""


def _forest(data: str, setting: Setting, seed: int) -> baselines.RandomSurvivalForest:
    return baselines.RandomSurvivalForest(
        **{**TUNED_FOREST, **setting}, random_state=seed, n_jobs=1
    )


def _leaves(data: str) -> list[Setting]:
    """Other tables want other leaves than SUPPORT."""
    return [{"min_samples_leaf": 5}, {"min_samples_leaf": 15}]


def _cs_forest_reduced(data: str) -> list[Setting]:
    return [{"n_trees": 10, "min_samples_leaf": 15}] if data in _FEW_TREES_FOR else _leaves(data)


def _our_forest(data: str, setting: Setting, seed: int) -> baselines.MartingaleForest:
    return baselines.MartingaleForest(**setting, random_state=seed)


def _few_trees(data: str) -> list[Setting]:
    return [{"n_trees": 20}]


def _boosting(data: str, setting: Setting, seed: int) -> baselines.GradientBoosting:
    return baselines.GradientBoosting(**setting, random_state=seed)


def _discounts(data: str) -> list[Setting]:
    """What the average with trees selects from on these data sets."""
    return [{"discount": discount} for discount in (1.0, 0.5)]


def _boosting_discount(data: str, setting: Setting, seed: int) -> baselines.ModelAverage:
    """Boosting alone with the choice that the average of it and a Deep Survival Machine has."""
    return baselines.ModelAverage(
        [baselines.GradientBoosting(random_state=seed)], setting["discount"]
    )


def _boosting_seeds(data: str, setting: Setting, seed: int) -> baselines.ModelAverage:
    seeds = range(8 * seed, 8 * seed + setting["seeds"])
    return baselines.ModelAverage([baselines.GradientBoosting(random_state=own) for own in seeds])


def _boosting_forest(data: str, setting: Setting, seed: int) -> baselines.ModelAverage:
    """The average with trees in which a forest stands in for the Deep Survival Machine."""
    forest = baselines.RandomSurvivalForest(
        **{**TUNED_FOREST, **setting}, random_state=seed, n_jobs=1
    )
    return baselines.ModelAverage([forest, baselines.GradientBoosting(random_state=seed)])


# What the defaults are called in records; to be raised when they change: old records are not taken for new ones.
_DEFAULTS: Setting = MappingProxyType({"defaults": "0.3"})


def _default(data: str, setting: Setting, seed: int) -> DeepSurvivalMachines:
    return DeepSurvivalMachines(random_state=seed)


def _lifemix(data: str, setting: Setting, seed: int) -> LifeMix:
    return LifeMix(random_state=seed)


def _one_network(data: str, setting: Setting, seed: int) -> DeepSurvivalMachines:
    return DeepSurvivalMachines(**ONE_NETWORK, random_state=seed)


def _few_members(data: str) -> list[Setting]:
    return [{**tuned_settings(data)[0], "n_members": 2}]


def _few_members_with_trees(data: str) -> list[Setting]:
    return [{**with_trees_settings(data)[0], "dsm": _few_members(data)[0]}]


def _cause_specific(build: Build) -> Build:
    return lambda data, setting, seed: baselines.CauseSpecific(build(data, setting, seed))


_ALL = (
    Learner("dsm", _dsm, _dsm_settings, _dsm_quick, _dsm_reduced, fleet=True),
    Learner("default", _default, lambda data: [dict(_DEFAULTS)], lambda data: [dict(_DEFAULTS)]),
    Learner("tuned", tuned_model, tuned_settings, _few_members),
    Learner("one-network", _one_network),
    Learner(
        "lifemix",
        _lifemix,
        lambda data: [dict(_DEFAULTS)],
        lambda data: [dict(_DEFAULTS)],
        optional=True,
    ),
    Learner("tuned-trees", with_trees, with_trees_settings, _few_members_with_trees),
    Learner("cph", _cph, risks="single"),
    Learner("cs-cph", _cause_specific(_cph), risks="competing"),
    Learner("rsf", _rsf, _rsf_settings, _few_trees, risks="single"),
    Learner(
        "cs-rsf", _cause_specific(_rsf), _rsf_settings, _few_trees, _rsf_reduced, risks="competing"
    ),
    Learner("deepsurv", _deepsurv, only=("support", "metabric")),
    Learner("deephit", _deephit),
    Learner("fg", _fine_gray, risks="competing"),
    Learner("forest", _forest, quick=_few_trees, risks="single"),
    Learner(
        "cs-forest",
        _cause_specific(_forest),
        _leaves,
        _few_trees,
        _cs_forest_reduced,
        risks="competing",
    ),
    Learner("our-forest", _our_forest, _leaves, _few_trees),
    Learner("boosting", _boosting, quick=lambda data: [{"max_iter": 100}]),
    Learner(
        "boosting-discount",
        _boosting_discount,
        _discounts,
        lambda data: [{"discount": 1.0}],
        only=("support", "metabric"),
        optional=True,
    ),
    Learner(
        "boosting-seeds",
        _boosting_seeds,
        lambda data: [{"seeds": 8}],
        lambda data: [{"seeds": 2}],
        optional=True,
    ),
    Learner("boosting-forest", _boosting_forest, quick=_few_trees, risks="single", optional=True),
    Learner("floor", lambda data, setting, seed: baselines.AalenJohansen()),
    Learner(
        "truth",
        lambda data, setting, seed: TrueSynthetic(rounded=True, least_mean=0.01),
        only=("synthetic",),
    ),
    Learner("deephit-search", _deephit, lambda data: list(deephit_settings(10)), optional=True),
)
_PACKAGES = {"sksurv": "scikit-survival"}
_NEEDS = {
    **dict.fromkeys(("rsf", "cs-rsf", "forest", "cs-forest", "boosting-forest"), "sksurv"),
}
LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {one.name: replace(one, needs=_NEEDS.get(one.name, "")) for one in _ALL}
)


def check_extras(models: Iterable[str]) -> None:
    """Refuse models whose optional package is not installed, before any work is done."""
    for name in models:
        package = LEARNERS[name].needs if name in LEARNERS else ""
        if package and find_spec(package) is None:
            raise MissingExtraError(
                _PACKAGES[package], "baselines", f"the model {name} of the tables"
            )


def learner(name: str) -> Learner:
    """Return a model of the tables by its name."""
    if name not in LEARNERS:
        raise SettingError(f"unknown model; got {name!r}, expected some of {', '.join(LEARNERS)}.")
    return LEARNERS[name]
