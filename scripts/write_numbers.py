"""Write the numbers of README and docs from the records in ``results``.

Run ``python -m scripts.write_numbers`` in the repository after ``python -m experiments``; a test runs the same
functions and compares. What is between ``<!-- written by scripts/write_numbers.py: NAME -->`` and ``<!-- end -->`` is
replaced.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from experiments.cells import Cell
from experiments.comparison import (
    Agreement,
    Count,
    against_paper,
    against_rivals,
    agreements,
    behind,
    count,
    our_models,
    paper_of,
)
from experiments.findings import below_paper, words_of
from experiments.names import is_strong, model_title, rank
from experiments.published import published_cells

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
MARKED = re.compile(
    r"(<!-- written by scripts/write_numbers.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL
)
PAGES = ("README.md", "docs/experiments.md")
FOLDERS = {
    "support": "SUPPORT",
    "metabric": "METABRIC",
    "synthetic-original": "SYNTHETIC, original file",
    "synthetic": "SYNTHETIC, generated",
    "flchain": "Free light chains",
    "ebmt": "EBMT transplants",
    "metabric_causes": "METABRIC by cause of death",
}
# Where the paper has numbers: those of its own file where there are two.
PAPERS = {
    "support": "SUPPORT",
    "metabric": "METABRIC",
    "synthetic-original": "SYNTHETIC",
    "transfer-original": "transfer",
}
# Rows of the README: how they are called there, model and selection; those without records are left out.
ROWS = (
    ("DSM as printed in the paper", "dsm", "published"),
    ("DSM with the paper's settings and selection, here", "dsm", "paper"),
    ("DSM, `DeepSurvivalMachines()`", "default", "fixed"),
    ("DSM, one network of 100 units, the defaults of version 0.2", "one-network", "fixed"),
    ("DSM ensemble, `DeepSurvivalMachines.tuned()`", "tuned", "fixed"),
    ("`LifeMix()`: DSM, Cox, boosted trees and a forest, weighted", "lifemix", "fixed"),
    ("DSM ensemble averaged with boosted trees, `baselines.ModelAverage`", "tuned-trees", "nested"),
    ("gradient boosting", "boosting", "fixed"),
    ("gradient boosting, eight seeds averaged", "boosting-seeds", "fixed"),
    ("gradient boosting averaged with a forest", "boosting-forest", "fixed"),
    ("random survival forest, tuned", "forest", "fixed"),
    ("martingale forest, `baselines.MartingaleForest`", "our-forest", "nested"),
    ("DeepHit", "deephit", "fixed"),
    ("DeepSurv", "deepsurv", "fixed"),
    ("Cox", "cph", "fixed"),
)


def cells(folder: str) -> list[Cell]:
    """Return the cells of a table; means are taken of the folds once more, so that nothing is rounded twice."""
    content = json.loads((RESULTS / folder / "tables.json").read_text(encoding="utf-8"))
    found = []
    for cell in content["cells"]:
        values = [math.nan if one is None else one for one in cell["values"]]
        place = (cell["data"], cell["measure"], cell["event"], cell["horizon"], cell["censoring"])
        found.append(Cell.of(place, cell["model"], cell["selection"], values))
    return found


def support() -> str:
    """Return the table of SUPPORT."""
    known = [*cells("support"), *published_cells("support")]
    rows = []
    for title, model, selection in ROWS:
        own = [
            one
            for one in known
            if (one.model, one.selection, one.censoring) == (model, selection, 0.0)
        ]
        if own:
            rows.append((title, _numbers(own, "ctd"), _numbers(own, "brier")))
    return _table(("model", "C^td (higher is better)", "Brier score (lower is better)"), rows)


def _numbers(own: Iterable[Cell], measure: str) -> str:
    return " / ".join(_short(one.mean) for one in own if one.measure == measure)


def _short(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


def comparisons() -> str:
    """Return how often each of our models is ahead, by data set."""
    rows = []
    for title, own, model in _ours():
        paper = paper_of([own[0].data])
        theirs, rivals = against_paper(own, paper, model), against_rivals(own, model)
        strong, weak = (
            count(one for one in rivals if is_strong(one.second.model) == kind)
            for kind in (True, False)
        )
        below = len(below_paper(own, paper, model))
        printed = f"{count(theirs).ahead} of {len(theirs)}; {below}" if theirs else ""
        rows.append(
            (title, model_title(model, own[0].data), printed, _counted(strong), _counted(weak))
        )
    heads = ("data", "ours", "paper's DSM as printed", "boosting and tuned forests", "other models")
    return _table(heads, rows)


def _ours() -> Iterator[tuple[str, list[Cell], str]]:
    """Yield title and cells of each data set with each of our models that is in them."""
    for folder, title in FOLDERS.items():
        own = cells(folder)
        for model in our_models(own):
            yield title, own, model


def _counted(some: Count) -> str:
    return f"{some.ahead} of {some.total}; {some.significantly_ahead}, {some.significantly_behind}"


def behind_rivals() -> str:
    """Return every cell in which a model of ours is significantly behind a rival."""
    rows = []
    for title, own, model in _ours():
        several = max(cell.event for cell in own) > 1
        for one in behind(own, model):
            numbers = (_short(one.first.mean, 4), _short(one.second.mean, 4))
            tests = (_short(one.p_value), _short(one.adjusted, 2))
            names = (
                model_title(model, one.first.data),
                model_title(one.second.model, one.first.data),
            )
            rows.append((names[0], names[1], title, words_of(one.first, several), *numbers, *tests))
    heads = ("ours", "behind", "data", "cell", "ours", "rival", "p", "after Holm")
    return _table(heads, sorted(rows, key=lambda row: _order(row[0]))) if rows else "None."


def behind_paper() -> str:
    """Return every cell in which a model of ours is below the paper's DSM by more than one standard error."""
    rows = []
    for title, own, model in _ours():
        several = max(cell.event for cell in own) > 1
        for one in below_paper(own, paper_of([own[0].data]), model):
            numbers = (_short(one.first.mean, 4), _short(one.second.mean, 4), _short(one.error, 4))
            rows.append(
                (model_title(model, one.first.data), title, words_of(one.first, several), *numbers)
            )
    heads = ("ours", "data", "cell", "ours", "paper", "standard error")
    return _table(heads, sorted(rows, key=lambda row: _order(row[0]))) if rows else "None."


