"""Tables of numbers."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.errors import SettingError
from lifemix.report._pieces import TableColumn, Value, table


def plain(text):
    return re.sub(r"<[^>]*>", "", text)


def body(content):
    """Return the cells of the body, row by row, without tags."""
    rows = re.findall(r"<tr>(.*?)</tr>", content.split("<tbody>")[1])
    return [[plain(cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in rows]


def marked(content):
    return [plain(text) for text in re.findall(r'<strong class="best">(.*?)</strong>', content)]


NAME = TableColumn("model", text=True)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.sampled_from(["max", "min"]))
def test_exactly_the_best_numbers_as_printed_are_marked(numbers, way):
    content = table(
        [NAME, TableColumn("score", best=way)], [["m", number] for number in numbers], "t"
    )
    printed = [f"{number:.3f}" for number in numbers]
    best = {"max": max, "min": min}[way](printed)
    assert marked(content) == [text for text in printed if text == best]


def test_one_number_alone_is_not_the_best_of_anything():
    assert (
        marked(table([NAME, TableColumn("score", best="max")], [["m", 0.5], ["n", None]], "t"))
        == []
    )


def test_what_is_not_ranked_is_not_the_best():
    rows = [["true model", Value(0.9, ranked=False)], ["a", Value(0.8, 0.01)], ["b", 0.7]]
    assert marked(table([NAME, TableColumn("score", best="max")], rows, "t")) == ["0.800 ± 0.010"]


def test_gaps_nan_infinity_and_signs_are_readable():
    rows = [["a", None], ["b", math.nan], ["c", math.inf], ["d", -1.5], ["e", 1.5], ["f", 0.0]]
    cells = [
        row[1] for row in body(table([NAME, TableColumn("x", digits=1, signed=True)], rows, "t"))
    ]
    assert cells == ["–", "–", "+∞", "−1.5", "+1.5", "0.0"]


def test_thousands_and_decimals():
    assert body(table([NAME, TableColumn("n", digits=0)], [["a", 12345.6]], "t")) == [
        ["a", "12,346"]
    ]


def test_notes_and_suffixes_follow_their_number():
    value = Value(0.5, 0.1, note="paper <0.4>", mark="good", suffix="▲")
    content = table([NAME, TableColumn("x", digits=1)], [["a", value]], "t")
    assert body(content) == [["a", "0.5 ± 0.1 ▲paper &lt;0.4&gt;"]]
    assert 'class="under good"' in content


def test_columns_of_a_group_share_a_heading():
    columns = [
        NAME,
        TableColumn("a", group="C"),
        TableColumn("b", group="C"),
        TableColumn("c", unit="days", group="D"),
    ]
    head = table(columns, [], "t").split("<tbody>")[0]
    assert re.findall(r"colspan=(\d)>(.*?)</t", head) == [("1", ""), ("2", "C"), ("1", "D")]
    assert 'class="unit">days<' in head


def test_rows_have_as_many_entries_as_columns():
    with pytest.raises(SettingError, match="row 1 has 3 entries for 2 columns"):
        table([NAME, TableColumn("x")], [["a", 1.0], ["b", 1.0, 2.0]], "t")


def test_caption_and_foot_are_escaped():
    content = table([NAME], [["<i>"]], "<b>", "<u>")
    assert all(f"&lt;{tag}&gt;" in content and f"<{tag}>" not in content for tag in "biu")
