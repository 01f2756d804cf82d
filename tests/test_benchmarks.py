"""The parts of the benchmarks that a wrong number could come from."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks import auton, grid, memory, report
from benchmarks.harness import alternate, save
from benchmarks.tables import Table, number

N = 300


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (1234567, "1,234,567"),
        (0.12345, "0.1235"),
        (12.345, "12.3"),
        (1e-5, "1.00e-05"),
    ],
)
def test_numbers_are_shortened(value, shown):
    assert number(value) == shown


def test_table_has_the_same_cells_in_text_and_markdown():
    table = Table("title", ["", "a"], [["x", 2], ["longer", None]], "note")
    assert table.text() == "title\n        a\nx       2\nlonger  -\nnote"
    assert "| longer | - |" in table.markdown().splitlines()


def test_alternate_returns_seconds_of_one_call():
    calls: list[str] = []
    times = alternate(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2, loops=3
    )
    assert calls == ["a", "b", *("a" * 3 + "b" * 3) * 2]
    assert all(0 <= times[name]["wall"] < 0.1 for name in "ab")


def test_grid_is_the_papers():
    assert np.prod([len(values) for values in grid.GRID.values()]) == 144


def test_sample_of_the_grid_is_balanced():
    chosen = grid.sample(grid.GRID, 5, 12)
    for name, values in grid.GRID.items():
        counts = Counter(setting[name] for setting, _ in chosen)
        assert counts == dict.fromkeys(values, 12 // len(values))


def test_memory_of_another_process_grows_with_what_it_allocates():
    small, large = (
        memory.in_own_process("memory", "allocate", size) for size in (1_000_000, 81_000_000)
    )
    grown = (
        large["peak_memory"]
        - large["memory_after_import"]
        - small["peak_memory"]
        + small["memory_after_import"]
    )
    assert grown == pytest.approx(80e6, rel=0.1)


def test_report_replaces_only_what_is_between_the_markers(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.harness.RESULTS", tmp_path / "results")
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    results = {
        "a case": {"seconds": 1.0, "their_seconds": 5.0, "ratio": 5.0, "nothing": float("nan")}
    }
    facts = {"cpu": "some", "cores": 2, "threads": 1, "load_before": None}
    path = save("metrics", True, facts, results)
    assert json.loads(path.read_text())["results"]["a case"]["nothing"] is None
    for _ in range(2):
        text = report.write_report(page).read_text()
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "| a case | 1.000 | 5.000 | 5.000 |" in text
        assert "Quick run" in text
        assert "old" not in text


def test_report_refuses_a_page_without_markers(tmp_path):
    page = tmp_path / "performance.md"
    page.write_text("nothing here\n")
    with pytest.raises(ValueError, match="markers"):
        report.write_report(page)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    time, event = 100 * rng.weibull(1.5, N) * np.exp(0.4 * X[:, 0]), rng.random(N) < 0.7
    return X, (time, event.astype(np.int64))


@pytest.mark.skipif(
    not list(Path(auton.CACHE).glob("auton*")), reason="auton-survival's wheel was not downloaded"
)
@pytest.mark.parametrize("primitive", ["weibull", "lognormal"])
def test_log_likelihood_of_auton_is_the_slope_of_its_survival_in_any_unit(rows, primitive):
    X, y = rows
    in_days = auton.AutonDSM(primitive, max_epochs=1, time_unit=30.0, discount=0.5).fit(X, y)
    assert in_days.check_log_likelihood(X, y) < 1e-4
    shifted = auton.AutonDSM(primitive, max_epochs=1, time_unit=60.0, discount=0.5).fit(
        X, (2 * y[0], y[1])
    )
    expected = in_days.log_likelihood(X, y) - y[1].sum() * np.log(2)
    assert shifted.log_likelihood(X, (2 * y[0], y[1])) == pytest.approx(expected, rel=1e-9)


@pytest.mark.skipif(
    not list(Path(auton.CACHE).glob("auton*")), reason="auton-survival's wheel was not downloaded"
)
def test_auton_without_stopping_runs_all_epochs(rows):
    X, y = rows
    settings = {"max_epochs": 25, "time_unit": 30.0}
    assert auton.AutonDSM(**settings).fit(X, y).epochs_ < 25
    assert auton.AutonDSM(**settings, stopping=False).fit(X, y).epochs_ == 25
    assert auton.AutonDSM(**settings).fit(X, y).epochs_ < 25
