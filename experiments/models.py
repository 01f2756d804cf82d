"""The models of the tables: of each how it is called and drawn, the settings to select from, and how it is built.

Settings are plain data and part of every record, so results of other settings are never mistaken for today's.
``tuned`` and ``tuned-trees`` have settings that were chosen on inner splits of training folds, never on a test fold:
mean C^td and Brier score on SUPPORT, FLCHAIN, EBMT and METABRIC with causes, likelihood on SYNTHETIC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, LifeMix, baselines
from lifemix._types import FloatArray
from lifemix.datasets.synthetic import SyntheticTruth, synthetic_means
from lifemix.estimators.settings import ONE_NETWORK
from lifemix.preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor

from .protocol import DATA_SETS
from .records import Setting

__all__ = ["MODELS", "Model", "TrueSynthetic", "by_rank", "model_title", "plain_model"]

Settings = Callable[[str], list[Setting]]
_SINGLE_RISK = tuple(name for name, info in DATA_SETS.items() if not info.competing)
_FEW_TREES_FOR = ("synthetic", "seer")


@dataclass(frozen=True)
class Model:
    """One model of the tables.

    group: ``"ours"``; ``"strong"``, rivals that are harder to beat than the paper's; ``"reference"``, bounds that are
    never ranked; ``"paper"``.
    meaning: what a row of this model is, in one sentence.
    build: the estimator for a data set, a setting and a seed.
    settings: what is selected from for a data set; ``reduced`` is a subset for competing risks, ``quick`` for
    quick runs.
    risks: ``"single"``, ``"competing"`` or ``"both"``. only: the data sets that the model is for, if not for all.
    on_request: whether it runs only if it is named.
    trains_together: whether settings train together, stop on the inner validation rows and are scored on them. Other
    models are fitted to all training rows, and once more without the inner validation rows if settings are selected.
    selected_by: the measure on the inner validation rows; ``"brier"`` for models that the paper does not have.
    variant_of: the same model with fewer settings, in whose place this one counts in comparisons.
    """

    title: str
    colour: str
    marker: str
    group: str = "paper"
    meaning: str = ""
    build: Callable[[str, Setting, int], Any] | None = None
    settings: Settings = lambda data: [{}]
    reduced: Settings | None = None
    quick: Settings | None = None
    risks: str = "both"
    only: tuple[str, ...] = ()
    on_request: bool = False
    trains_together: bool = False
    selected_by: str = "ctd"
    variant_of: str = ""

    def candidates(self, data: str, run: str = "full", full_grid: bool = True) -> list[Setting]:
        """Return the settings to select from."""
        if run == "quick":
            return (self.quick or self.settings)(data)
        if self.reduced is not None and DATA_SETS[data].competing and not full_grid:
            return self.reduced(data)
        return self.settings(data)

    def is_for(self, data: str) -> bool:
        """Return whether the model is in the table of a data set."""
        risks = "competing" if DATA_SETS[data].competing else "single"
        is_possible = self.build is not None and self.risks in ("both", risks)
        return is_possible and (not self.only or data in self.only)


def fixed(*settings: Setting) -> Settings:
    """Return the same settings for every data set."""
    return lambda data: list(settings)


def paper_preprocessor(data: str) -> TabularPreprocessor:
    """Return the paper's preparation: fixed normal values (SUPPORT), mean or mode, no indicators of missing values.

    The paper does not state one-hot coding and scaling by mean and standard deviation.
    """
    fills = dict(SUPPORT_NORMAL_VALUES) if data == "support" else None
    return TabularPreprocessor(fill_values=fills, missing_indicators=False)


def _paper_grid(data: str) -> list[Setting]:
    """The paper's 144 settings; with competing risks twice, without and with biases, which the paper leaves open."""
    hidden = ([50], [100], [50, 50], [100, 100])
    names = ("primitive", "k", "hidden", "learning_rate", "discount")
    grid = product(("weibull", "lognormal"), (4, 6, 8), hidden, (1e-3, 1e-4), (0.5, 0.75, 1.0))
    settings = [dict(zip(names, values, strict=True)) for values in grid]
    if data in _SINGLE_RISK:
        return list(settings)
    return [setting | {"bias": bias} for bias in (False, True) for setting in settings]


def _reduced_paper_grid(data: str) -> list[Setting]:
    """The larger learning rate, both ends of the discount, wide layers, few components: a ninth of the grid."""
    return [
        setting
        for setting in _paper_grid(data)
        if setting["k"] < 8
        and 50 not in setting["hidden"]
        and setting["learning_rate"] == 1e-3
        and setting["discount"] != 0.75
    ]


