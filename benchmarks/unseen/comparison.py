"""Models against each other over tables: mean scores, Wilcoxon's test, the worst table with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student
from scipy.stats import wilcoxon

__all__ = ["against", "by_table", "summary", "worst_table"]

BETTER = {"ibs": -1, "c": 1, "ici": -1}
_TEST_SHARE = 1 / 4  # rows of a fold's test part over those of its training part


def by_table(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return the mean over folds, one row per table and one column per model; folds that some model lacks are out."""
    models = frame["model"].nunique()
    known = frame[frame[score].notna()]
    whole = known.groupby(["table", "fold"])["model"].transform("nunique") == models
    return known[whole].pivot_table(index="table", columns="model", values=score, sort=False)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return skill over the curve without covariates, C, calibration index, mean ranks and seconds of each model."""
    ibs, c, ici = (by_table(frame, score) for score in BETTER)
    rows: dict[str, Any] = {
        "skill": 100 * (1 - ibs.div(ibs["marginal"], axis=0)).mean() if "marginal" in ibs else np.nan,
        "C": c.mean(),
        "ICI": ici.mean(),
        "rank by IBS": ibs.drop(columns="marginal", errors="ignore").rank(axis=1).mean(),
        "rank by C": (-c.drop(columns="marginal", errors="ignore")).rank(axis=1).mean(),
        "CPU seconds of a fit": frame.groupby("model")["fit_seconds"].mean(),
    }
    return pd.DataFrame(rows)


def against(frame: pd.DataFrame, model: str, rival: str, score: str) -> tuple[int, int, float]:
    """Return on how many tables a model is ahead, of how many, and the p value of Wilcoxon's signed-rank test."""
    means = by_table(frame[frame["model"].isin([model, rival])], score)
    gap = BETTER[score] * (means[model] - means[rival])
    p = float(wilcoxon(gap).pvalue) if len(gap) > 5 and np.any(gap) else np.nan
    return int((gap > 0).sum()), len(gap), p


def worst_table(frame: pd.DataFrame, model: str, rival: str) -> tuple[str, float, float]:
    """Return where the integrated Brier score is furthest above the rival's, in percent, and the lower bound of that.

    The bound is that of the 95 % interval of Nadeau and Bengio (2003, doi:10.1023/A:1024068626366), whose variance
    allows for training rows that folds have in common; NaN where a table has one fold.
    """
    worst = ("", -np.inf, np.nan)
    pair = frame[frame["model"].isin([model, rival])]
    for table, own in pair.groupby("table", sort=False):
        folds = own.pivot_table(index="fold", columns="model", values="ibs")
        if folds.shape[1] < 2 or len(folds := folds.dropna()) == 0:
            continue
        gap = 100 * (folds[model] - folds[rival]) / folds[rival].mean()
        low = np.nan
        if len(gap) > 1:
            error = gap.std(ddof=1) * np.sqrt(1 / len(gap) + _TEST_SHARE)
            low = gap.mean() - student.ppf(0.975, len(gap) - 1) * error
        if gap.mean() > worst[1]:
            worst = (str(table), float(gap.mean()), float(low))
    return worst
