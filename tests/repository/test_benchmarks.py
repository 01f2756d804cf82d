"""The parts of the benchmarks that could produce a wrong number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import auton, harness
from benchmarks.__main__ import BEGIN, END, write_report
from benchmarks.harness import Table, alternate, in_new_process, save, shorten

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (1234567, "1,234,567"),
        (0.12345, "0.1235"),
        (12.345, "12.3"),
        (1e-5, "1.00e-05"),
    ],
)
def test_numbers_are_shortened(value, text):
    assert shorten(value) == text


def test_table_has_the_same_cells_in_text_and_markdown():
    table = Table("title", ["", "a"], [["x", 2], ["longer", None]], "note")
    assert table.text() == "title\n        a\nx       2\nlonger  -\nnote"
    assert "| longer | - |" in table.markdown().splitlines()


def test_alternate_takes_turns_after_one_call_of_each():
    calls: list[str] = []
    seconds = alternate({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2)
    assert calls == ["a", "b"] * 3
    assert all(0 <= seconds[name]["wall"] < 0.1 for name in "ab")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_of_a_new_process_grows_with_what_it_allocates():
    small, large = (
        in_new_process("harness", "allocate", size)["peak_memory"]
        for size in (1_000_000, 81_000_000)
    )
    assert large - small == pytest.approx(80e6, rel=0.1)


def test_report_replaces_only_what_is_between_the_markers(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    page = tmp_path / "performance.md"
    page.write_text(f"first\n{BEGIN}\nprevious\n{END}\nlast\n")
    facts = {"cpu": "cpu", "cores": 2, "load_before": 0.1}
    table = Table("title", ["", "seconds"], [["a case", 1.0], ["no value", None]])
    path = save("metrics", True, facts, [table])
    assert json.loads(path.read_text())["tables"][0]["rows"][1] == ["no value", None]
    for _ in range(2):
        text = write_report(page).read_text()
        assert text.startswith("first\n")
        assert text.endswith("last\n")
        assert "| a case | 1.000 |" in text
        assert "Quick run" in text
        assert "previous" not in text


def test_report_refuses_a_page_without_markers(tmp_path):
    page = tmp_path / "performance.md"
    page.write_text("no markers\n")
    with pytest.raises(ValueError, match="markers"):
        write_report(page)


@pytest.mark.slow
def test_a_checkout_is_measured_beside_itself():
    command = [sys.executable, "-m", "benchmarks.checkouts", str(ROOT), "--only", "quantiles"]
    process = subprocess.run(
        [*command, "--repeats", "2"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    case, old, new, ratio = process.stdout.splitlines()[-1].rsplit(maxsplit=3)
    assert case == "quantiles"
    assert float(new) / float(old) == pytest.approx(float(ratio), rel=0.01)


@pytest.mark.skipif(
    not list(auton.CACHE.glob("auton*")), reason="auton-survival's wheel was not downloaded"
)
def test_auton_without_stopping_runs_all_epochs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = 100 * rng.weibull(1.5, 300) * np.exp(0.4 * X[:, 0]), (rng.random(300) < 0.7).astype(int)
    settings = {"max_epochs": 25, "time_unit": 30.0}
    assert auton.AutonDSM(**settings).fit(X, y).epochs_ < 25
    assert auton.AutonDSM(**settings, stopping=False).fit(X, y).epochs_ == 25
    assert auton.AutonDSM(**settings).fit(X, y).epochs_ < 25