def _quick_paper_grid(data: str) -> list[Setting]:
    return [
        setting
        for setting in _paper_grid(data)
        if (setting["k"], setting["hidden"], setting["learning_rate"]) == (4, [100], 1e-3)
    ]


def paper_dsm(data: str, setting: Setting, seed: int) -> DeepSurvivalMachines:
    """Return the paper's Deep Survival Machines with one of its settings."""
    options = {**setting, "hidden": tuple(setting["hidden"])}
    return DeepSurvivalMachines.paper(
        **options, preprocessor=paper_preprocessor(data), random_state=seed
    )


_TUNED: Setting = {
    "primitive": "lognormal",
    "k": 4,
    "hidden": [100, 100],
    "objective": "exact",
    "n_members": 8,
    "dropout": 0.5,
    "preprocessor": {"numbers": "piecewise", "bins": 8},
}
_TUNED_COMPETING: Setting = {
    "primitive": "weibull",
    "k": 4,
    "hidden": [50, 50],
    "activation": "tanh",
    "objective": "exact",
    "n_members": 8,
    "dropout": 0.1,
}


def _tuned_settings(data: str) -> list[Setting]:
    return [dict(_TUNED if data in _SINGLE_RISK else _TUNED_COMPETING)]


def _quick_tuned(data: str) -> list[Setting]:
    return [{**_tuned_settings(data)[0], "n_members": 2}]


def _tuned(data: str, setting: Setting, seed: int) -> DeepSurvivalMachines:
    options = {**ONE_NETWORK, **setting, "hidden": tuple(setting["hidden"])}
    if "preprocessor" in options:
        options["preprocessor"] = TabularPreprocessor(**options["preprocessor"])
    return DeepSurvivalMachines(**options, random_state=seed)


def _with_trees_settings(data: str) -> list[Setting]:
    """Count censored rows in full or by half: where censoring depends on the event time, they mislead."""
    discounts = (1.0, 0.5) if data in _SINGLE_RISK else (1.0,)
    dsm = _tuned_settings(data)[0]
    return [{"dsm": dsm, "boosting": {}, "discount": discount} for discount in discounts]


def _with_trees(data: str, setting: Setting, seed: int) -> baselines.ModelAverage:
    trees = baselines.GradientBoosting(**setting["boosting"], random_state=seed)
    return baselines.ModelAverage([_tuned(data, setting["dsm"], seed), trees], setting["discount"])


def _cox(data: str, setting: Setting, seed: int) -> baselines.CoxPH:
    return baselines.CoxPH(preprocessor=paper_preprocessor(data))


def _paper_forest(data: str, setting: Setting, seed: int) -> baselines.RandomSurvivalForest:
    return baselines.RandomSurvivalForest.paper(
        **setting, random_state=seed, preprocessor=paper_preprocessor(data), n_jobs=1
    )


def _few_paper_trees(data: str) -> list[Setting]:
    """SYNTHETIC has 24,000 training rows, SEER more: a hundred trees would take twelve minutes per fold."""
    if data in _FEW_TREES_FOR:
        return [{"n_trees": 20, "split_times": 100}]
    return _PAPER_TREES(data)


_PAPER_TREES = fixed(*({"n_trees": count} for count in (10, 20, 50, 100)))


def _forest(data: str, setting: Setting, seed: int) -> baselines.RandomSurvivalForest:
    strongest = {"n_trees": 150, "min_samples_leaf": 5, "max_features": 0.4, "split_times": 100}
    return baselines.RandomSurvivalForest(**{**strongest, **setting}, random_state=seed, n_jobs=1)


def _few_leaves(data: str) -> list[Setting]:
    if data in _FEW_TREES_FOR:
        return [{"n_trees": 10, "min_samples_leaf": 15}]
    return _LEAVES(data)


_LEAVES = fixed({"min_samples_leaf": 5}, {"min_samples_leaf": 15})


def _deephit(data: str, setting: Setting, seed: int) -> baselines.DeepHit:
    own_settings = ("support", "metabric", "synthetic", "seer")
    searched = data if data in own_settings else "seer"  # other tables replace SEER
    return baselines.DeepHit.paper(
        searched, random_state=seed, preprocessor=paper_preprocessor(data), **setting
    )


def deephit_settings(n_settings: int = 10, random_state: int = 0) -> list[Setting]:
    """Return settings of DeepHit drawn as by the paper's random search: each option uniformly from its list."""
    layers, nodes = (1, 2, 3, 5), (50, 100, 200, 300)
    options = {
        "shared_layers": layers,
        "shared_nodes": nodes,
        "cause_layers": layers,
        "cause_nodes": nodes,
        "activation": ("relu", "elu", "tanh"),
        "alpha": (0.1, 0.5, 1.0, 3.0, 5.0),
    }
    rng = np.random.default_rng(random_state)
    return [
        {name: values[int(rng.integers(len(values)))] for name, values in options.items()}
        for _ in range(n_settings)
    ]


