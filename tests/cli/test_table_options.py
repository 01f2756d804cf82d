"""The options of a table: declared once, the same in every command, remembered by the model file."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import lifemix.cli
from lifemix.cli import app
from lifemix.cli.table_options import TableOptions, options_from
from lifemix.errors import CovariateError, SettingError

COMMANDS = typer.main.get_command(app).commands
FIELDS = {field.name: field for field in fields(TableOptions)}
FOLDER = Path(lifemix.cli.__file__).parent
# What a command writes and which models it has differ from command to command.
OWN = {"output", "search", "members", "models", "model"}
USED = {
    "file": {"predict", "evaluate", "report", "fit", "compare", "doctor"},
    "path": {"predict"},
    "outcome": {"evaluate", "report", "fit", "compare", "doctor"},
    "covariates": {"fit", "compare", "doctor"},
    "labels": {"evaluate", "report", "fit", "compare", "doctor", "calculator"},
}


def parameters(name):
    """Return what every command has under the name of an option: flags, help and default."""
    found = {}
    for command, own in COMMANDS.items():
        for each in own.params:
            if each.name == name and each.opts[0].startswith("-"):
                found[command] = (each.opts, each.help, each.default)
    return found


@pytest.mark.parametrize("name", FIELDS)
def test_an_option_of_the_table_is_the_same_in_all_commands_that_take_it(name):
    found = parameters(name)
    assert set(found) == USED[FIELDS[name].metadata["group"]]
    assert len({str(each) for each in found.values()}) == 1
    assert next(iter(found.values()))[1] == FIELDS[name].metadata["option"].help


def test_every_other_shared_option_reads_the_same_too():
    names = {
        each.name
        for command in COMMANDS.values()
        for each in command.params
        if isinstance(each, typer.core.TyperOption)
    }
    for name in names - OWN:
        assert len({str(each) for each in parameters(name).values()}) == 1, name


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_no_command_declares_an_option_of_the_table(path):
    tree = ast.parse(path.read_text())
    arguments = [
        each
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for each in node.args.args
    ]
    declared = {
        each.arg
        for each in arguments
        if each.annotation and "Option(" in ast.unparse(each.annotation)
    }
    assert not declared & set(FIELDS)
    assert not declared & {"unit", "subject"}


def test_a_command_gets_the_options_as_one_object():
    for name in USED["file"] | USED["labels"]:
        function = getattr(getattr(lifemix.cli, name, None), name, None) or inspect.unwrap(
            COMMANDS[name].callback
        )
        hints = [str(each.annotation) for each in inspect.signature(function).parameters.values()]
        assert sum(hint.endswith("Options") for hint in hints) == 1, name


def test_what_is_remembered_comes_back():
    given = options_from(
        {"time": "days", "event": None, "drop": ["a", "b"], "encoding": "cp1252", "missing": ["?"]}
    )
    assert given == TableOptions(time="days", drop=("a", "b"), encoding="cp1252", missing=("?",))
    state = given.to_state()
    assert "encoding" not in state
    assert TableOptions.from_state(state) == TableOptions(
        time="days", drop=("a", "b"), missing=("?",)
    )


def test_given_options_replace_remembered_ones():
    saved = TableOptions(time="days", event="died", missing=("?",))
    assert saved.override(TableOptions(event="dead")) == TableOptions(
        time="days", event="dead", missing=("?",)
    )


def test_names_with_commas_are_columns_where_the_table_has_them():
    columns = ["t", "e", "a", "b", "c, d"]
    options = TableOptions("t", "e", drop=("a,b", "c, d")).resolve(columns)
    assert options.drop == ("a", "b", "c, d")
    with pytest.raises(CovariateError, match="no column 'x' \\(--drop\\)"):
        TableOptions("t", "e", drop=("x",)).resolve(columns)
    with pytest.raises(SettingError, match="both dropped and used"):
        TableOptions("t", "e", drop=("a",), keep=("a",)).resolve(columns)
