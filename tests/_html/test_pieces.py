"""Pieces of HTML."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.errors import SettingError
from lifemix.report._pieces import (
    Html,
    bullets,
    code,
    facts,
    joined,
    link,
    note,
    paragraph,
    preformatted,
    safe,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)


class Reader(HTMLParser):
    """Reads tags and text as a browser would."""

    def __init__(self, content):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    ("make", "tags"),
    [
        (paragraph, ["p"]),
        (code, ["code"]),
        (preformatted, ["pre", "code"]),
        (note, ["aside", "strong"]),
        (lambda text: facts({text: text}), ["dl", "div", "dt", "dd"]),
        (lambda text: bullets([text]), ["ul", "li"]),
        (lambda text: link(text, "#here"), ["a"]),
    ],
)
@given(text=TEXTS)
def test_text_comes_out_as_text_whatever_is_in_it(make, tags, text):
    read = Reader(make(text))
    assert [tag for tag, _ in read.tags] == tags
    assert text in read.text


@given(TEXTS)
def test_html_is_not_escaped_twice(text):
    assert safe(safe(text)) == safe(text)
    assert Reader(joined(text, Html("<b>!</b>"), text)).text == f"{text}!{text}"


def test_a_warning_says_so_in_words():
    assert "Warning." in note("hot", kind="warning")
    with pytest.raises(SettingError, match="'note' or 'warning'; got 'loud'"):
        note("hot", kind="loud")


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "JavaScript:x", "vbscript:x"]
)
def test_links_do_not_run_anything(address):
    with pytest.raises(SettingError, match="a link leads to"):
        link("x", address)


@pytest.mark.parametrize(
    "address", ["#part", "support.html", "folder/a:b.html", "https://example.org/a?b=1&c=2"]
)
def test_links_lead_where_they_say(address):
    assert Reader(link("x", address)).tags == [("a", {"href": address})]
