"""Models against each other over tables: mean scores, Wilcoxon's test, the worst table with its interval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import t as student
from scipy.stats import wilcoxon

from ..records import Frame
from ..tables import markdown_table
from .models import MODELS

__all__ = ["brier_gaps", "mean_scores", "report", "tables_ahead", "with_failures"]

_HIGHER_IS_BETTER = {
    "ibs": False,
    "c": True,
    "log_likelihood": True,
}
_OURS = ("lifemix", "dsm")
_FORMATS = {
    "skill": ".1f",
    "C": ".4f",
    "ICI": ".4f",
    "D-calibration": ".0%",
    "log-likelihood": ".3f",
    "rank by IBS": ".2f",
    "rank by C": ".2f",
    "CPU seconds of a fit": ".2f",
}


def with_failures(records: Frame) -> Frame:
    """Return records in which failures have the scores of the curve without covariates."""
    if "error" not in records:
        return records
    scores = [score for score in ("ibs", "c", "ici", "d", "d_p") if score in records]
    marginal = records[records["model"] == "marginal"].set_index(["table", "fold"])[scores]
    has_failed = records["error"].notna()
    cases = pd.MultiIndex.from_frame(records.loc[has_failed, ["table", "fold"]])
    records = records.copy()
    records.loc[has_failed, scores] = marginal.reindex(cases).to_numpy()
    return records


def mean_scores(records: Frame, score: str) -> Frame:
    """Return the mean over the folds that all models have, one row per table and one column per model."""
    n_models = records["model"].nunique()
    records = records[records[score].notna()]
    n_known = records.groupby(["table", "fold"])["model"].transform("nunique")
    complete = records[n_known == n_models]
    return complete.pivot_table(
        index="table",
        columns="model",
        values=score,
        sort=False,
    )


def tables_ahead(
    records: Frame,
    model: str,
    rival: str,
    score: str,
) -> tuple[int, int, float]:
    """Return on how many tables a model is ahead, of how many, and the p value of Wilcoxon's signed-rank test."""
    means = mean_scores(records[records["model"].isin([model, rival])], score)
    if means.shape[1] < 2:
        return 0, 0, np.nan
    gain = means[model] - means[rival]
    gain = gain if _HIGHER_IS_BETTER[score] else -gain
    p_value = float(wilcoxon(gain).pvalue) if len(gain) > 5 and gain.any() else np.nan
    return int((gain > 0).sum()), len(gain), p_value


def brier_gaps(records: Frame, model: str, rival: str) -> Frame:
    """Return how far the integrated Brier score is above the rival's on each table, in percent, with its interval.

    The 95 % interval of Nadeau and Bengio (2003, doi:10.1023/A:1024068626366), whose variance allows for training rows
    that folds share: four of five folds train. NaN if a table has one fold.
    """
    pairs = records[records["model"].isin([model, rival])]
    scores = pairs.pivot_table(
        index=["table", "fold"],
        columns="model",
        values="ibs",
        sort=False,
    )
    if scores.shape[1] < 2:
        return pd.DataFrame(columns=["gap", "low", "high"])
    scores = scores.dropna()
    by_table = scores.groupby("table", sort=False)
    gaps = 100 * (scores[model] - scores[rival]) / by_table[rival].transform("mean")
    gaps = gaps.groupby("table", sort=False)
    n = gaps.size()
    half_width = student.ppf(0.975, n - 1) * gaps.std() * np.sqrt(1 / n + 1 / 4)
    mean = gaps.mean()
    return pd.DataFrame(
        {
            "gap": mean,
            "low": mean - half_width,
            "high": mean + half_width,
        }
    )


def report(records: Frame) -> str:
    """Return the tables and sentences for the docs."""
    failures = records[records["error"].notna()] if "error" in records else records[:0]
    paragraphs = [
        _basis(records),
        _score_table(records),
        _comparison_table(records),
        *_behind_ridge(records),
        *(
            f"{MODELS[row.model].title} failed on {row.table}, fold {row.fold}: {row.error}"
            for row in failures.itertuples()
        ),
    ]
    return "\n" + "\n\n".join(paragraphs) + "\n"


