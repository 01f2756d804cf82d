"""How models, data sets, measures and selections are called in tables and pages, and how models are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .cells import Cell

__all__ = [
    "MEASURES",
    "ModelStyle",
    "MeasureText",
    "data_title",
    "is_ours",
    "is_reference",
    "is_strong",
    "measure_of",
    "model_title",
    "rank",
    "row_notes",
    "rows_of",
    "selection_title",
    "sign_of",
    "style_of",
]


@dataclass(frozen=True)
class ModelStyle:
    """A model's name in words, and its colour and marker in figures.

    reference: shown for orientation, never ranked. ours: compared with the rivals. strong: a rival that is usually
    harder to beat than the paper's baselines, counted apart from them. fuller: the model of which this one is the
    same with more settings to select from; where both are known it counts in that one's place.
    """

    title: str
    colour: str = "#6b7280"
    marker: str = "o"
    reference: bool = False
    ours: bool = False
    strong: bool = False
    fuller: str = ""


# Colours after Okabe and Ito, distinguishable for colour-blind readers; every model has a marker of its own besides.
_STYLES: Mapping[str, ModelStyle] = MappingProxyType(
    {
        "default": ModelStyle("DSM, defaults", "#0072B2", "o", ours=True),
        "tuned": ModelStyle("DSM, tuned", "#5aa9d6", "p", ours=True),
        "one-network": ModelStyle("DSM, one network", "#93c5e8", "d", ours=True),
        "lifemix": ModelStyle("LifeMix (DSM, Cox, trees)", "#003f6b", "H", ours=True),
        "tuned-trees": ModelStyle("DSM + trees", "#3b82a0", "8", ours=True),
        "dsm": ModelStyle("DSM, paper’s settings", "#D55E00", "D"),
        "cph": ModelStyle("Cox (CPH)", "#6b7280", "s"),
        "cs-cph": ModelStyle("Cox (cs-CPH)", "#6b7280", "s"),
        "fg": ModelStyle("Fine–Gray", "#8c6d1f", "P"),
        "deepsurv": ModelStyle("DeepSurv", "#CC79A7", "v"),
        "deephit": ModelStyle("DeepHit", "#E69F00", "^"),
        "deephit-search": ModelStyle("DeepHit, random search", "#b57b00", "2", fuller="deephit"),
        "rsf": ModelStyle("Forest (RSF)", "#009E73", "X"),
        "cs-rsf": ModelStyle("Forest (cs-RSF)", "#009E73", "X"),
        "forest": ModelStyle("Tuned forest", "#56B4E9", "h", strong=True),
        "cs-forest": ModelStyle("Tuned forest (cs)", "#56B4E9", "h", strong=True),
        "our-forest": ModelStyle("Martingale forest", "#2a7f9e", "<", strong=True),
        "boosting": ModelStyle("Gradient boosting", "#7A4FBF", "*", strong=True),
        "boosting-discount": ModelStyle(
            "Gradient boosting, discount", "#5b3a99", "4", strong=True, fuller="boosting"
        ),
        "boosting-seeds": ModelStyle("Boosting, 8 seeds averaged", "#a27fd6", "1", strong=True),
        "boosting-forest": ModelStyle("Boosting + forest", "#4b2e83", "3", strong=True),
        "kpca": ModelStyle("Kernel PCA", "#009E73", "X"),
        "nnmf": ModelStyle("NNMF", "#6b7280", "s"),
        "vae": ModelStyle("VAE", "#7A4FBF", "*"),
        "raw": ModelStyle("Covariates themselves", "#56B4E9", "h"),
        "floor": ModelStyle("No covariates", "#9ca3af", "_", reference=True),
        "truth": ModelStyle("True distribution", "#111827", "d", reference=True),
    }
)
_OWN_TITLES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("transfer", "tuned"): "DSM, 4 members",
        ("transfer", "truth"): "True mean time",
    }
)
"""Models that are something else on one data set."""


_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "default": "`DeepSurvivalMachines()`, nothing chosen by hand",
        "tuned": "`DeepSurvivalMachines.tuned()`, alone; its settings were found on inner splits of training parts of "
        "these data sets, so it is less of a blind test than the defaults",
        "one-network": "one network with the default settings of version 0.2",
        "lifemix": "`LifeMix()`: Deep Survival Machines, ridge Cox regression, boosted trees and a forest, weighted by "
        "cross-fitted curves",
        "tuned-trees": "DSM, tuned, averaged with gradient boosting: no row of DSM alone",
        "boosting-discount": "gradient boosting in which censored rows count in full or by half, whichever has the "
        "better Brier score on the inner validation part",
        "deephit-search": "DeepHit with one of ten settings drawn as the paper draws them",
        "our-forest": "`baselines.MartingaleForest` with as many trees on every data set, the size of the leaves "
        "selected",
        "boosting-seeds": "eight fits of gradient boosting averaged: what averaging does for boosting without DSM",
        "boosting-forest": "gradient boosting averaged with a tuned forest: DSM + trees without DSM",
        "dsm": "Deep Survival Machines as in the paper, settings selected from the paper's grid",
    }
)


def row_notes(cells: Iterable[Cell]) -> list[str]:
    """Return what the rows of our models are, in the order of the tables."""
    models = dict.fromkeys(
        row[0] for row in rows_of([cell for cell in cells if cell.data != "transfer"])
    )
    return [
        f"*{style_of(model).title}*: {_MEANINGS[model]}." for model in models if model in _MEANINGS
    ]


def style_of(model: str) -> ModelStyle:
    """Return how a model is called and drawn; an unknown one goes by its own name."""
    return _STYLES.get(model, ModelStyle(model))


def model_title(model: str, data: str = "") -> str:
    """Return how a model is called on a data set; the name says whether another model is averaged in."""
    return _OWN_TITLES.get((data, model), style_of(model).title)


def is_reference(model: str) -> bool:
    """Tell whether a model is shown for orientation only: no rival, never the best."""
    return style_of(model).reference


def is_ours(model: str) -> bool:
    """Tell whether a model is one of this package's own, which are compared with the rivals."""
    return style_of(model).ours


