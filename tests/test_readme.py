"""What the README shows is so: its code runs, its numbers are those of the results, its links lead somewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from code_blocks import run_blocks
from lifemix.experiments.published import published_cells

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TABLES = ROOT / "results" / "support" / "tables.json"
# Which model of the tables a row of the README is, chosen in which way.
ONE_NETWORK = (
    "DeepSurvivalMachines(hidden=(100,), n_members=1, dropout=0, batch_size=128, learning_rate=1e-3, patience=10)"
)
ROWS = {
    "DSM as printed in the paper": None,
    "DSM with the paper's settings and selection, here": ("dsm", "paper"),
    f"one DSM network, `{ONE_NETWORK}`, one second per fit": ("lifemix-default", "fixed"),
    "DSM ensemble, `DeepSurvivalMachines.tuned()`": ("lifemix-dsm", "fixed"),
    "DSM ensemble averaged with boosted trees, `baselines.ModelAverage`": ("lifemix", "nested"),
    "gradient boosting": ("boosting", "fixed"),
    "random survival forest, tuned": ("forest", "fixed"),
    "DeepHit": ("deephit", "fixed"),
    "DeepSurv": ("deepsurv", "fixed"),
    "Cox": ("cph", "fixed"),
}


def test_the_example_runs(capsys):
    names = run_blocks(README)
    brier = metrics_of(names)
    assert (brier < [0.115, 0.17, 0.2]).all()
    assert capsys.readouterr().out.count("[") > 3


def metrics_of(names):
    data, train, test = names["data"], names["train"], names["test"]
    return np.asarray(names["metrics"].brier_score(data.y[train], data.y[test], names["survival"], names["days"]))


@pytest.mark.skipif(not TABLES.exists(), reason="the results are not beside the tests")
def test_the_numbers_are_those_of_the_results():
    text = README.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| ([.\d/ ]+) \| ([.\d/ ]+) \|$", text, flags=re.MULTILINE)
    assert {name for name, *_ in rows} == set(ROWS)
    ours = json.loads(TABLES.read_text(encoding="utf-8"))["cells"]
    papers = [vars(cell) for cell in published_cells("support")]
    for name, *columns in rows:
        model, selection = ROWS[name] or ("dsm", None)
        for measure, column in zip(("ctd", "brier"), columns, strict=True):
            wanted = {"model": model, "measure": measure, "censoring": 0.0}
            wanted |= {"selection": selection} if selection else {}
            found = [cell["mean"] for cell in (ours if selection else papers) if wanted.items() <= cell.items()]
            assert column == " / ".join(f"{value:.3f}".removeprefix("0") for value in found), (name, measure)


def test_links_and_pictures_exist():
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.name} points to {target}"
