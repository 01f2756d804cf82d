"""Models against each other over tables: mean scores, Wilcoxon's test, the worst table with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student
from scipy.stats import wilcoxon

__all__ = ["above", "against", "by_table", "gaps", "summary", "with_failures", "worst_table"]

BETTER = {"ibs": -1, "c": 1, "ici": -1, "log_likelihood": 1}
_TEST_SHARE = (
    1 / 4
)  # rows of a fold's test part over those of its training part: four of five folds train
_LEVEL = 0.05


def with_failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Give a model that failed on a fold the scores of the curve without covariates there."""
    scores = [score for score in ("ibs", "c", "ici", "d", "d_p") if score in frame]
    if "error" not in frame or not frame["error"].notna().any():
        return frame
    plain = frame[frame["model"] == "marginal"].set_index(["table", "fold"])[scores]
    failed = frame["error"].notna()
    places = pd.MultiIndex.from_frame(frame.loc[failed, ["table", "fold"]])
    filled = frame.copy()
    filled.loc[failed, scores] = plain.reindex(places).to_numpy()
    return filled


def by_table(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return the mean over folds, one row per table and one column per model; folds that some model lacks are out."""
    models = frame["model"].nunique()
    known = frame[frame[score].notna()]
    whole = known.groupby(["table", "fold"])["model"].transform("nunique") == models
    return known[whole].pivot_table(index="table", columns="model", values=score, sort=False)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return skill over the curve without covariates, C, calibration, likelihood, ranks and seconds of each model."""
    ibs, c, ici = (by_table(frame, score) for score in ("ibs", "c", "ici"))
    tested = frame.assign(uneven=(frame["d_p"] < _LEVEL).where(frame["d_p"].notna()).astype(float))
    smooth = (
        frame.groupby("model")["log_likelihood"].transform("count") > 0
    )  # models that have a density
    rows: dict[str, Any] = {
        "skill": 100 * (1 - ibs.div(ibs["marginal"], axis=0)).mean()
        if "marginal" in ibs
        else np.nan,
        "C": c.mean(),
        "ICI": ici.mean(),
        "D-calibration": by_table(tested, "uneven").mean(),
        "log-likelihood": by_table(frame[smooth], "log_likelihood").mean(),
        "rank by IBS": ibs.drop(columns="marginal", errors="ignore").rank(axis=1).mean(),
        "rank by C": (-c.drop(columns="marginal", errors="ignore")).rank(axis=1).mean(),
        "CPU seconds of a fit": frame.groupby("model")["fit_seconds"].mean(),
    }
    return pd.DataFrame(rows)


def against(frame: pd.DataFrame, model: str, rival: str, score: str) -> tuple[int, int, float]:
    """Return on how many tables a model is ahead, of how many, and the p value of Wilcoxon's signed-rank test."""
    means = by_table(frame[frame["model"].isin([model, rival])], score)
    if means.shape[1] < 2:
        return 0, 0, np.nan
    gap = BETTER[score] * (means[model] - means[rival])
    p = float(wilcoxon(gap).pvalue) if len(gap) > 5 and np.any(gap) else np.nan
    return int((gap > 0).sum()), len(gap), p


def gaps(frame: pd.DataFrame, model: str, rival: str) -> pd.DataFrame:
    """Return how far the integrated Brier score is above the rival's on each table, in percent, with its interval.

    The 95 % interval of Nadeau and Bengio (2003, doi:10.1023/A:1024068626366), whose variance allows for training rows
    that folds (of all repeats) have in common; NaN where a table has one fold.
    """
    pair = frame[frame["model"].isin([model, rival])]
    rows = {}
    for table, own in pair.groupby("table", sort=False):
        folds = own.pivot_table(index="fold", columns="model", values="ibs")
        if folds.shape[1] < 2 or len(folds := folds.dropna()) == 0:
            continue
        gap = 100 * (folds[model] - folds[rival]) / folds[rival].mean()
        half = np.nan
        if len(gap) > 1:
            error = gap.std(ddof=1) * np.sqrt(1 / len(gap) + _TEST_SHARE)
            half = student.ppf(0.975, len(gap) - 1) * error
        rows[str(table)] = {"gap": gap.mean(), "low": gap.mean() - half, "high": gap.mean() + half}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["gap", "low", "high"])


def worst_table(frame: pd.DataFrame, model: str, rival: str) -> tuple[str, float, float, float]:
    """Return the table of the largest gap, the gap, and the ends of its interval."""
    found = gaps(frame, model, rival)
    if not len(found):
        return "", np.nan, np.nan, np.nan
    worst = found.loc[name := str(found["gap"].idxmax())]
    return name, float(worst["gap"]), float(worst["low"]), float(worst["high"])


def above(frame: pd.DataFrame, model: str, rival: str, percent: float = 2.0) -> list[str]:
    """Return the tables that are more than so many percent above the rival, with the whole interval above 0."""
    found = gaps(frame, model, rival)
    return [str(name) for name in found.index[(found["gap"] > percent) & (found["low"] > 0)]]
