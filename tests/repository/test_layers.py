"""A module imports only from lower levels of the design (or from its own package), and only public names of others."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

import lifemix

ROOT = Path(lifemix.__file__).parent
LAYERS = (
    # A module imports only from those before it.
    "errors _types checks files registry progress start_stop target target_summary splits histories primitives "
    "network encoders incidence likelihood distribution preprocessing training "
    "partial_likelihood pipeline metrics table_files streaming mapped_matrix survival_model baselines estimators "
    "persistence datasets plots scoring export _html report cli __main__"
).split()
# Functions of arrays: they know none of the models.
WITHOUT_MODELS = {"plots": "survival_model", "datasets": "survival_model"}
# Private names of Python, scikit-learn and PyTorch that have no public twin.
FOREIGN_NAMES = {
    "_baseline_prediction",
    "_fused_adam_",
    "_getframe",
    "_predictors",
    "_safe_indexing",
}
TREES = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"
}


def package_of(path):
    """Return the package or module of the list of layers that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_names(path):
    """Return what a file imports of the package, each as the parts of its full name."""
    package = ("lifemix", *path.relative_to(ROOT).parent.parts)
    names = []
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            names += [(*module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [tuple(alias.name.split(".")) for alias in node.names]
    return [name for name in names if name[0] == "lifemix" and len(name) > 1]


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def defined_names():
    """Return by package the functions, classes, variables and attributes that its files define."""
    names = defaultdict(set)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[package_of(path)].add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[package_of(path)].add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names[package_of(path)].add(node.attr)
    return names


def private_reads(tree):
    """Return the private attributes that a file reads of objects other than self, cls and super()."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            receiver = node.value
            if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"):
                continue
            if isinstance(receiver, ast.Call) and ast.unparse(receiver.func) in ("super", "type"):
                continue
            names.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            names |= {value.value for value in node.args[1:2] if isinstance(value, ast.Constant)}
    return {name for name in names if isinstance(name, str) and is_private(name)}


def test_imports_point_down():
    problems = []
    for path in TREES:
        package = package_of(path)
        assert package in LAYERS, f"{package} is in no layer: add it to LAYERS"
        lower = LAYERS[: LAYERS.index(WITHOUT_MODELS.get(package, package))]
        for name in imported_names(path):
            if name[1] != package and name[1] not in lower:
                problems.append(f"{path.relative_to(ROOT)} imports {'.'.join(name)}")
    assert problems == []


def test_private_names_stay_in_their_package():
    defined = defined_names()
    problems = []
    for path, tree in TREES.items():
        package = package_of(path)
        for name in imported_names(path):
            if name[1] != package and any(map(is_private, name[2:])):
                problems.append(f"{path.relative_to(ROOT)} imports {'.'.join(name)}")
        for name in private_reads(tree) - defined[package] - FOREIGN_NAMES:
            problems.append(
                f"{path.relative_to(ROOT)} reads {name}, which {package} does not define"
            )
    assert problems == []


def test_every_class_name_occurs_once():
    names = Counter(
        node.name
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []
