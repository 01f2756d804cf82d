"""What the README shows is so: its code runs, its links lead somewhere."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers.code_blocks import run_blocks

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@pytest.mark.slow
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


def test_links_and_pictures_exist():
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name} points to {target}"
