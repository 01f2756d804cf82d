"""Write the numbers of README and docs from the records in ``results``.

Run ``python scripts/write_numbers.py`` in the repository after ``lifemix reproduce``; a test runs the same functions
and compares. What is between ``<!-- written by scripts/write_numbers.py -->`` and ``<!-- end -->`` is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lifemix.experiments.cells import Cell
from lifemix.experiments.comparison import agreements, paper_of
from lifemix.experiments.findings import findings
from lifemix.experiments.names import data_title
from lifemix.experiments.published import published_cells

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
MARKED = re.compile(r"(<!-- written by scripts/write_numbers.py -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = ("README.md", "docs/experiments.md")
FOLDERS = ("support", "metabric", "synthetic-original", "flchain", "ebmt", "metabric_causes")
# Rows of the README: how they are called there, model and selection; those without records are left out.
ROWS = (
    ("DSM as printed in the paper", "dsm", "published"),
    ("DSM with the paper's settings and selection, here", "dsm", "paper"),
    ("DSM, `DeepSurvivalMachines()`", "default", "fixed"),
    ("DSM, one network of 100 units, the defaults of version 0.2", "one-network", "fixed"),
    ("DSM ensemble, `DeepSurvivalMachines.tuned()`", "tuned", "fixed"),
    ("`LifeMix()`: DSM, Cox and boosted trees, weighted", "lifemix", "fixed"),
    ("DSM ensemble averaged with boosted trees, `baselines.ModelAverage`", "tuned-trees", "nested"),
    ("gradient boosting", "boosting", "fixed"),
    ("gradient boosting, eight seeds averaged", "boosting-seeds", "fixed"),
    ("gradient boosting averaged with a forest", "boosting-forest", "fixed"),
    ("random survival forest, tuned", "forest", "fixed"),
    ("DeepHit", "deephit", "fixed"),
    ("DeepSurv", "deepsurv", "fixed"),
    ("Cox", "cph", "fixed"),
)


def cells(folder: str) -> list[Cell]:
    """Return the cells of a table."""
    content = json.loads((RESULTS / folder / "tables.json").read_text(encoding="utf-8"))
    known = [
        {name: float("nan") if value is None else value for name, value in cell.items()} for cell in content["cells"]
    ]
    numbers = [tuple(float("nan") if one is None else one for one in cell["values"]) for cell in known]
    return [Cell(**{**cell, "values": values}) for cell, values in zip(known, numbers, strict=True)]


def readme() -> str:
    """Return the table of SUPPORT."""
    known = [*cells("support"), *published_cells("support")]
    lines = ["| model | C^td (higher is better) | Brier score (lower is better) |", "|---|---|---|"]
    for title, model, selection in ROWS:
        own = [one for one in known if (one.model, one.selection, one.censoring) == (model, selection, 0.0)]
        if own:
            lines.append(f"| {title} | {_numbers(own, 'ctd')} | {_numbers(own, 'brier')} |")
    return "\n".join(lines)


def _numbers(own: Iterable[Cell], measure: str) -> str:
    return " / ".join(f"{one.mean:.3f}".removeprefix("0") for one in own if one.measure == measure)


def experiments() -> str:
    """Return what came out, by data set, and the agreement with the paper over all of them."""
    by_data = {folder: cells(folder) for folder in FOLDERS}
    lines = [_agreement(by_data.values())]
    for own in by_data.values():
        title = data_title(own[0].data)
        lines += [
            f"- {title}: {sentence}" for sentence in findings(own, paper_of([own[0].data])) if "is ahead" in sentence
        ]
    return "\n".join(lines)


def _agreement(tables: Iterable[Sequence[Cell]]) -> str:
    found = [one for own in tables for one in agreements(own) if one.model == "dsm"]
    texts = []
    for selection, words in (("paper", "the paper's selection"), ("nested", "nested selection")):
        own = [one for one in found if one.selection == selection]
        total, error, interval = (
            sum(getattr(one, name) for one in own) for name in ("total", "as_error", "as_interval")
        )
        texts.append(f"with {words} in {error} of {total} cells ({interval} where ± is a 90 % interval)")
    return (
        "- **DSM with the paper's settings** agrees with the paper, within two combined standard errors on SUPPORT, "
        f"METABRIC and SYNTHETIC (the original file), {', '.join(texts)}. The paper's text calls its ± a standard "
        "error, its appendix a 90 % interval."
    )


def written(page: str) -> str:
    """Return a page with its numbers of now."""
    text = (ROOT / page).read_text(encoding="utf-8")
    body = readme() if page == "README.md" else experiments()
    return MARKED.sub(lambda found: f"{found[1]}{body}\n{found[2]}", text)


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        (ROOT / page).write_text(written(page), encoding="utf-8")
        print(f"written: {page}")


if __name__ == "__main__":
    main()