def _boosting(data: str, setting: Setting, seed: int) -> baselines.GradientBoosting:
    return baselines.GradientBoosting(**setting, random_state=seed)


def _cause_specific(build: Callable[[str, Setting, int], Any]) -> Callable[..., Any]:
    return lambda data, setting, seed: baselines.CauseSpecific(build(data, setting, seed))


class TrueSynthetic:
    """The distribution that the rows of ``datasets.make_synthetic`` are drawn from, with rounded times.

    ``fit`` learns nothing. Four rows of the original file have means just below 0 with our estimates of its
    coefficients; they are raised to ``least_mean``.
    """

    def __init__(self, least_mean: float = 0.01) -> None:
        self.least_mean = least_mean

    def fit(self, X: Any, y: Any) -> TrueSynthetic:
        """Return the model itself."""
        return self

    def _truth(self, X: Any) -> SyntheticTruth:
        means = synthetic_means(np.asarray(X, dtype=np.float64))
        return SyntheticTruth(np.maximum(means, self.least_mean), np.empty(0, dtype=[]), True)

    def predict_survival_function(self, X: Any, times: Any) -> FloatArray:
        """Return the probability that neither event has happened by each time."""
        return self._truth(X).survival(times)

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> FloatArray:
        """Return the probability of an event by each time."""
        return self._truth(X).cumulative_incidence(times, event)

    def predict_net_survival(self, X: Any, times: Any, event: int = 1) -> FloatArray:
        """Return the survival of an event if there were no other."""
        return self._truth(X).net_survival(times, event)


# Raise it if the defaults change: records of the old defaults are then not mistaken for new ones.
_DEFAULTS = fixed({"defaults": "0.3"})
_FEW_TREES = fixed({"n_trees": 20})

