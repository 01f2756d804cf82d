"""Numbers and lists in sentences."""

from lifemix.report.text import counted, listed, percent


def test_lists_name_or_count_everything():
    assert [listed("abcdef"[:n], 3) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert listed("abcdef", 3) == "a, b and 4 more"
    assert listed("abcdef", 6) == "a, b, c, d, e and f"


def test_numbers_in_words():
    shares = (0, 1e-5, 0.0123, 0.5, 0.9991, 1)
    expected = "0 %, less than 0.1 %, 1.2 %, 50 %, 99.9 %, 100 %"
    assert ", ".join(map(percent, shares)) == expected
    assert (counted(1, "row"), counted(2000, "row")) == ("1 row", "2,000 rows")
