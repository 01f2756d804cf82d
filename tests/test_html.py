"""Pages from templates: values are escaped, nothing is fetched, files are written atomically."""

import base64
import re
import sys

import numpy as np
import pytest

from lifemix._html import environment, figure_uri, new_figure, number, write_page
from lifemix.errors import InputError, MissingExtraError

PAGE = """
{% extends "base.html.j2" %}
{% import "macros.html.j2" as m %}
{% set contents = {"first": "The first <section>"} %}
{% block main %}
<section id="first"><h2>{{ contents.first }}</h2>
{{ m.figure(uris, "a line", "explanation <x>") }}
{{ m.table("caption", ["a", "<b>"], [["<script>alert(1)</script>", ("<v>", "<note>")], ["y", 2.5]], text=(1,)) }}
{{ m.facts({"<name>": "<value>"}) }}{{ m.warning("<text>") }}
</section>
{% endblock %}
"""


def drawing(title="x"):
    figure = new_figure(2, 2)
    figure.subplots().plot([0, 1], [1, 0])
    figure.suptitle(title)
    return figure


@pytest.fixture
def html(tmp_path):
    (tmp_path / "page.html.j2").write_text(PAGE)
    uris = [figure_uri(drawing()), figure_uri(drawing("cost in $ and $"))]
    return environment(tmp_path).get_template("page.html.j2").render(title="<title>", uris=uris)


def test_values_are_text_everywhere(html):
    assert html.count("&lt;") > 9
    assert not re.search(r"<(script|v|note|b|x|section>|name|value|text)>", html.split("<body>")[1])


def test_nothing_is_fetched_and_nothing_runs(html):
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert all(address.startswith("data:") for address in re.findall(r'src="([^"]*)"', html))
    assert not re.search(r"url\(|@import", html)


def test_contents_lead_to_the_sections(html):
    assert re.findall(r'<a href="#([^"]*)"', html) == re.findall(r'<section id="([^"]*)"', html)


def test_several_figures_have_one_caption_and_numbered_texts(html):
    assert re.findall(r'alt="([^"]*)"', html) == ["a line (1 of 2)", "a line (2 of 2)"]
    assert html.count("<figcaption>") == 1


def test_tables_have_headings_of_rows_and_columns(html):
    assert html.count('scope="col"') == 2
    assert html.count('scope="row"') == 2
    assert '<td class="text">&lt;v&gt;<small>&lt;note&gt;</small></td>' in html


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_figure_gives_the_same_bytes(kind):
    uri = figure_uri(drawing(), kind)
    assert uri == figure_uri(drawing(), kind)
    start = {"svg": b"<?xml", "png": b"\x89PNG"}[kind]
    assert base64.b64decode(uri.split("base64,")[1]).startswith(start)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lifemix\[plots\]'"):
        new_figure()


@pytest.mark.parametrize(
    ("value", "text"),
    [(np.nan, "–"), (None, "–"), (np.inf, "∞"), (-np.inf, "−∞"), (-1234.5678, "−1,234.568")],
)
def test_numbers_are_printed_as_in_a_paper(value, text):
    assert number(value) == text


def test_a_failed_write_leaves_the_old_page(tmp_path, monkeypatch):
    path = write_page(tmp_path / "new" / "page.html", "old")
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(InputError, match=r"page\.html cannot be written: disk full"):
        write_page(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_page(tmp_path / "file" / "page.html", "")