def _order(title: str) -> int:
    """Return the place of one of our models by its title."""
    models = ("default", "lifemix", "tuned", "one-network", "tuned-trees")
    return [model_title(model) for model in models].index(title)


def agreement() -> str:
    """Return in how many cells each model of the paper agrees with the paper's number, by data set."""
    found: dict[tuple[str, str], dict[str, Agreement]] = {}
    for folder in PAPERS:
        for one in agreements(cells(folder)):
            found.setdefault((one.model, one.selection), {})[folder] = one
    rows = []
    for (model, selection), own in sorted(found.items(), key=lambda item: rank(item[0][0])):
        shown = [_within(own[folder]) if folder in own else "" for folder in PAPERS]
        tables = [one for folder, one in own.items() if folder != "transfer-original"]
        sums = [
            sum(getattr(one, name) for one in tables)
            for name in ("total", "as_error", "as_interval")
        ]
        total = Agreement(model, selection, *sums)
        rows.append((model_title(model), selection, *shown, _within(total) if tables else ""))
    return _table(("model", "selection", *PAPERS.values(), "without transfer"), rows)


def _within(one: Agreement) -> str:
    return f"{one.as_error} ({one.as_interval}) of {one.total}"


def odd_brier() -> str:
    """Return the paper's Brier scores that are no better than those without covariates, and ours."""
    rows = []
    for data, title, model in (("metabric", "METABRIC", "cph"), ("support", "SUPPORT", "deephit")):
        known, printed = cells(data), published_cells(data)
        for level in dict.fromkeys(one.censoring for one in known):
            found = [[one for one in printed if one.model == model]]
            found += [[one for one in known if one.model == name] for name in (model, "floor")]
            shown = [
                _numbers([one for one in some if one.censoring == level], "brier") for some in found
            ]
            rows.append((f"{model_title(model)}, {title}", f"{level:.0%}", *shown))
    return _table(
        ("model and data", "censored", "in the paper", "here", "here, no covariates"), rows
    )


def transfer() -> str:
    """Return Harrell's C of every representation on both files, and the paper's."""
    both = {
        name: {(one.model, one.selection): one for one in cells(name)}
        for name in ("transfer-original", "transfer")
    }
    paper = paper_of(["transfer"])
    rows = []
    for (model, selection), one in both["transfer-original"].items():
        if not one.is_shape:
            printed = paper.get((model, one.place))
            own = (table.get((model, selection)) for table in both.values())
            rows.append(
                (model_title(model, "transfer"), selection, *map(_with_error, (*own, printed)))
            )
    heads = ("representation", "selection", "original file", "generated", "paper")
    return _table(heads, sorted(rows, key=lambda row: -float(row[2].split()[0])))


def _with_error(one: Cell | None) -> str:
    return (
        ""
        if one is None
        else _short(one.mean) + ("" if math.isnan(one.error) else f" ± {_short(one.error)}")
    )


def scaling() -> str:
    """Return seconds and number of parameters of one fit."""
    rows = []
    for folder, title in (("scaling-support", "SUPPORT"), ("scaling-metabric", "METABRIC")):
        for one in cells(folder):
            if one.measure == "seconds" and not one.is_growth:
                sizes = [
                    own.mean
                    for own in cells(folder)
                    if (own.model, own.measure) == (one.model, "parameters")
                ]
                number = f"{sizes[0]:,.0f}" if sizes else ""
                rows.append((title, model_title(one.model), f"{one.mean:.2g}", number))
    return _table(("data", "model", "seconds", "parameters"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


BLOCKS: Mapping[str, Callable[[], str]] = {
    "support": support,
    "comparisons": comparisons,
    "behind_rivals": behind_rivals,
    "behind_paper": behind_paper,
    "agreement": agreement,
    "odd_brier": odd_brier,
    "transfer": transfer,
    "scaling": scaling,
}


def written(page: str) -> str:
    """Return a page with its numbers of now."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return MARKED.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text)


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        (ROOT / page).write_text(written(page), encoding="utf-8")
        print(f"written: {page}")


if __name__ == "__main__":
    main()
