"""Whole pages."""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lifemix
from lifemix.errors import InputError, MissingExtraError, SettingError
from lifemix.report._pieces import Html, Page, figure, link, new_figure


def drawing(title="x"):
    made = new_figure(2, 2)
    made.subplots().plot([0, 1], [1, 0])
    made.suptitle(title)
    return made


def anchors(html):
    return re.findall(r'<section id="([^"]*)"', html)


def test_every_entry_of_the_contents_leads_to_its_section():
    page = Page("t")
    first = page.add("Results & more", "text")
    first.add("Results", "text")
    page.add("Results", "text")
    page.add("C", "text", anchor="c-td")
    page.add(Html("C<sup>td</sup>"), "text", anchor="c-td")
    page.add("123", "text")
    page.add("ÄÖ", "text")
    html = page.html()
    names = anchors(html)
    assert names == ["results-more", "results", "results-2", "c-td", "c-td-2", "123", "section"]
    assert re.findall(r'<a href="#([^"]*)"', html) == names


def test_headings_go_down_one_level_a_section():
    page = Page("t")
    page.add("a").add("b").add("c")
    assert re.findall(r"<h(\d)>([abct])<", page.html()) == [
        ("1", "t"),
        ("2", "a"),
        ("3", "b"),
        ("4", "c"),
    ]


def test_text_is_escaped_everywhere():
    page = Page("<x>", lead="<x>", foot="<x>", meta={"a": '"<x>'})
    page.add("<x>", "<x>").add("<x>")
    assert "<x>" not in page.html()


def test_a_bad_anchor_is_refused():
    page = Page("t")
    page.add("a", anchor='x" onclick="y')
    with pytest.raises(SettingError, match="an anchor has letters"):
        page.html()


def test_nothing_is_fetched_and_nothing_runs():
    page = Page("t", back=link("x", "index.html"))
    page.add("a", figure(drawing(), "a line", "c"))
    html = page.html()
    assert "<script" not in html
    assert "default-src &#x27;none&#x27;" in html
    assert all(address.startswith("data:") for address in re.findall(r'src="([^"]*)"', html))
    assert "url(" not in html
    assert "@import" not in html


def test_the_same_figure_gives_the_same_bytes():
    assert figure(drawing(), "a", "c") == figure(drawing(), "a", "c")
    assert figure(drawing(), "a", "c", kind="png") == figure(drawing(), "a", "c", kind="png")


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_figures_are_images_of_their_kind(kind, start):
    content = re.search(r"base64,([^\"]*)", figure(drawing(), "a", "c", kind=kind))[1]
    assert base64.b64decode(content).startswith(start)


def test_several_figures_share_a_caption_and_a_legend():
    made = figure([drawing("a"), drawing("b")], "curves", "c", legend={"<m>": ("#ff0000", "●")})
    assert re.findall(r'alt="([^"]*)"', made) == ["curves (1 of 2)", "curves (2 of 2)"]
    assert made.count("<figcaption>") == 1
    assert "&lt;m&gt;" in made


def test_a_figure_without_alternative_text_is_refused():
    with pytest.raises(SettingError, match="needs an alternative text"):
        figure(drawing(), " ", "c")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lifemix\[plots\]'"):
        new_figure()


def test_pages_without_figures_need_no_matplotlib():
    code = "import sys; from lifemix.report._pieces import Page; Page('t').html(); print('matplotlib' in sys.modules)"
    source = str(Path(lifemix.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120
    )
    assert result.stdout.strip() == "False", result.stderr


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = Page("old").write(tmp_path / "new" / "page.html")
    old = path.read_text()
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(InputError, match=r"page\.html cannot be written: disk full"):
        Page("other").write(path)
    assert path.read_text() == old
    assert [found.name for found in path.parent.iterdir()] == ["page.html"]


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Page("t").write(tmp_path / "file" / "page.html")
