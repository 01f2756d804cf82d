"""Tables of cells and comparisons, and the numbers of the README and of ``experiments/paper.md``.

``python -m experiments.tables`` writes the numbers between ``<!-- written by COMMAND: NAME -->`` and ``<!-- end -->``
from the records in ``results``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from .compare import (
    LOWER_IS_BETTER,
    against_paper,
    against_rivals,
    agreement,
    count_comparisons,
    our_models,
)
from .models import MODELS, by_rank, model_title, plain_model
from .protocol import DATA_SETS
from .published import published_cells
from .records import Frame
from .results import CELL
from .run import study_records
from .studies import studies

__all__ = [
    "MEASURES",
    "Entry",
    "Measure",
    "Table",
    "behind_table",
    "cell_name",
    "comparison_tables",
    "data_title",
    "is_shape",
    "markdown_table",
    "result_tables",
    "write_blocks",
]

ROOT = Path(__file__).parents[1]


class Measure(NamedTuple):
    """How a measure is called, what it is, and the decimals of a table."""

    title: str
    meaning: str
    digits: int
    has_horizon: bool = False


MEASURES = {
    "ctd": Measure(
        "C^td",
        "Concordance: the share of pairs of subjects in the right order up to the horizon, weighted for censoring; "
        "higher is better, 0.5 is chance.",
        4,
        True,
    ),
    "brier": Measure(
        "Brier score",
        "Mean squared error of the predicted probability at the horizon, weighted for censoring; lower is better. The "
        "censoring distribution G is estimated from the training rows, artificial censoring included, as in the "
        "paper's tables.",
        4,
        True,
    ),
    "brier_original": Measure(
        "Brier score, G before artificial censoring",
        "The same with G from the training rows before artificial censoring. Artificial censoring depends on the event "
        "time, which the weights assume it does not: this is the fairer of the two.",
        4,
        True,
    ),
    "concordance": Measure(
        "Harrell’s C", "The share of comparable pairs in the right order; higher is better.", 4
    ),
    "seconds": Measure("Training time", "Seconds of one fit on one core.", 2),
    "parameters": Measure("Parameters", "Number of learned parameters.", 0),
}


class Entry(NamedTuple):
    """A number in a table; mark: ▲ if it is significantly better than the paper's number, ▼ if worse."""

    text: str
    is_best: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table as text."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str | Entry]]
    note: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [
            [
                entry if isinstance(entry, str) else f"{entry.text} {entry.mark}".rstrip()
                for entry in row
            ]
            for row in self.rows
        ]
        return markdown_table(self.heads, rows)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def data_title(data: str) -> str:
    """Return the name of a data set."""
    return DATA_SETS[data].title if data in DATA_SETS else data.capitalize()


def _is_competing(data: str) -> bool:
    return data in DATA_SETS and DATA_SETS[data].competing


def cell_name(pair: Mapping[str, Any]) -> str:
    """Return which cell of a data set it is, in words."""
    measure = MEASURES[pair["measure"]]
    words = [measure.title]
    words += [f"event {pair['event']}"] if _is_competing(pair["data"]) else []
    words += [f"{pair['horizon']:.0%}"] if measure.has_horizon else []
    words += [f"{pair['censoring']:.0%} censored"] if pair["censoring"] else []
    return ", ".join(words)


def number(mean: float, error: float, digits: int) -> str:
    """Return mean ± standard error; empty if the mean is not defined."""
    if math.isnan(mean):
        return ""
    return f"{mean:,.{digits}f}" + ("" if math.isnan(error) else f" ± {error:,.{digits}f}")


def row_rank(model: str, selection: str) -> tuple[int, list[int], bool]:
    """Return the position of a model's row: models as in ``MODELS``, shapes and sizes by their numbers."""
    numbers = [int(digits) for digits in re.findall(r"\d+", selection)]
    return list(MODELS).index(model), numbers, selection == "nested"


def is_shape(cells: Frame) -> Frame:
    """Return which cells are of one network shape (transfer) or of one number of rows (scaling)."""
    return cells["selection"].str.match(r"\d+x|n=")


