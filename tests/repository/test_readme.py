"""What the README shows is so: its code runs, its numbers are those of the results, its links lead somewhere."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from helpers.code_blocks import run_blocks

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_example_runs(capsys):
    names = run_blocks(README)
    brier = metrics_of(names)
    assert (brier < [0.115, 0.17, 0.2]).all()
    assert capsys.readouterr().out.count("[") > 3


def metrics_of(names):
    data, train, test = names["data"], names["train"], names["test"]
    return np.asarray(
        names["metrics"].brier_score(data.y[train], data.y[test], names["survival"], names["days"])
    )


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="the results are not beside the tests")
@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        ("README.md", ["support"]),
        (
            "docs/experiments.md",
            [
                "comparisons",
                "behind_rivals",
                "behind_paper",
                "agreement",
                "odd_brier",
                "transfer",
                "scaling",
            ],
        ),
    ],
)
def test_the_numbers_are_those_of_the_records(page, blocks):
    numbers = runpy.run_path(str(ROOT / "scripts" / "write_numbers.py"))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == numbers["written"](page), "run: python scripts/write_numbers.py"
    assert [name for _, name, _ in numbers["MARKED"].findall(text)] == blocks


@pytest.mark.parametrize(
    "folder", ["support", "metabric", "synthetic-original", "synthetic", "flchain", "ebmt"]
)
def test_every_cell_in_which_a_model_of_ours_is_behind_is_named(folder):
    """Independently of the script: what the tables of the results list."""
    listed = (
        (ROOT / "results" / folder / "tables.md")
        .read_text(encoding="utf-8")
        .partition("before Holm")[2]
    )
    found = re.findall(
        r"^- (.+) behind (.+): .* \((0\.\d+) against (0\.\d+), p", listed, re.MULTILINE
    )
    page = (ROOT / "docs/experiments.md").read_text(encoding="utf-8")
    for ours, rival, first, second in found:
        row = (
            rf"\| {re.escape(ours)} \| {re.escape(rival)} \|[^\n]*\| {first[1:]} \| {second[1:]} \|"
        )
        assert re.search(row, page), f"{ours} behind {rival}, {first} against {second}"


def test_the_numbers_of_the_readme_are_means_of_the_records():
    """Independently of the script: one row from the records themselves."""
    records = [
        json.loads(line)
        for line in (ROOT / "results/support/records-boosting.jsonl").read_text().splitlines()
    ]
    own = [record["test"] for record in records if record["censoring"] == 0]
    means = [
        np.mean([record[measure][0] for record in own], axis=0) for measure in ("ctd", "brier")
    ]
    shown = " | ".join(
        " / ".join(f"{value:.3f}".removeprefix("0") for value in row) for row in means
    )
    assert f"| gradient boosting | {shown} |" in README.read_text(encoding="utf-8")


def test_links_and_pictures_exist():
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name} points to {target}"