def is_strong(model: str) -> bool:
    """Tell whether a rival is one of the strong ones."""
    return style_of(model).strong


def plain_of(model: str) -> str:
    """Return the name of the model with one setting, of which this is the one with several; else its own name."""
    return style_of(model).fuller or model


def rank(model: str) -> tuple[int, str]:
    """Return a model's place in tables and figures: ours first, bounds last."""
    names = list(_STYLES)
    return (names.index(model) if model in _STYLES else len(names) - 2, model)


def rows_of(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """Return the models of some cells with how their settings were selected, in the order of the tables."""
    rows = {(cell.model, cell.selection) for cell in cells}
    return sorted(rows, key=lambda row: (rank(row[0]), _selection_rank(row[1])))


def _selection_rank(selection: str) -> tuple[int, list[int]]:
    known = list(_SELECTIONS)
    place = known.index(selection) if selection in known else len(known)
    return place, [int(number) for number in re.findall(r"\d+", selection)]


@dataclass(frozen=True)
class MeasureText:
    """A measure's name, the decimals it is printed with, what it is, and whether lower is better."""

    title: str
    meaning: str = ""
    digits: int = 3
    lower_is_better: bool = False
    has_horizon: bool = True


MEASURES: Mapping[str, MeasureText] = MappingProxyType(
    {
        "ctd": MeasureText(
            "C^td",
            "concordance: the share of pairs of subjects in the right order up to the horizon, weighted for "
            "censoring; higher is better, 0.5 is chance",
        ),
        "brier": MeasureText(
            "Brier score",
            "mean squared error of the predicted probability at the horizon, weighted for censoring; lower is better. "
            "The censoring distribution G is estimated from the training rows, artificial censoring included, as in "
            "the paper's tables",
            lower_is_better=True,
        ),
        "brier_original": MeasureText(
            "Brier score, G before artificial censoring",
            "the same with G from the training rows before artificial censoring. Artificial censoring depends on the "
            "event time, which the weights assume it does not: this is the fairer of the two",
            lower_is_better=True,
        ),
        "concordance": MeasureText(
            "Harrell’s C",
            "the share of comparable pairs in the right order; higher is better",
            4,
            has_horizon=False,
        ),
        "seconds": MeasureText(
            "Training time", "seconds of one fit on one core", 2, True, has_horizon=False
        ),
        "parameters": MeasureText(
            "Parameters", "number of learned parameters", 0, True, has_horizon=False
        ),
    }
)


def measure_of(name: str) -> MeasureText:
    """Return what is known of a measure; an unknown one goes by its own name."""
    return MEASURES.get(name, MeasureText(name))


def sign_of(measure: str) -> int:
    """Return 1 where higher values of a measure are better, -1 where lower ones are."""
    return -1 if measure_of(measure).lower_is_better else 1


_SELECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "paper": "paper’s selection",
        "nested": "nested selection",
        "fixed": "fixed settings",
        "published": "in the paper only",
    }
)
_DATA: Mapping[str, str] = MappingProxyType(
    {
        "support": "SUPPORT",
        "metabric": "METABRIC",
        "synthetic": "SYNTHETIC",
        "seer": "SEER",
        "flchain": "Free light chains",
        "ebmt": "EBMT transplants",
        "metabric_causes": "METABRIC by cause of death",
        "transfer": "Transfer",
    }
)


def selection_title(name: str) -> str:
    """Return in words how settings were selected; what is not known goes by its own name."""
    return _SELECTIONS.get(name, name)


def data_title(name: str) -> str:
    """Return how a data set is called."""
    return _DATA.get(name, name)
