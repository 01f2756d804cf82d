"""How models, data sets, measures and selections are called on the pages, and how models are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..._html import Html, safe
from ..comparison import NO_RIVALS

__all__ = ["MEASURES", "Look", "Measure", "data_title", "look", "measure_of", "rank", "row_title", "selection_title"]


@dataclass(frozen=True)
class Look:
    """A model's name in words, and its colour and marker in pictures; a reference is shown but never ranked."""

    title: str
    colour: str = "#6b7280"
    marker: str = "o"
    reference: bool = False


# Colours after Okabe and Ito, told apart by colour-blind readers; every model has a marker of its own besides.
_LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        name: replace(own, reference=name in NO_RIVALS)
        for name, own in {
            "lifemix": Look("lifemix", "#0072B2", "o"),
            "lifemix-dsm": Look("lifemix, DSM alone", "#5aa9d6", "p"),
            "lifemix-default": Look("lifemix, defaults", "#93c5e8", "d"),
            "dsm": Look("DSM", "#D55E00", "D"),
            "cph": Look("Cox (CPH)", "#6b7280", "s"),
            "cs-cph": Look("Cox (cs-CPH)", "#6b7280", "s"),
            "fg": Look("Fine-Gray", "#8c6d1f", "P"),
            "deepsurv": Look("DeepSurv", "#CC79A7", "v"),
            "deephit": Look("DeepHit", "#E69F00", "^"),
            "deephit-search": Look("DeepHit, searched", "#b57b00", "2"),
            "rsf": Look("Forest (RSF)", "#009E73", "X"),
            "cs-rsf": Look("Forest (cs-RSF)", "#009E73", "X"),
            "forest": Look("Tuned forest", "#56B4E9", "h"),
            "cs-forest": Look("Tuned forest (cs)", "#56B4E9", "h"),
            "boosting": Look("Gradient boosting", "#7A4FBF", "*"),
            "kpca": Look("Kernel PCA", "#009E73", "X"),
            "nnmf": Look("NNMF", "#6b7280", "s"),
            "vae": Look("VAE", "#7A4FBF", "*"),
            "raw": Look("Covariates themselves", "#56B4E9", "h"),
            "floor": Look("No covariates", "#9ca3af", "_"),
            "truth": Look("The true law", "#111827", "d"),
        }.items()
    }
)


def look(model: str) -> Look:
    """Return how a model is called and drawn; one that is not known goes by its own name."""
    return _LOOKS.get(model, Look(model))


def rank(model: str) -> tuple[int, str]:
    """Return a model's place in tables and pictures: ours first, references last."""
    names = list(_LOOKS)
    return (names.index(model) if model in _LOOKS else len(names) - 3, model)


@dataclass(frozen=True)
class Measure:
    """A measure's name, the decimals it is printed with, and what it is."""

    title: Html
    plain: str
    digits: int = 3
    meaning: str = ""


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "ctd": Measure(
            Html("C<sup>td</sup>"),
            "C^td",
            meaning="share of pairs of subjects ranked rightly up to the horizon, weighted for censoring; "
            "higher is better, 0.5 is a coin",
        ),
        "brier": Measure(
            Html("Brier score"),
            "Brier score",
            meaning="mean squared error of the predicted probability at the horizon, weighted for censoring; lower is "
            "better. G, the law of censoring, from the rows trained on, artificial censoring included: what the "
            "paper's tables show",
        ),
        "brier_original": Measure(
            Html("Brier score, G from the original rows"),
            "Brier score (original G)",
            meaning="the same with G from the training rows before artificial censoring, which depends on the time of "
            "the event and so breaks what the weights assume: the fairer of the two",
        ),
        "log_likelihood": Measure(Html("Log-likelihood a row"), "log-likelihood", meaning="higher is better"),
        "concordance": Measure(
            Html("Harrell’s C"), "Harrell's C", 4, "share of comparable pairs ranked rightly; higher is better"
        ),
        "seconds": Measure(Html("Training time"), "seconds", 2, "seconds of one fit, on one core"),
        "parameters": Measure(Html("Parameters"), "parameters", 0, "numbers that are learnt"),
    }
)

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
        "metabric_causes": "METABRIC, causes of death",
        "transfer": "Transfer",
    }
)


def measure_of(name: str) -> Measure:
    """Return what is known of a measure; one that is not known goes by its own name."""
    return MEASURES.get(name, Measure(safe(name), name))


def selection_title(name: str) -> str:
    """Return in words how settings were chosen; what is not known goes by its own name."""
    return _SELECTIONS.get(name, name)


def row_title(model: str, selection: str, inline: bool = False) -> Html:
    """Return a model's name with how its settings were chosen under it, or after it."""
    way = "unit" if inline else "under"
    return Html(f'{safe(look(model).title)} <small class="{way}">{safe(selection_title(selection))}</small>')


def data_title(name: str) -> str:
    """Return how a data set is called."""
    return _DATA.get(name, name)