def _basis(records: Frame) -> str:
    n_models = records.groupby(["table", "fold"])["model"].nunique()
    complete = n_models[n_models == records["model"].nunique()].groupby("table").size()
    n_events = records.groupby("table")["n_events"].first()
    n_competing = int((n_events[complete.index] > 1).sum())
    commits = records.loc[records["model"].isin(_OURS), "commit"].unique()
    return (
        f"Scores are means over {len(complete)} tables on which every model was run "
        f"({len(complete) - n_competing} with one event type, {n_competing} with several; "
        f"{int(complete.sum())} folds in all); a comparison of two models has all tables on which both were, "
        f"{len(n_models)} folds at most. Sources of `LifeMix` and `DeepSurvivalMachines`: commit "
        f"{', '.join(commits) or 'none'}."
    )


def _score_table(records: Frame) -> str:
    ibs, c = mean_scores(records, "ibs"), mean_scores(records, "c")
    has_density = records.groupby("model")["log_likelihood"].transform("count") > 0
    uneven = (records["d_p"] < 0.05).astype(float).where(records["d_p"].notna())
    columns = {
        "skill": 100 * (1 - ibs.div(ibs["marginal"], axis=0)).mean(),
        "C": c.mean(),
        "ICI": mean_scores(records, "ici").mean(),
        "D-calibration": mean_scores(records.assign(uneven=uneven), "uneven").mean(),
        "log-likelihood": mean_scores(records[has_density], "log_likelihood").mean(),
        "rank by IBS": ibs.drop(columns="marginal").rank(axis=1).mean(),
        "rank by C": c.drop(columns="marginal").rank(axis=1, ascending=False).mean(),
        "CPU seconds of a fit": records.groupby("model")["fit_seconds"].mean(),
    }
    scores = pd.DataFrame(columns).sort_values("skill", ascending=False)
    rows = [
        [
            MODELS[str(model)].title,
            *("" if np.isnan(row[name]) else format(row[name], _FORMATS[name]) for name in columns),
        ]
        for model, row in scores.iterrows()
    ]
    return markdown_table(["model", *columns], rows)


def _pairs(records: Frame) -> Iterator[tuple[str, str]]:
    names = set(records["model"])
    for model in (name for name in _OURS if name in names):
        for rival in MODELS:
            if rival in names - {model, "marginal"}:
                yield model, rival


def _comparison_table(records: Frame) -> str:
    rows = []
    for model, rival in _pairs(records):
        row = [MODELS[model].title, MODELS[rival].title]
        for score in _HIGHER_IS_BETTER:
            row += _counts(records, model, rival, score)
        gaps = brier_gaps(records, model, rival)
        worst = gaps["gap"].idxmax()
        gap, low, high = gaps.loc[worst]
        interval = "one fold" if np.isnan(low) else f"{low:+.1f} to {high:+.1f}"
        rows.append([*row, f"{worst} {gap:+.1f} % ({interval})"])
    heads = ["model", "against", "lower IBS", "p", "higher C", "p", "higher likelihood", "p"]
    return markdown_table([*heads, "worst by IBS (95 % interval)"], rows)


def _counts(
    records: Frame,
    model: str,
    rival: str,
    score: str,
) -> list[str]:
    """Return on how many tables a model is ahead, also with one and with several event types, and the p value."""
    n_ahead, n, p_value = tables_ahead(records, model, rival, score)
    if not n:
        return ["", ""]
    is_single = records["n_events"] == 1
    single = tables_ahead(records[is_single], model, rival, score)
    competing = tables_ahead(records[~is_single], model, rival, score)
    text = f"{n_ahead} of {n}"
    if single[1] and competing[1]:
        text += f" ({single[0]} of {single[1]}, {competing[0]} of {competing[1]})"
    return [text, "" if np.isnan(p_value) else f"{p_value:.2g}"]


def _behind_ridge(records: Frame) -> Iterator[str]:
    """Yield, for each of our models, the tables on which it is behind ridge Cox beyond doubt."""
    for model, rival in _pairs(records):
        if rival == "ridge":
            gaps = brier_gaps(records, model, rival)
            names = [
                f"{row.Index} ({row.gap:+.1f} %, {row.low:+.1f} to {row.high:+.1f})"
                for row in gaps[(gaps["gap"] > 2) & (gaps["low"] > 0)].itertuples()
            ]
            n_single = int(gaps["low"].isna().sum())
            exception = f" ({n_single} tables have one fold and no interval)" if n_single else ""
            yield (
                f"Tables on which the integrated Brier score of {MODELS[model].title} is more than 2 % above that of "
                f"ridge Cox, with the interval above 0: {', '.join(names) or 'none'}{exception}."
            )
