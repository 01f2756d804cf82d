"""A module imports only from lower levels of the design (or from its own package)."""

import ast
from pathlib import Path

import pytest

import lifemix

ROOT = Path(lifemix.__file__).parent
LEVELS = {
    "errors": 0,
    "target": 1,
    "checks": 1,
    "files": 1,
    "datasets": 2,
    "events": 2,
    "preprocessing": 2,
    "splits": 2,
    "functions": 2,
    "metrics": 3,
    "primitives": 2,
    "networks": 2,
    "likelihood": 3,
    "model": 3,
    "survival_model": 4,
    "distribution": 3,
    "plots": 4,
    "_html": 3,
    "training": 4,
    "estimators": 5,
    "baselines": 5,
    "persistence": 6,
    "report": 6,
    "export": 6,
    "experiments": 7,
    "cli": 8,
    "__main__": 9,
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
