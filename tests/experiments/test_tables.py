"""The tables as files."""

import json
import math
import re
from dataclasses import replace

from experiments.comparison import agreements, paper_of, rival_counts
from experiments.findings import findings, names_of_behind
from experiments.tables import markdown, write_tables
from invented import selected, table_cells, transfer_cells


def rows(text, heading):
    """Return the rows of the table under a heading as lists."""
    table = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return lines[2:]


def test_the_name_of_the_row_says_that_trees_are_averaged_in():
    cells = [
        replace(cell, model="tuned-trees") if cell.model == "tuned" else cell
        for cell in table_cells()
    ]
    text = markdown("SUPPORT", cells, paper_of(["support"]))
    assert rows(text, "SUPPORT: C^td")[0][0] == "DSM + trees"
    assert "- *DSM + trees*: DSM, tuned, averaged with gradient boosting" in text


def test_every_model_of_the_paper_has_its_agreement_under_both_readings():
    text = markdown("SUPPORT", table_cells(), paper_of(["support"]))
    found = [[one.total, one.as_error, one.as_interval] for one in agreements(table_cells())]
    assert [list(map(int, row[2:])) for row in rows(text, "Agreement with the paper")] == found
    assert len(found) == 7  # DSM and the forest under two selections


def test_comparisons_are_those_of_the_page():
    cells = table_cells("synthetic", 2, levels=(0.0,))
    own = next(
        i for i, one in enumerate(cells) if (one.model, one.selection) == ("cs-rsf", "nested")
    )
    cells[own] = replace(
        cells[own], values=tuple(2.0 + one for one in (math.nan, *cells[own].values[1:]))
    )
    paper = paper_of(["synthetic"])
    text = markdown("SYNTHETIC", cells, paper)
    for sentence in findings(cells, paper):
        assert f"- {sentence}" in text
    found = rival_counts(cells, "tuned").values()
    counts = [
        [one.total, one.ahead, one.significantly_ahead, one.significantly_behind] for one in found
    ]
    assert [list(map(int, row[2:6])) for row in rows(text, "Comparisons")] == counts
    assert sum(behind for *_, behind in counts) == 1
    (name,) = names_of_behind(cells)
    assert f"- {name}\n" in text
    total, ahead, *_ = map(sum, zip(*counts, strict=True))
    assert f"**{ahead} of {total}** comparisons" in text


def test_shapes_and_numbers_of_rows_are_in_order_and_explained():
    text = markdown("Transfer", transfer_cells(), paper_of(["transfer"]))
    order = ["paper", "nested", "1x25", "1x50", "1x100", "2x25", "2x50", "2x100"]
    assert [row[1] for row in rows(text, "Transfer: Harrell’s C")][:8] == order
    assert "*1x25*: one hidden layer" in text
    assert "Paper: its 90 % intervals as standard errors." in text


def test_the_files_hold_the_same_numbers(tmp_path):
    cells = table_cells()
    write_tables(tmp_path, "SUPPORT", cells, paper_of(["support"]), selected(), ["a note"])
    content = json.loads((tmp_path / "tables.json").read_text())
    assert set(content) == {"title", "notes", "cells", "chosen"}
    assert len(content["cells"]) == len(cells)
    text = (tmp_path / "tables.md").read_text()
    assert "- a note" in text
    first = content["cells"][0]
    assert f"{first['mean']:.4f} ± {first['error']:.4f}" in text
    assert not re.search(r"\bnan\b", text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables.json", "tables.md"]
