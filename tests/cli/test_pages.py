"""``lifemix report`` and ``calculator``: what they pass on, and that no partial page remains."""

import pytest

import lifemix.report


@pytest.fixture
def calls(monkeypatch):
    """Replace the writers of pages, and return their calls."""
    calls = []

    def write(*arguments, **options):
        calls.append((arguments, options))
        next(each for each in arguments if hasattr(each, "write_text")).write_text("page")

    for name in ("write_report", "write_calculator"):
        monkeypatch.setattr(lifemix.report, name, write, raising=False)
    return calls


def test_report_gets_the_rows_and_their_names(run, model, data, tmp_path, calls):
    output = tmp_path / "report.html"
    run("report", model, data, "-o", output, "--times", "100")
    assert output.read_text() == "page"
    ((_, X, y, _), options) = calls[0]
    assert (len(X), len(y), list(X)) == (200, 200, ["age", "dose", "stage"])
    expected = {"time_unit": "days", "event_names": ("event",), "horizons": [100.0]}
    assert {name: options[name] for name in expected} == expected


def test_calculator_gets_the_model_and_its_unit(run_json, model, tmp_path, calls):
    output = tmp_path / "c.html"
    result = run_json("calculator", model, "-o", output, "--title", "Risk")
    assert result == {"output": str(output)}
    expected = {"title": "Risk", "time_unit": "days", "event_names": ("event",)}
    assert {name: calls[0][1][name] for name in expected} == expected


def test_refused_pages_leave_no_file(refused, model, data, tmp_path):
    assert "must end in .html" in refused("calculator", model, "-o", tmp_path / "c.pdf")
    assert "must end in .html" in refused("report", model, data, "-o", tmp_path / "r.pdf")
    refused("report", data, model, "-o", tmp_path / "r.html")
    refused("calculator", model, "-o", tmp_path / "c.html", "--times", "x")
    assert not list(tmp_path.iterdir())
