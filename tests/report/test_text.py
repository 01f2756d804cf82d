"""Numbers and lists in sentences."""

from hypothesis import given
from hypothesis import strategies as st

from lifemix.report.text import counted, listed, percent


@given(st.integers(1, 12), st.integers(2, 6))
def test_lists_name_or_count_everything(n, limit):
    text = listed([f"c{i}" for i in range(n)], limit)
    named = text.count("c")
    n_more = int(text.split("and ")[1].split(" more")[0]) if text.endswith("more") else 0
    assert named + n_more == n


def test_words():
    assert [percent(x) for x in (0, 1e-5, 0.0123, 0.5, 0.9991, 1)] == [
        "0 %",
        "less than 0.1 %",
        "1.2 %",
        "50 %",
        "99.9 %",
        "100 %",
    ]
    assert (counted(1, "row"), counted(2000, "row")) == ("1 row", "2,000 rows")
