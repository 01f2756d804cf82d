"""Findings as objects."""

from lifemix.report.doctor import Finding
from lifemix.report.doctor.finding import most_severe_first


def test_the_most_severe_finding_comes_first():
    note, stop = Finding("a", "note", "A.", "B."), Finding("b", "stop", "C.", "D.", ("k",))
    assert most_severe_first([note, stop]) == [stop, note]
    assert str(stop) == "stop (b): C. D."
    assert (note.settings, stop.settings) == ((), ("k",))
