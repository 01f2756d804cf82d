"""From records to a page, by the command line too; in a browser nothing is fetched or runs."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from experiments import __main__ as program
from experiments.page import Section, _write
from experiments.tables import Entry, Table

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SCRIPT = "<script>document.title = 'changed'</script>"


@pytest.fixture
def page(study, folder, tmp_path):
    shutil.copytree(folder, tmp_path / study.folder)
    return program.reproduce([study], tmp_path, ["cph"])


def test_page_tables_and_index_are_written_from_the_records(page, study):
    text = page.read_text(encoding="utf-8")
    assert page.name == "metabric-quick.html"
    for words in (
        "Quick run",
        "DSM, paper’s settings 6 of 144",
        "METABRIC: Cᵗᵈ",
        study.command,
        "Cox (CPH)",
    ):
        assert words in text
    assert text.count('<img src="data:image/png') == 4
    assert json.loads((page.parent / "index.json").read_text())[page.stem]["title"]
    assert f'href="{page.name}"' in (page.parent / "index.html").read_text()
    tables = (page.parent / study.folder / "tables.md").read_text()
    assert "## METABRIC: Brier score, 50% of the training events censored artificially" in tables
    first = page.read_bytes()
    assert program.reproduce([study], page.parent, ["cph"]).read_bytes() == first


@pytest.mark.slow
def test_a_name_that_contains_a_script_stays_text_and_the_page_fits(tmp_path):
    sections = [
        Section(SCRIPT, [SCRIPT], {SCRIPT: SCRIPT}, tables=[Table(SCRIPT, [SCRIPT], [[SCRIPT]])]),
        Section(
            "Wide",
            tables=[Table("wide", ["a"] * 30, [["b", *[Entry("0.123 ± 0.001", True)] * 29]])],
        ),
    ]
    path = _write(tmp_path / "page.html", SCRIPT, SCRIPT, sections)
    assert SCRIPT not in path.read_text()
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 390, "height": 800})
        requests = []
        view.on("request", lambda request: requests.append(request.url))
        view.goto(path.as_uri(), timeout=120_000)
        assert view.title() == SCRIPT
        assert requests == [path.as_uri()]
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()


def test_the_command_runs_named_models_and_refuses_unknown_names(study, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "studies", lambda *arguments: [study])
    arguments = ["metabric", "--quick", "-o", str(tmp_path), "--models"]
    outcome = CliRunner().invoke(program.app, [*arguments, "cph,floor"])
    assert outcome.stdout == f"wrote {tmp_path / 'metabric-quick.html'}\n"
    outcome = CliRunner().invoke(program.app, [*arguments, "coxph"])
    assert outcome.exit_code == 2
    assert "unknown models {'coxph'}" in outcome.stderr
    monkeypatch.undo()
    outcome = CliRunner().invoke(program.app, ["suport", "-o", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "unknown experiment; got 'suport'" in outcome.stderr
