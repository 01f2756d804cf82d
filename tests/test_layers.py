"""A module imports only from lower levels of the design (or from its own package)."""

import ast
from pathlib import Path

import pytest

import lifemix

ROOT = Path(lifemix.__file__).parent
LEVELS = {
    "errors": 0,
    "warning": 1,
    "target": 2,
    "checks": 2,
    "files": 1,
    "datasets": 3,
    "events": 3,
    "preprocessing": 3,
    "splits": 3,
    "functions": 3,
    "metrics": 4,
    "primitives": 3,
    "networks": 3,
    "likelihood": 4,
    "model": 4,
    "state": 4,
    "survival_model": 5,
    "distribution": 4,
    "plots": 5,
    "_html": 4,
    "training": 5,
    "estimators": 6,
    "baselines": 6,
    "persistence": 7,
    "report": 7,
    "export": 7,
    "experiments": 8,
    "cli": 9,
    "__main__": 10,
}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_parts(path: Path) -> set[str]:
    """Return the top-level parts of the package that a file imports."""
    package = ("lifemix", *path.relative_to(ROOT).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            names = [(*module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "lifemix" and len(name) > 1}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    own = part_of(path)
    assert own in LEVELS, f"{own} has no level: add it to the design and to LEVELS"
    upward = {part for part in imported_parts(path) - {own} if LEVELS.get(part, 99) >= LEVELS[own]}
    assert not upward, f"{own} (level {LEVELS[own]}) imports {sorted(upward)}"


def test_public_names_exist_and_are_few():
    assert len(lifemix.__all__) <= 12
    assert sorted(lifemix.__all__) == lifemix.__all__
    for name in lifemix.__all__:
        assert getattr(lifemix, name) is not None
