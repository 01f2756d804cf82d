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


@pytest.mark.slow
def test_page_tables_and_index_are_written_from_the_records(study, folder, tmp_path):
    shutil.copytree(folder, tmp_path / study.folder)
    page = program.reproduce([study], tmp_path, ["cph", "dsm"])
    assert page.name == "metabric-quick.html"
    text = page.read_text(encoding="utf-8")
    for words in ("Quick run", "DSM, paper’s settings 6 of 144", "METABRIC: Cᵗᵈ", "Cox (CPH)"):
        assert words in text
    assert study.command in text
    assert text.count('<img src="data:image/png') == 4
    assert json.loads((tmp_path / "index.json").read_text())[page.stem]["title"]
    assert f'href="{page.name}"' in (tmp_path / "index.html").read_text()
    tables = (tmp_path / study.folder / "tables.md").read_text()
    assert "## METABRIC: Brier score, 50% of the training events censored artificially" in tables
    assert program.reproduce([study], tmp_path, ["cph"]).read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_a_name_that_contains_a_script_stays_text_and_the_page_fits(tmp_path):
    table = Table("wide", ["a"] * 30, [["b", *[Entry("0.123 ± 0.001", True)] * 29]])
    names = Table(SCRIPT, [SCRIPT], [[SCRIPT]])
    section = Section(SCRIPT, [SCRIPT], {SCRIPT: SCRIPT}, tables=[names, table])
    path = _write(tmp_path / "page.html", SCRIPT, SCRIPT, [section])
    assert SCRIPT not in path.read_text()
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 390, "height": 800})
        requests = []
        view.on("request", lambda request: requests.append(request.url))
        view.goto(path.as_uri(), timeout=120_000)
        assert view.title() == SCRIPT
        assert requests == [path.as_uri()]
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()


def test_the_command_runs_named_models_and_refuses_unknown_names(study, tmp_path, monkeypatch):
    def call(name, *options):
        return CliRunner().invoke(program.app, [name, "-o", str(tmp_path), *options])

    result = call("suport")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "unknown experiment; got 'suport'" in result.stderr
    monkeypatch.setattr(program, "studies", lambda *arguments: [study])
    result = call("metabric", "--quick", "--models", "coxph")
    assert result.exit_code == 2
    assert "unknown models {'coxph'}" in result.stderr
    result = call("metabric", "--quick", "--models", "cph,floor")
    assert result.stdout == f"wrote {tmp_path / 'metabric-quick.html'}\n"
