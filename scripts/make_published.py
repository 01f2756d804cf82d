"""Make the table of the paper's published numbers from its TeX source.

Run ``python scripts/make_published.py PAPER.tex``; it writes experiments/published.csv. Numbers are kept as
they are printed.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "experiments" / "published.csv"
TABLES = {
    "support": "support_res",
    "metabric": "metabric_res",
    "synthetic": "synthetic_res",
    "seer": "seer_res",
}
MODELS = {
    "CPH": "cph",
    "cs-CPH": "cs-cph",
    "DeepSurv": "deepsurv",
    "DeepHit": "deephit",
    "RSF": "rsf",
    "cs-RSF": "cs-rsf",
    "FG": "fg",
    "DSM": "dsm",
    "K-PCA": "kpca",
    "NNMF": "nnmf",
    "VAE": "vae",
}
EVENT_AND_CENSORING = {
    "Default Censoring.": (1, "0"),
    r"25\%+ Censoring.": (1, "0.25"),
    r"50\%+ Censoring.": (1, "0.5"),
    "Event 1.": (1, "0"),
    "Event 2.": (2, "0"),
    "Breast Cancer (BC).": (1, "0"),
    "Cardiovascular Disease (CVD).": (2, "0"),
}
FIELDS = ("data", "model", "measure", "event", "horizon", "censoring", "mean", "plus_minus", "bold")
NUMBER = re.compile(r"(\d\.\d+)[\s$}]*\\pm[\s${]*(?:\\textbf\{)?(\d\.\d+)")
Row = dict[str, object]


def environment(source: str, label: str) -> str:
    """Return the table with a label."""
    at = source.index(rf"\label{{tab:{label}}}")
    return source[source.rindex(r"\begin{table", 0, at) : source.index(r"\end{table", at)]


def lines(tabular: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a table that belong to a model: its name, and the other cells."""
    for line in tabular.split(r"\\"):
        line = re.sub(r"\\(midrule|bottomrule|toprule)", "", line)
        name, *cells = line.split("&")
        name = re.sub(r"\\textbf\{([^}]*)\}", r"\1", name).strip()
        if name in MODELS:
            yield MODELS[name], cells


def numbers(tabular: str, horizons: list[str], **fixed: object) -> Iterator[Row]:
    """Yield every number of a table as a row of the file."""
    for model, cells in lines(tabular):
        if len(cells) != len(horizons):
            raise ValueError(f"{model}: {len(cells)} cells for {len(horizons)} horizons")
        for horizon, cell in zip(horizons, cells, strict=True):
            match = NUMBER.search(cell)
            if match is None:
                raise ValueError(f"no number in {cell!r}")
            mean, plus_minus = match.groups()
            bold = int(r"\textbf" in cell)
            yield {
                **fixed,
                "model": model,
                "horizon": horizon,
                "mean": mean,
                "plus_minus": plus_minus,
                "bold": bold,
            }


def results(source: str, data: str) -> Iterator[Row]:
    """Yield the numbers of one of the four tables of the appendix."""
    for subtable in re.split(r"\\subfloat", environment(source, TABLES[data]))[1:]:
        title = re.match(r"\[\]\[(.*?)\]\{", subtable)
        assert title is not None
        event, censoring = EVENT_AND_CENSORING[title[1]]
        for tabular in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", subtable, re.DOTALL):
            horizons = [str(int(share) / 100) for share in re.findall(r"\$(\d+)\$\\%", tabular)]
            measure = "brier" if "Brier Score" in tabular else "ctd"
            yield from numbers(
                tabular, horizons, data=data, measure=measure, event=event, censoring=censoring
            )


def transfer(source: str) -> Iterator[Row]:
    """Yield the numbers of the table on transfer: Harrell's C for event 2 over the whole of the follow-up."""
    tabular = environment(source, "transfer")
    yield from numbers(
        tabular, ["1.0"], data="transfer", measure="concordance", event=2, censoring="0"
    )


def published(source: str) -> list[Row]:
    """Return every number of the paper's tables of results."""
    source = re.sub(r"(?<!\\)%.*", "", source)  # comments
    return [row for data in TABLES for row in results(source, data)] + list(transfer(source))


def main() -> None:
    """Write the file."""
    rows = published(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} numbers in {TARGET.name}")


if __name__ == "__main__":
    main()
