"""The demo of the README: a table of scores on the screen, two pages in the folder."""

import runpy
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.slow
@pytest.mark.automatic
def test_the_demo_compares_models_and_writes_both_pages(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    runpy.run_path(str(DEMO))["main"](tmp_path)
    screen = capsys.readouterr().out
    header = next(line for line in screen.splitlines() if "CoxPH" in line and "..." not in line)
    assert header.split() == ["DeepSurvivalMachines", "CoxPH", "MartingaleForest"]
    row = next(line for line in screen.splitlines() if line.startswith("integrated_brier"))
    deep, cox, _ = map(float, row.split()[2:])
    assert deep < cox < 0.2
    for page in ("report.html", "calculator.html"):
        assert "SUPPORT" in (tmp_path / page).read_text(encoding="utf-8")