# Colours after Okabe and Ito, distinguishable for colour-blind readers. The order is that of tables and figures.
MODELS = {
    "default": Model(
        "DSM, defaults",
        "#0072B2",
        "o",
        "ours",
        "DeepSurvivalMachines(), nothing chosen by hand",
        lambda data, setting, seed: DeepSurvivalMachines(random_state=seed),
        _DEFAULTS,
    ),
    "tuned": Model(
        "DSM, tuned",
        "#5aa9d6",
        "p",
        "ours",
        "DeepSurvivalMachines.tuned(); its settings were found on inner splits of training folds of these data sets, "
        "so it is less of a blind test than the defaults",
        _tuned,
        _tuned_settings,
        quick=_quick_tuned,
    ),
    "one-network": Model(
        "DSM, one network",
        "#93c5e8",
        "d",
        "ours",
        "one network with the default settings of version 0.2",
        lambda data, setting, seed: DeepSurvivalMachines(**ONE_NETWORK, random_state=seed),
    ),
    "lifemix": Model(
        "LifeMix (DSM, Cox, trees)",
        "#003f6b",
        "H",
        "ours",
        "LifeMix(): Deep Survival Machines, ridge Cox regression, boosted trees and a forest, weighted by cross-fitted "
        "curves",
        lambda data, setting, seed: LifeMix(random_state=seed),
        _DEFAULTS,
        on_request=True,
    ),
    "tuned-trees": Model(
        "DSM + trees",
        "#3b82a0",
        "8",
        "ours",
        "DSM, tuned, averaged with gradient boosting",
        _with_trees,
        _with_trees_settings,
        quick=lambda data: [{**_with_trees_settings(data)[0], "dsm": _quick_tuned(data)[0]}],
        selected_by="brier",
    ),
    "dsm": Model(
        "DSM, paper’s settings",
        "#D55E00",
        "D",
        meaning="Deep Survival Machines as in the paper, settings selected from the paper's grid",
        build=paper_dsm,
        settings=_paper_grid,
        reduced=_reduced_paper_grid,
        quick=_quick_paper_grid,
        trains_together=True,
    ),
    "cph": Model("Cox (CPH)", "#6b7280", "s", build=_cox, risks="single"),
    "cs-cph": Model("Cox (cs-CPH)", "#6b7280", "s", build=_cause_specific(_cox), risks="competing"),
    "fg": Model(
        "Fine–Gray",
        "#8c6d1f",
        "P",
        build=lambda data, setting, seed: baselines.FineGray(preprocessor=paper_preprocessor(data)),
        risks="competing",
    ),
    "deepsurv": Model(
        "DeepSurv",
        "#CC79A7",
        "v",
        build=lambda data, setting, seed: baselines.DeepSurv.paper(
            data, random_state=seed, preprocessor=paper_preprocessor(data)
        ),
        only=("support", "metabric"),
    ),
    "deephit": Model("DeepHit", "#E69F00", "^", build=_deephit),
    "deephit-search": Model(
        "DeepHit, random search",
        "#b57b00",
        "2",
        meaning="DeepHit with one of ten settings drawn as the paper draws them",
        build=_deephit,
        settings=lambda data: deephit_settings(),
        quick=fixed({}),
        on_request=True,
        variant_of="deephit",
    ),
    "rsf": Model(
        "Forest (RSF)",
        "#009E73",
        "X",
        build=_paper_forest,
        settings=_PAPER_TREES,
        quick=_FEW_TREES,
        risks="single",
    ),
    "cs-rsf": Model(
        "Forest (cs-RSF)",
        "#009E73",
        "X",
        build=_cause_specific(_paper_forest),
        settings=_PAPER_TREES,
        reduced=_few_paper_trees,
        quick=_FEW_TREES,
        risks="competing",
    ),
    "forest": Model(
        "Tuned forest", "#56B4E9", "h", "strong", build=_forest, quick=_FEW_TREES, risks="single"
    ),
    "cs-forest": Model(
        "Tuned forest (cs)",
        "#56B4E9",
        "h",
        "strong",
        build=_cause_specific(_forest),
        settings=_LEAVES,
        reduced=_few_leaves,
        quick=_FEW_TREES,
        risks="competing",
    ),
    "our-forest": Model(
        "Martingale forest",
        "#2a7f9e",
        "<",
        "strong",
        "baselines.MartingaleForest with as many trees on every data set, the size of the leaves selected",
        lambda data, setting, seed: baselines.MartingaleForest(**setting, random_state=seed),
        _LEAVES,
        quick=_FEW_TREES,
    ),
    "boosting": Model(
        "Gradient boosting",
        "#7A4FBF",
        "*",
        "strong",
        build=_boosting,
        quick=fixed({"max_iter": 100}),
    ),
    "boosting-discount": Model(
        "Gradient boosting, discount",
        "#5b3a99",
        "4",
        "strong",
        "gradient boosting in which censored rows count in full or by half, whichever has the better Brier score on "
        "the inner validation rows",
        lambda data, setting, seed: baselines.ModelAverage(
            [_boosting(data, {}, seed)], setting["discount"]
        ),
        fixed({"discount": 1.0}, {"discount": 0.5}),
        quick=fixed({"discount": 1.0}),
        only=("support", "metabric"),
        on_request=True,
        selected_by="brier",
        variant_of="boosting",
    ),
    "boosting-seeds": Model(
        "Boosting, 8 seeds averaged",
        "#a27fd6",
        "1",
        "strong",
        "eight fits of gradient boosting averaged: what averaging does for boosting without DSM",
        lambda data, setting, seed: baselines.ModelAverage(
            [_boosting(data, {}, 8 * seed + i) for i in range(setting["seeds"])]
        ),
        fixed({"seeds": 8}),
        quick=fixed({"seeds": 2}),
        on_request=True,
    ),
    "boosting-forest": Model(
        "Boosting + forest",
        "#4b2e83",
        "3",
        "strong",
        "gradient boosting averaged with a tuned forest: DSM + trees without DSM",
        lambda data, setting, seed: baselines.ModelAverage(
            [_forest(data, setting, seed), _boosting(data, {}, seed)]
        ),
        quick=_FEW_TREES,
        risks="single",
        on_request=True,
    ),
    "kpca": Model("Kernel PCA", "#009E73", "X"),
    "nnmf": Model("NNMF", "#6b7280", "s"),
    "vae": Model("VAE", "#7A4FBF", "*"),
    "raw": Model("Covariates themselves", "#56B4E9", "h"),
    "floor": Model(
        "No covariates",
        "#9ca3af",
        "_",
        "reference",
        build=lambda data, setting, seed: baselines.AalenJohansen(),
    ),
    "truth": Model(
        "True distribution",
        "#111827",
        "d",
        "reference",
        build=lambda data, setting, seed: TrueSynthetic(),
        only=("synthetic",),
    ),
}
_TRANSFER_TITLES = {"tuned": "DSM, 4 members", "truth": "True mean time"}


def model_title(model: str, data: str = "") -> str:
    """Return the name of a model in the tables of a data set."""
    if data == "transfer" and model in _TRANSFER_TITLES:
        return _TRANSFER_TITLES[model]
    return MODELS[model].title


def plain_model(model: str) -> str:
    """Return the model of which this is a variant with more settings, otherwise the model itself."""
    return MODELS[model].variant_of or model


def by_rank(models: Iterable[str]) -> list[str]:
    """Return models in the order of tables and figures."""
    return sorted(set(models), key=list(MODELS).index)
