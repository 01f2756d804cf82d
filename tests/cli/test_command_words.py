"""The doctor of the command line gives options, not arguments of Python."""

import ast
import re
from pathlib import Path

import pytest

import lifemix.report.doctor
from lifemix.cli.command_words import in_command_words

FILES = sorted(Path(lifemix.report.doctor.__file__).parent.glob("*.py"))
PYTHON = re.compile(
    r"make_target|\w+=\(|\bk=|\b(weight_decay|max_epochs|learning_rate|n_members|max_rows|log_likelihood)\b"
)


def advice(path):
    """Return the texts of the findings in a file: strings of several words that are no docstrings."""
    tree = ast.parse(path.read_text())
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    ]
    for call in calls:
        for argument in call.args[2:]:
            parts = [node.value for node in ast.walk(argument) if isinstance(node, ast.Constant)]
            yield "".join(part for part in parts if isinstance(part, str))


def test_some_advice_has_words_of_python():
    assert sum(bool(PYTHON.search(text)) for path in FILES for text in advice(path)) > 5


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_word_of_python_is_left(path):
    assert [text for text in advice(path) if PYTHON.search(in_command_words(text))] == []


def test_columns_are_left_out_by_an_option(run, write, frame):
    assert in_command_words("Leave pid out.") == "Leave it out: --drop pid."
    path = write(frame.head(60))
    out = " ".join(run("doctor", path, "--time", "days", "--event", "died").out.split())
    assert "--hidden none" in out
    assert "hidden=()" not in out
