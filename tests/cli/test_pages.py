"""``lifemix report`` and ``calculator``: what they pass on, and that no partial page remains."""

from pathlib import Path

import pytest

import lifemix.report
from lifemix import load
from lifemix.splits import default_horizons


@pytest.fixture
def calls(monkeypatch):
    """Replace the writers of pages, and return their calls."""
    calls = []

    def write(*arguments, **options):
        calls.append((arguments, options))
        next(path for path in arguments if isinstance(path, Path)).write_text("page")

    for name in ("write_report", "write_calculator"):
        monkeypatch.setattr(lifemix.report, name, write, raising=False)
    return calls


def test_pages_get_the_rows_their_names_and_the_times(run, run_json, calls):
    run("report model.safetensors patients.csv -o report.html --times 100")
    assert Path("report.html").read_text() == "page"
    result = run_json("calculator model.safetensors -o c.html --title Risk")
    assert result == {"output": "c.html"}
    ((_, X, y, _), options), (_, form_options) = calls
    assert (len(X), len(y), list(X)) == (200, 200, ["age", "dose", "stage"])
    facts = {"time_unit": "days", "event_names": ("event",)}
    assert options | facts | {"horizons": [100.0]} == options
    assert form_options | facts | {"title": "Risk"} == form_options
    expected = default_horizons(load("model.safetensors").training_target_).tolist()
    assert form_options["horizons"] == expected


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("calculator model.safetensors -o c.pdf", "must end in .html"),
        ("report model.safetensors patients.csv -o r.pdf", "must end in .html"),
        ("report patients.csv model.safetensors -o r.html", ""),
        ("calculator model.safetensors -o c.html --times x", "--times must be numbers"),
    ],
)
def test_refused_pages_leave_no_file(command, message, refused, new_files):
    assert message in refused(command)
    assert not new_files()
