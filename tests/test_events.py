"""Names of the event types."""

import pytest

from lifemix.errors import SettingError
from lifemix.target import event_names


@pytest.mark.parametrize("given", [{2: "b", 1: "a"}, ["a", "b"], ("a", "b")])
def test_a_mapping_and_a_sequence_give_the_same_names(given):
    assert event_names(given, 2) == ("a", "b")


def test_without_names_the_codes_are_told():
    assert event_names(None, 1) == ("event",)
    assert event_names(None, 3) == ("event 1", "event 2", "event 3")


@pytest.mark.parametrize(
    "given", ["ab", {1: "a"}, {0: "censored", 1: "a", 2: "b"}, ["a"], ["a", "b", "c"], 5]
)
def test_names_that_do_not_fit_are_refused(given):
    with pytest.raises(SettingError, match=r"each of the event types 1\.\.2.*got "):
        event_names(given, 2)
