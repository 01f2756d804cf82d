"""Write what was recorded on a set of tables into docs/lifemix-model.md, between two markers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .comparison import above, against, gaps, summary, worst_table

__all__ = ["PAGE", "markdown", "write_page"]

PAGE = Path(__file__).parents[2] / "docs" / "lifemix-model.md"
BEGIN = "<!-- {0}: begin, written by `python -m benchmarks.unseen {0} --report` -->"
END = "<!-- {0}: end -->"
NAMES = {
    "lifemix": "`LifeMix()`",
    "dsm": "`DeepSurvivalMachines()`",
    "paper": "`DeepSurvivalMachines.paper()`",
    "tuned": "`DeepSurvivalMachines.tuned()`",
    "ridge": "ridge Cox",
    "coxnet": "coxnet",
    "boosting": "boosted trees, three seeds",
    "xgboost": "XGBoost, Cox, three seeds",
    "xgboost-tuned": "XGBoost, Cox, tuned, three seeds",
    "forest": "random survival forest, 200 trees",
    "martingale": "`MartingaleForest()`",
    "auton": "auton-survival's DSM",
    "cox": "Cox",
    "marginal": "no covariates",
}
OURS = ("lifemix", "dsm")


def markdown(frame: pd.DataFrame) -> str:
    """Return both tables and what they rest on."""
    parts = [_rests(frame), _scores(frame), _comparisons(frame), *_bars(frame)]
    failed = frame[frame["error"].notna()] if "error" in frame else frame[:0]
    parts += [
        f"{NAMES[r.model]} failed on {r.table}, fold {r.fold}: {r.error}"
        for r in failed.itertuples()
    ]
    return "\n\n".join(part for part in parts if part)


def _rests(frame: pd.DataFrame) -> str:
    counts = frame.groupby(["table", "fold"])["model"].nunique()
    whole = counts[counts == frame["model"].nunique()].groupby("table").size()
    kinds = frame.groupby("table")["n_events"].first()
    several = int((kinds[whole.index] > 1).sum())
    made = frame.loc[frame["model"].isin(OURS), "commit"].unique()
    return (
        f"Scores are means over {len(whole)} tables on which every model was run ({len(whole) - several} with one "
        f"event type, {several} with several; {int(whole.sum())} folds in all); a comparison of two models has all "
        f"tables on which both were, {counts.size} folds at most. Sources of `LifeMix` and `DeepSurvivalMachines`: "
        f"commit {', '.join(made) or 'none'}."
    )


def _scores(frame: pd.DataFrame) -> str:
    found = summary(frame).sort_values("skill", ascending=False)
    lines = [
        "| model | skill | C | ICI | D-calibration | log-likelihood | rank by IBS | rank by C | CPU seconds of a fit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    forms = {
        "skill": ".1f",
        "C": ".4f",
        "ICI": ".4f",
        "D-calibration": ".0%",
        "log-likelihood": ".3f",
    }
    forms |= {"rank by IBS": ".2f", "rank by C": ".2f", "CPU seconds of a fit": ".2f"}
    for name, row in found.iterrows():
        numbers = [
            "" if np.isnan(row[key]) else f"{row[key]:{form}}" for key, form in forms.items()
        ]
        lines.append(f"| {NAMES[str(name)]} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _comparisons(frame: pd.DataFrame) -> str:
    lines = [
        "| model | against | lower IBS | p | higher C | p | higher likelihood | p | worst by IBS (95 % interval) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model, rival in _pairs(frame):
        cells = [
            cell
            for score in ("ibs", "c", "log_likelihood")
            for cell in _ahead(frame, model, rival, score)
        ]
        table, gap, low, high = worst_table(frame, model, rival)
        bounds = "one fold" if np.isnan(low) else f"{low:+.1f} to {high:+.1f}"
        lines.append(
            f"| {NAMES[model]} | {NAMES[rival]} | {' | '.join(cells)} | {table} {gap:+.1f} % ({bounds}) |"
        )
    return "\n".join(lines)


def _pairs(frame: pd.DataFrame) -> list[tuple[str, str]]:
    present = set(frame["model"])
    ours = [name for name in OURS if name in present]
    return [
        (model, rival)
        for model in ours
        for rival in NAMES
        if rival in present - {model, "marginal"}
    ]


def _ahead(frame: pd.DataFrame, model: str, rival: str, score: str) -> tuple[str, str]:
    """Return on how many tables a model is ahead, with one event type and with several, and the p value of all."""
    ahead, n, p = against(frame, model, rival, score)
    if not n:
        return "", ""
    kinds: list[Any] = [frame[frame["n_events"] == 1], frame[frame["n_events"] > 1]]
    one, several = (against(kind, model, rival, score)[:2] for kind in kinds)
    text = f"{ahead} of {n}"
    if one[1] and several[1]:
        text += f" ({one[0]} of {one[1]}, {several[0]} of {several[1]})"
    return text, "" if np.isnan(p) else f"{p:.2g}"


def _bars(frame: pd.DataFrame) -> list[str]:
    """Return, for each model of ours, the tables on which it is behind ridge Cox beyond doubt."""
    lines = []
    for model in (own for own, rival in _pairs(frame) if rival == "ridge"):
        worse = above(frame, model, "ridge")
        ends = gaps(frame, model, "ridge")
        named = [
            f"{name} ({ends['gap'][name]:+.1f} %, {ends['low'][name]:+.1f} to {ends['high'][name]:+.1f})"
            for name in worse
        ]
        single = int(ends["low"].isna().sum())
        without = f" ({single} tables have one fold and no interval)" if single else ""
        lines.append(
            f"Tables on which the integrated Brier score of {NAMES[model]} is more than 2 % above that of ridge Cox, "
            f"with the interval above 0: {', '.join(named) or 'none'}{without}."
        )
    return lines


def write_page(frame: pd.DataFrame, tables: str, page: Path = PAGE) -> Path:
    """Replace the text between the markers of a set of tables."""
    begin, end = BEGIN.format(tables), END.format(tables)
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(
            f"expected {begin} and {end} once each in {page.name}; put them where the tables shall stand."
        )
    head, rest = text.split(begin)
    page.write_text(
        f"{head}{begin}\n\n{markdown(frame)}\n\n{end}{rest.split(end)[1]}", encoding="utf-8"
    )
    return page
