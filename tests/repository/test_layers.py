"""A module imports only from lower levels of the design (or from its own package), and only public names of others."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import lifemix

ROOT = Path(lifemix.__file__).parent
LAYERS = (
    # A module imports only from those before it.
    "errors _types checks files registry progress start_stop target target_summary splits histories primitives "
    "network encoders incidence likelihood distribution preprocessing training "
    "partial_likelihood metrics table_files streaming mapped_matrix survival_model baselines estimators "
    "persistence datasets plots scoring export _html report cli __main__"
).split()
# Functions of arrays: they know none of the models.
WITHOUT_MODELS = {"plots": "survival_model", "datasets": "survival_model"}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_names(path: Path) -> list[tuple[str, ...]]:
    """Return what a file imports of the package, each as the parts of its full name."""
    package = ("lifemix", *path.relative_to(ROOT).parent.parts)
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            found += [(*module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [tuple(alias.name.split(".")) for alias in node.names]
    return [name for name in found if name[0] == "lifemix" and len(name) > 1]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@cache
def defined_attributes(part: str) -> set[str]:
    """Return the private names that the files of a part define: functions, classes, variables, attributes."""
    found = set()
    for path in FILES:
        if part_of(path) == part:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    found.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found.add(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found.add(node.attr)
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found.add(node.target.id)
    return found


def private_reads(path: Path) -> set[str]:
    """Return the private attributes that a file reads of objects other than its own."""
    own = {"self", "cls"}
    reads = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            of = node.value
            mine = (isinstance(of, ast.Name) and of.id in own) or (
                isinstance(of, ast.Call) and getattr(of.func, "id", "") in ("super", "type")
            )
            if not mine:
                reads.add(node.attr)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            names = [
                argument.value for argument in node.args[1:2] if isinstance(argument, ast.Constant)
            ]
            reads |= {name for name in names if isinstance(name, str) and is_private(name)}
    return reads


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    own = part_of(path)
    assert own in LAYERS, f"{own} is in no layer: add it to LAYERS"
    lower = set(LAYERS[: LAYERS.index(WITHOUT_MODELS.get(own, own))])
    upward = {name[1] for name in imported_names(path)} - {own} - lower
    assert not upward, f"{own} imports {sorted(upward)}"


# Private names of Python, scikit-learn and PyTorch that have no public twin.
OF_OTHERS = {"_baseline_prediction", "_fused_adam_", "_getframe", "_predictors", "_safe_indexing"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_private_names_stay_in_their_package(path):
    own = part_of(path)
    foreign = {
        ".".join(name)
        for name in imported_names(path)
        if name[1] != own and any(map(is_private, name[2:]))
    }
    assert not foreign, f"{own} imports private names of other packages: {sorted(foreign)}"
    read = private_reads(path) - defined_attributes(own) - OF_OTHERS
    assert not read, f"{own} reads private attributes that it does not define: {sorted(read)}"


def test_public_names_exist_and_are_few():
    assert len(lifemix.__all__) <= 13
    assert sorted(lifemix.__all__) == lifemix.__all__
    for name in lifemix.__all__:
        assert getattr(lifemix, name) is not None


def test_every_class_name_occurs_once():
    names = Counter(
        node.name
        for path in ROOT.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []
