"""Write what was recorded on the confirming tables into docs/lifemix-model.md, between two markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .comparison import against, summary, worst_table

__all__ = ["PAGE", "markdown", "write_page"]

PAGE = Path(__file__).parents[2] / "docs" / "lifemix-model.md"
BEGIN = "<!-- unseen: begin, written by `python -m benchmarks.unseen confirming --report` -->"
END = "<!-- unseen: end -->"
NAMES = {
    "lifemix": "`LifeMix()`",
    "dsm": "`DeepSurvivalMachines()`",
    "paper": "`DeepSurvivalMachines.paper()`",
    "ridge": "ridge Cox",
    "coxnet": "coxnet",
    "boosting": "boosted trees, three seeds",
    "xgboost": "XGBoost, Cox, three seeds",
    "forest": "random survival forest, 200 trees",
    "cox": "Cox",
    "auton": "auton-survival's DSM",
    "marginal": "no covariates",
}
OURS = ("lifemix", "dsm")


def markdown(frame: pd.DataFrame) -> str:
    """Return both tables and what they rest on."""
    models = frame["model"].nunique()
    counts = frame.groupby(["table", "fold"])["model"].nunique()
    whole = counts[counts == models].groupby("table").size()
    rests = (
        f"Scores are means over {len(whole)} tables on which every model was run ({int(whole.sum())} of their folds, "
        f"of five each); a comparison of two models has all tables on which both were, {counts.size} folds at most."
    )
    parts = [rests, _scores(frame), _comparisons(frame)]
    failed = frame[frame["error"].notna()] if "error" in frame else frame[:0]
    parts += [f"{NAMES[r.model]} failed on {r.table}, fold {r.fold}: {r.error}" for r in failed.itertuples()]
    return "\n\n".join(parts)


def _scores(frame: pd.DataFrame) -> str:
    found = summary(frame).sort_values("skill", ascending=False)
    lines = [
        "| model | skill | C | ICI | rank by IBS | rank by C | CPU seconds of a fit |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in found.iterrows():
        numbers = [f"{row['skill']:.1f}", f"{row['C']:.4f}", f"{row['ICI']:.4f}"]
        numbers += ["" if np.isnan(row[key]) else f"{row[key]:.2f}" for key in ("rank by IBS", "rank by C")]
        lines.append(f"| {NAMES[str(name)]} | {' | '.join(numbers)} | {row['CPU seconds of a fit']:.2f} |")
    return "\n".join(lines)


def _comparisons(frame: pd.DataFrame) -> str:
    lines = [
        "| model | against | lower IBS | p | higher C | p | worst table by IBS (lower bound) |",
        "|---|---|---|---|---|---|---|",
    ]
    present = set(frame["model"])
    for model in (name for name in OURS if name in present):
        for rival in (name for name in NAMES if name in present - {model, "marginal"}):
            (ahead, n, p), (by_c, n_c, p_c) = (against(frame, model, rival, score) for score in ("ibs", "c"))
            table, gap, low = worst_table(frame, model, rival)
            bound = "one fold" if np.isnan(low) else f"{low:+.1f} %"
            lines.append(
                f"| {NAMES[model]} | {NAMES[rival]} | {ahead} of {n} | {p:.2g} | {by_c} of {n_c} | {p_c:.2g} | "
                f"{table} {gap:+.1f} % ({bound}) |"
            )
    return "\n".join(lines)


def write_page(frame: pd.DataFrame, page: Path = PAGE) -> Path:
    """Replace the text between the markers."""
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"expected the two markers once each in {page.name}; put them where the tables shall stand.")
    head, rest = text.split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{markdown(frame)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return page