def result_tables(cells: Frame) -> Iterator[Table]:
    """Yield models by horizons for every measure, event type and level of censoring, with the paper's numbers."""
    shapes, cells = cells[is_shape(cells)], cells[~is_shape(cells)]
    if len(shapes):
        yield _shape_table(shapes)
    paper = published_cells(cells["data"]).rename(columns={"model": "plain"})
    paper = paper[["plain", *CELL, "mean", "error"]]
    cells = cells.assign(plain=cells["model"].map(plain_model)).merge(
        paper, how="left", on=["plain", *CELL], suffixes=("", "_paper")
    )
    cells["position"] = [list(MEASURES).index(measure) for measure in cells["measure"]]
    for (_, measure, _, _), group in cells.groupby(["data", "position", "event", "censoring"]):
        yield _result_table(group, list(MEASURES)[measure])


def _shape_table(cells: Frame) -> Table:
    data, measure = cells[["data", "measure"]].iloc[0]
    means = cells.pivot(
        index="model",
        columns="selection",
        values="mean",
    )
    columns = sorted(means.columns, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
    rows = [
        [model_title(model, data), *(number(v, math.nan, 4) for v in means.loc[model, columns])]
        for model in by_rank(means.index)
    ]
    title = f"{data_title(data)}: {MEASURES[measure].title}, by {'rows' if 'n=' in columns[0] else 'layers x nodes'}"
    return Table(title, ["model", *columns], rows)


def _result_table(cells: Frame, measure: str) -> Table:
    first, info = cells.iloc[0], MEASURES[measure]
    lower_is_better = measure in LOWER_IS_BETTER
    ranked = cells[[MODELS[model].group != "reference" for model in cells["model"]]]
    best = ranked.groupby("horizon")["mean"].agg("min" if lower_is_better else "max")
    has_paper = bool(cells["mean_paper"].notna().any())
    rows = []
    groups = dict(list(cells.groupby(["model", "selection"])))
    for model, selection in sorted(groups, key=lambda key: row_rank(*key)):
        row: list[str | Entry] = [model_title(model, first["data"]), selection]
        for cell in groups[model, selection].sort_values("horizon").to_dict("records"):
            gap = cell["mean"] - cell["mean_paper"]
            is_significant = abs(gap) > 2 * math.hypot(cell["error"], cell["error_paper"])
            mark = ("▲" if (gap < 0) == lower_is_better else "▼") if is_significant else ""
            text = number(cell["mean"], cell["error"], info.digits)
            is_best = cell["mean"] == best.get(cell["horizon"]) and model in set(ranked["model"])
            row.append(Entry(text, is_best, mark))
            row += [number(cell["mean_paper"], cell["error_paper"], 3)] if has_paper else []
        rows.append(row)
    horizons = [f"{horizon:.0%}" for horizon in sorted(cells["horizon"].unique())]
    heads = horizons if info.has_horizon else [info.title]
    title = f"{data_title(first['data'])}: {info.title}"
    title += f", event {first['event']}" if _is_competing(first["data"]) else ""
    if first["censoring"]:
        title += f", {first['censoring']:.0%} of the training events censored artificially"
    columns = [name for head in heads for name in ((head, "paper") if has_paper else (head,))]
    note = "▲, ▼: better, worse than the paper’s number by more than 2√(SE² + SE²)." * has_paper
    return Table(title, ["model", "selection", *columns], rows, note)


def count_table(cells: Frame) -> Table:
    """Return how often each of our models is ahead of the paper's DSM, of strong rivals and of the others."""
    paper, pairs = against_paper(cells), against_rivals(cells)
    counts = count_comparisons(pairs)
    rows = []
    for model in our_models(cells):
        printed = paper[paper["model"] == model]
        n_ahead, n_behind = (printed["gain"] > 0).sum(), printed["is_behind"].sum()
        row = [model_title(model, cells["data"].iloc[0])]
        row.append(f"{n_ahead} of {len(printed)}; {n_behind}" if len(printed) else "")
        for is_strong in (True, False):
            if (model, is_strong) in counts.index:
                total, ahead, *significant = counts.loc[(model, is_strong)]
                row.append(f"{ahead} of {total}; {significant[0]}, {significant[1]}")
            else:
                row.append("")
        rows.append(row)
    note = (
        "Paper: in how many cells ahead; behind by more than one standard error. Others: in how many comparisons fold "
        "by fold ahead; significantly ahead, significantly behind (before Holm’s correction)."
    )
    heads = ("ours", "paper's DSM as printed", "boosting and tuned forests", "other models")
    return Table("How often our models are ahead", heads, rows, note)


def behind_table(pairs: Frame) -> Table:
    """Return every comparison in which one of our models is significantly behind, before Holm's correction."""
    rows = [
        (
            model_title(pair["model"]),
            model_title(pair["rival"]),
            data_title(pair["data"]),
            cell_name(pair),
            _short(pair["mean"], 4),
            _short(pair["mean_rival"], 4),
            _short(pair["p"]),
            _short(pair["p_holm"], 2),
        )
        for pair in pairs[(pairs["p"] < 0.05) & (pairs["gain"] <= 0)].to_dict("records")
    ]
    heads = ("ours", "behind", "data", "cell", "ours", "rival", "p", "after Holm")
    return Table("Significantly behind, before Holm’s correction", heads, rows)


def agreement_table(cells: Frame) -> Table:
    """Return in how many cells each model agrees with the paper's numbers, under both readings of its ±."""
    counts = agreement(cells).to_dict("records")
    rows = [
        [model_title(row["model"]), *(str(row[name]) for name in list(row)[1:])]
        for row in sorted(counts, key=lambda row: row_rank(row["model"], row["selection"]))
    ]
    heads = [
        "model",
        "selection",
        "cells",
        "within, ± a standard error",
        "within, ± a 90 % interval",
    ]
    return Table("Agreement with the paper", heads, rows)


def comparison_tables(cells: Frame) -> list[Table]:
    """Return how often we are ahead, the comparisons that we lose, and agreement with the paper; none is empty."""
    tables = [count_table(cells), behind_table(against_rivals(cells))] if our_models(cells) else []
    tables.append(agreement_table(cells))
    return [table for table in tables if table.rows]


# The numbers of the README and of experiments/paper.md.

FOLDERS = {
    "support": "SUPPORT",
    "metabric": "METABRIC",
    "synthetic-original": "SYNTHETIC, original file",
    "synthetic": "SYNTHETIC, generated",
    "flchain": "Free light chains",
    "ebmt": "EBMT transplants",
    "metabric_causes": "METABRIC by cause of death",
}
# The original files, where the paper has numbers.
PAPER_FOLDERS = {
    "support": "SUPPORT",
    "metabric": "METABRIC",
    "synthetic-original": "SYNTHETIC",
    "transfer-original": "transfer",
}
SUPPORT_ROWS = (
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
README_ROWS = (
    ("DSM as printed in the paper", "dsm", "published"),
    ("`DeepSurvivalMachines()`", "default", "fixed"),
    ("`LifeMix()`: DSM, Cox, boosted trees and a forest, weighted", "lifemix", "fixed"),
    ("gradient boosting", "boosting", "fixed"),
    ("Cox", "cph", "fixed"),
)


@cache
def stored_cells(folder: str) -> Frame:
    """Return the cells of a folder of ``results``."""
    name, _, variant = folder.partition("-")
    path = "FILE" if variant == "original" else None
    study = next(s for s in studies(name, path=path) if s.folder == folder)
    return study.summarise(study_records(study, ROOT / "results" / folder))[0]


def _short(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


def _means(cells: Frame, measure: str) -> str:
    return " / ".join(map(_short, cells.loc[cells["measure"] == measure, "mean"]))


def support(models: Iterable[tuple[str, str, str]] = SUPPORT_ROWS) -> str:
    """Return measures on SUPPORT; models are title, model and selection of each row."""
    cells = pd.concat([stored_cells("support"), published_cells(["support"])])
    cells = cells[cells["censoring"] == 0]
    rows = []
    for title, model, selection in models:
        row = cells[(cells["model"] == model) & (cells["selection"] == selection)]
        rows.append((title, _means(row, "ctd"), _means(row, "brier")))
    heads = ("model", "C^td (higher is better)", "Brier score (lower is better)")
    return markdown_table(heads, rows)


def comparisons() -> str:
    """Return how often each of our models is ahead, by data set."""
    tables = {title: count_table(stored_cells(folder)) for folder, title in FOLDERS.items()}
    rows = [(title, *row) for title, table in tables.items() for row in table.rows]
    return Table("", ("data", *tables["SUPPORT"].heads), rows).markdown()


def agreement_by_data() -> str:
    """Return in how many cells each model of the paper agrees with the paper's number, by data set."""
    by_folder = {folder: agreement(stored_cells(folder)) for folder in PAPER_FOLDERS}
    counts = pd.concat(by_folder, names=["folder"]).reset_index(level="folder")
    key = ["model", "selection"]
    sums = counts[counts["folder"] != "transfer-original"].drop(columns="folder")
    counts = pd.concat([counts, sums.groupby(key, as_index=False).sum().assign(folder="sum")])
    counts["text"] = [
        f"{row.as_error} ({row.as_interval}) of {row.total}" for row in counts.itertuples()
    ]
    texts = counts.pivot(
        index=key,
        columns="folder",
        values="text",
    ).fillna("")
    texts = texts[[*PAPER_FOLDERS, "sum"]]
    rows = [
        (model_title(model), selection, *texts.loc[(model, selection)])
        for model, selection in sorted(texts.index, key=lambda key: row_rank(*key))
    ]
    heads = ("model", "selection", *PAPER_FOLDERS.values(), "without transfer")
    return markdown_table(heads, rows)


def implausible_brier() -> str:
    """Return the paper's Brier scores that are no better than those without covariates, and ours."""
    rows = []
    for data, model in (("metabric", "cph"), ("support", "deephit")):
        cells, paper = stored_cells(data), published_cells([data])
        models = (
            paper[paper["model"] == model],
            *(cells[cells["model"] == m] for m in (model, "floor")),
        )
        for level in DATA_SETS[data].levels:
            means = (_means(row[row["censoring"] == level], "brier") for row in models)
            title = f"{model_title(model)}, {data_title(data)}"
            rows.append((title, f"{level:.0%}", *means))
    heads = ("model and data", "censored", "in the paper", "here", "here, no covariates")
    return markdown_table(heads, rows)


def transfer() -> str:
    """Return Harrell's C of every representation on both files, and the paper's."""
    key = ["model", "selection"]
    original, generated = (
        stored_cells(folder).set_index(key) for folder in ("transfer-original", "transfer")
    )
    paper = published_cells(["transfer"]).set_index("model")
    rows = []
    for (model, selection), cell in original.sort_values(
        "mean", ascending=False, kind="stable"
    ).iterrows():
        if not selection[0].isdigit():
            cells = [cell, generated.loc[(model, selection)]]
            cells += [paper.loc[model]] if model in paper.index else []
            texts = [f"{_short(c['mean'])} ± {_short(c['error'])}" for c in cells] + [""]
            rows.append((model_title(model, "transfer"), selection, *texts[:3]))
    heads = ("representation", "selection", "original file", "generated", "paper")
    return markdown_table(heads, rows)


def scaling() -> str:
    """Return seconds and number of parameters of one fit."""
    rows = []
    for data in ("support", "metabric"):
        cells = stored_cells(f"scaling-{data}").query("selection == 'fixed'")
        means = cells.pivot(
            index="model",
            columns="measure",
            values="mean",
        )
        for model in ("dsm", "deepsurv", "deephit", "rsf", "cph"):
            seconds, parameters = means.loc[model, ["seconds", "parameters"]]
            count = "" if math.isnan(parameters) else f"{parameters:,.0f}"
            rows.append((data_title(data), model_title(model), f"{seconds:.2g}", count))
    return markdown_table(("data", "model", "seconds", "parameters"), rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "readme": lambda: support(README_ROWS),
    "support": support,
    "comparisons": comparisons,
    "agreement": agreement_by_data,
    "odd_brier": implausible_brier,
    "transfer": transfer,
    "scaling": scaling,
}


def with_blocks(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with new text in every marked block that is named."""

    def replaced(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        return f"{begin}{blocks[name]()}\n{end}" if name in blocks else match[0]

    marked = re.compile(r"(<!-- written by [^\n]+: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return marked.sub(replaced, text)


def write_blocks(page: str, blocks: Mapping[str, Callable[[], str]]) -> None:
    """Write the marked blocks of a page of the repository."""
    path = ROOT / page
    path.write_text(with_blocks(path.read_text(encoding="utf-8"), blocks), encoding="utf-8")


if __name__ == "__main__":
    for name in ("README.md", "experiments/paper.md"):
        write_blocks(name, BLOCKS)
