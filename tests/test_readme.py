"""What the README shows is so: its code runs, its numbers are those of the results, its links lead somewhere."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from code_blocks import run_blocks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_the_example_runs(capsys):
    names = run_blocks(README)
    brier = metrics_of(names)
    assert (brier < [0.115, 0.17, 0.2]).all()
    assert capsys.readouterr().out.count("[") > 3


def metrics_of(names):
    data, train, test = names["data"], names["train"], names["test"]
    return np.asarray(names["metrics"].brier_score(data.y[train], data.y[test], names["survival"], names["days"]))


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="the results are not beside the tests")
@pytest.mark.parametrize("page", ["README.md", "docs/experiments.md"])
def test_the_numbers_are_those_of_the_records(page):
    numbers = runpy.run_path(str(ROOT / "scripts" / "write_numbers.py"))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == numbers["written"](page)
    assert len(numbers["MARKED"].findall(text)) == 1


def test_the_numbers_of_the_readme_are_means_of_the_records():
    """Independently of the script: one row from the records themselves."""
    records = [json.loads(line) for line in (ROOT / "results/support/records-boosting.jsonl").read_text().splitlines()]
    own = [record["test"] for record in records if record["censoring"] == 0]
    means = [np.mean([record[measure][0] for record in own], axis=0) for measure in ("ctd", "brier")]
    shown = " | ".join(" / ".join(f"{value:.3f}".removeprefix("0") for value in row) for row in means)
    assert f"| gradient boosting | {shown} |" in README.read_text(encoding="utf-8")


def test_links_and_pictures_exist():
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name} points to {target}"
