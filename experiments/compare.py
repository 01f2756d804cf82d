"""Differences between cells: ours and the paper's, ours and a rival's on the same folds.

What counts is decided here, once. Every rival counts under one selection (nested rather than fixed, and the paper's
optimistic one only if there is no other) and with the most settings to select from, on at least three folds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from lifemix._types import FloatArray

from .models import MODELS, plain_model
from .published import published_cells
from .records import Frame
from .results import CELL

__all__ = [
    "LOWER_IS_BETTER",
    "against_paper",
    "against_rivals",
    "agreement",
    "count_comparisons",
    "holm",
    "our_models",
    "paired_test",
]

LOWER_IS_BETTER = ("brier", "brier_original", "seconds", "parameters")
_SELECTION_PRIORITY = {
    "nested": 0,
    "fixed": 1,
    "paper": 2,
}
_LEVEL = 0.05
_MIN_FOLDS = 3


def our_models(cells: Frame) -> list[str]:
    """Return the models of this package that have cells, in the order of the tables."""
    names = set(cells["model"])
    return [name for name, model in MODELS.items() if name in names and model.group == "ours"]


def preferred_cells(cells: Frame) -> Frame:
    """Return the cells of every model under its preferred selection, of measures that count in comparisons."""
    cells = cells[cells["measure"].isin(["ctd", "brier", "concordance"])]
    priority = cells["selection"].map(_SELECTION_PRIORITY)
    best = priority.groupby([cells["data"], cells["model"]]).transform("min")
    return cells[priority == best]


def _is_judged(cells: Frame) -> Frame:
    """Return which cells of rivals count in comparisons.

    Not Brier scores on SYNTHETIC: its censoring depends on the event time, so that the true distribution scores worse
    than a fitted one. Not DeepHit at the last event time, where all its probability is in the last interval.
    """
    is_synthetic_brier = (cells["data"] == "synthetic") & (cells["measure"] == "brier")
    is_last_of_deephit = cells["rival"].str.startswith("deephit") & (cells["horizon"] == 1)
    return ~is_synthetic_brier & ~(is_last_of_deephit & (cells["measure"] != "concordance"))


def _gain(cells: Frame, difference: Frame) -> Frame:
    """Return a difference with the sign that makes positive better."""
    return difference.where(~cells["measure"].isin(LOWER_IS_BETTER), -difference)


def against_paper(cells: Frame) -> Frame:
    """Return the differences of our models from the paper's DSM as printed; ``error`` is that of the difference.

    is_behind: behind by more than one standard error; an unknown one counts as 0.
    """
    cells = preferred_cells(cells)
    ours = cells[cells["model"].isin(our_models(cells)) & cells["mean"].notna()]
    paper = published_cells(cells["data"]).query("model == 'dsm'")[[*CELL, "mean", "error"]]
    pairs = ours.merge(paper, on=CELL, suffixes=("", "_paper"))
    gain = _gain(pairs, pairs["mean"] - pairs["mean_paper"])
    error = np.hypot(pairs["error"], pairs["error_paper"])
    return pairs.assign(
        gain=gain,
        error=error,
        is_behind=gain < -error.fillna(0),
    )


def agreement(cells: Frame) -> Frame:
    """Return in how many cells each model of the paper is within two standard errors of the paper's number.

    as_error: if the paper's ± is a standard error, as its text says. as_interval: if it is a 90 % interval, as its
    appendix says.
    """
    cells = cells[~cells["selection"].str.match(r"\d|n=") & np.isfinite(cells["error"])]
    cells = cells.assign(plain=cells["model"].map(plain_model))
    counts = {}
    for name in ("as_error", "as_interval"):
        paper = published_cells(cells["data"], as_interval=name == "as_interval")
        paper = paper.rename(columns={"model": "plain"})[["plain", *CELL, "mean", "error"]]
        pairs = cells.merge(paper, on=["plain", *CELL], suffixes=("", "_paper"))
        limit = 2 * np.hypot(pairs["error"], pairs["error_paper"])
        is_within = (pairs["mean"] - pairs["mean_paper"]).abs() <= limit
        groups = is_within.groupby([pairs["model"], pairs["selection"]], sort=False)
        counts["total"], counts[name] = groups.size(), groups.sum()
    return pd.DataFrame(counts).reset_index()


def paired_test(difference: FloatArray) -> tuple[float, float, float, int]:
    """Return mean, standard error and p value of the differences of all folds, and how many are defined.

    Folds share training rows, so the variance of the mean is ``s² (1 / n + n_test / n_train)``; the second term,
    ``1 / (folds - 1)``, is the correction of Nadeau and Bengio (2003, doi:10.1023/A:1024068626366).
    """
    defined = difference[np.isfinite(difference)]
    n = len(defined)
    if n < _MIN_FOLDS:
        return np.nan, np.nan, np.nan, n
    mean = float(defined.mean())
    error = float(defined.std(ddof=1) * np.sqrt(1 / n + 1 / (len(difference) - 1)))
    p_value = 2 * stats.t.sf(abs(mean) / error, n - 1) if error > 0 else float(mean == 0)
    return mean, error, float(p_value), n


def holm(p_values: Frame) -> Frame:
    """Return p values adjusted for their number, as Holm (1979) does."""
    ordered = p_values.sort_values(kind="stable")
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1.0)
    return adjusted.reindex(p_values.index)


def against_rivals(cells: Frame) -> Frame:
    """Return the differences of our models from every rival on the same folds.

    A positive ``gain`` is in our favour. p is that of a paired t test, p_holm the same after Holm's correction for all
    comparisons of one of our models on a data set.
    """
    cells = preferred_cells(cells)
    group = cells["model"].map({name: model.group for name, model in MODELS.items()})
    ours = cells[group == "ours"]
    rivals = cells[group.isin(["paper", "strong"])]
    variants = rivals["model"].map(lambda model: MODELS[model].variant_of)
    replaced = set(zip(variants, *(rivals[name] for name in CELL), strict=True))
    identity = zip(*(rivals[name] for name in ["model", *CELL]), strict=True)
    rivals = rivals[np.array([key not in replaced for key in identity], dtype=bool)]
    rivals = rivals.rename(columns={"model": "rival"})[[*CELL, "rival", "mean", "values"]]
    pairs = ours.merge(rivals, on=CELL, suffixes=("", "_rival"))
    pairs = pairs[_is_judged(pairs)]
    pairs = pairs[pairs["values"].map(len) == pairs["values_rival"].map(len)]
    tests = [
        paired_test(np.subtract(*values))
        for values in zip(pairs["values"], pairs["values_rival"], strict=True)
    ]
    columns = ["difference", "error", "p", "folds"]
    pairs[columns] = pd.DataFrame(tests, columns=columns, index=pairs.index)
    pairs = pairs[pairs["p"].notna()].copy()
    pairs["gain"] = _gain(pairs, pairs["difference"])
    pairs["p_holm"] = pairs.groupby(["data", "model"])["p"].transform(holm)
    pairs["is_strong"] = [MODELS[rival].group == "strong" for rival in pairs["rival"]]
    return pairs.sort_values("rival", kind="stable")


def count_comparisons(pairs: Frame) -> Frame:
    """Return how many comparisons of our models with strong rivals and others there are, and how many are for us."""
    is_ahead, is_significant = pairs["gain"] > 0, pairs["p"] < _LEVEL
    counts = pairs.assign(
        total=1,
        ahead=is_ahead,
        significantly_ahead=is_significant & is_ahead,
        significantly_behind=is_significant & ~is_ahead,
    )
    names = ["total", "ahead", "significantly_ahead", "significantly_behind"]
    return counts.groupby(["model", "is_strong"])[names].sum()
