"""Tables, and the numbers in README and docs."""

import json
import lzma

import numpy as np
import pytest

from experiments.__main__ import write_tables
from experiments.page import Results
from experiments.run import study_records
from experiments.studies import studies
from experiments.tables import BLOCKS, ROOT, result_tables, with_blocks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "names"), [("README.md", ["readme"]), ("experiments/paper.md", list(BLOCKS)[1:])]
)
def test_the_numbers_of_the_docs_are_those_of_the_records(page, names):
    text = (ROOT / page).read_text(encoding="utf-8")
    replaced = []
    blocks = {name: lambda name=name: replaced.append(name) or BLOCKS[name]() for name in BLOCKS}
    assert with_blocks(text, blocks) == text, "run: python -m experiments.tables"
    assert replaced == names


@pytest.mark.parametrize("name", ["metabric", "transfer"])
def test_tables_are_written_from_complete_records(name, tmp_path):
    (study,) = studies(name)
    records = study_records(study, ROOT / "results" / study.folder)
    assert len(records) == sum(len(job.keys()) for job in study.jobs)
    write_tables(Results(study, records, *study.summarise(records)), tmp_path / "tables.md")
    text = (tmp_path / "tables.md").read_text()
    assert text.startswith("# ")
    assert f"`{study.command}`" in text
    assert "nan" not in text


def test_the_numbers_of_the_readme_are_means_of_the_records():
    """Independently of the code: one row from the records themselves."""
    with lzma.open(ROOT / "results/support/records.jsonl.xz", "rt") as file:
        records = [json.loads(line) for line in file]
    scores = [r["test"] for r in records if r["model"] == "boosting" and r["censoring"] == 0]
    means = [np.mean([score[m][0] for score in scores], axis=0) for m in ("ctd", "brier")]
    texts = (" / ".join(f"{v:.3f}".removeprefix("0") for v in row) for row in means)
    row = f"| gradient boosting | {' | '.join(texts)} |"
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_best_is_marked_references_are_not_and_the_paper_stands_beside(make_cells):
    values = {"tuned fixed": [0.85, 0.86, 0.87], "dsm nested": [0.91, 0.911, 0.912]}
    (table,) = result_tables(make_cells(values | {"truth fixed": [0.95, 0.96, 0.97]}))
    assert table.heads == ["model", "selection", "25%", "paper"]
    entries = {row[0]: (row[2].is_best, row[2].mark, row[3]) for row in table.rows}
    assert entries == {
        "DSM, tuned": (False, "", ""),
        "DSM, paper’s settings": (True, "▲", "0.832 ± 0.002"),
        "True distribution": (False, "", ""),
    }
    assert "| DSM, tuned | fixed | 0.8600 ± 0.0058 |" in table.markdown()
