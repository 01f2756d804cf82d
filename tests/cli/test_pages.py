"""``lifemix report`` and ``calculator``: what they hand on, and that no half page stays behind."""

import pytest

import lifemix.report
from lifemix.errors import SettingError


@pytest.fixture
def stand_in(monkeypatch):
    """Put a function in the place of a writer of pages, and return the calls that it gets."""

    def put(name, function):
        calls = []
        monkeypatch.setattr(
            lifemix.report,
            name,
            lambda *arguments, **options: (
                calls.append((arguments, options)) or function(*arguments)
            ),
            raising=False,
        )
        return calls

    return put


def test_report_gets_the_rows_and_their_names(run, model, data, tmp_path, stand_in):
    write = stand_in("write_report", lambda m, X, y, path: path.write_text("page"))
    output = tmp_path / "report.html"
    outcome = run("report", model, data, "-o", output, "--times", "100")
    assert outcome.code == 0, outcome.err
    assert output.read_text() == "page"
    ((_, X, y, _), options) = write[0]
    assert (len(X), len(y), list(X)) == (200, 200, ["age", "dose", "stage"])
    assert options["time_unit"] == "days"
    assert options["event_names"] == ("event",)
    assert options["horizons"] == [100.0]


def test_calculator_gets_the_model_and_its_unit(run, model, tmp_path, stand_in):
    write = stand_in("write_calculator", lambda m, path: path.write_text("page"))
    output = tmp_path / "c.html"
    assert run("calculator", model, "-o", output, "--title", "Risk").code == 0
    assert output.read_text() == "page"
    options = write[0][1]
    assert (options["title"], options["time_unit"], options["event_names"]) == (
        "Risk",
        "days",
        ("event",),
    )


def fail_halfway(model, path):
    path.write_text("half")
    raise SettingError("cannot be drawn.")


def test_no_half_page_stays_behind(refused, model, tmp_path, stand_in):
    stand_in("write_calculator", fail_halfway)
    assert "cannot be drawn" in refused("calculator", model, "-o", tmp_path / "c.html")
    assert not list(tmp_path.iterdir())


def test_pages_end_in_html(refused, model, data, tmp_path):
    assert "must end in .html" in refused("calculator", model, "-o", tmp_path / "c.pdf")
    assert "must end in .html" in refused("report", model, data, "-o", tmp_path / "r.pdf")


def test_the_model_comes_before_the_table(refused, model, data, tmp_path):
    assert "is a table; expected a model file" in refused(
        "report", data, model, "-o", tmp_path / "r.html"
    )
