import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from lifemix import metrics

MODULES = sorted(
    path.stem for path in Path(metrics.__file__).parent.glob("*.py") if path.stem != "__init__"
)


def test_public_names_are_sorted_and_documented():
    assert sorted(metrics.__all__) == metrics.__all__
    for name in metrics.__all__:
        function = getattr(metrics, name)
        assert callable(function)
        assert len(function.__doc__.splitlines()) > 3, f"{name} says too little"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_lists_what_it_offers(name):
    module = importlib.import_module(f"lifemix.metrics.{name}")
    tree = ast.parse(Path(module.__file__).read_text())
    defined = {
        n.name
        for n in tree.body
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not n.name.startswith("_")
    }
    assert defined <= set(module.__all__)
    assert all(hasattr(module, listed) for listed in module.__all__)


def test_the_metrics_need_neither_torch_nor_the_optional_packages():
    names = ("torch", "sksurv", "lifelines")
    code = f"import sys, lifemix.metrics; print([name for name in {names} if name in sys.modules])"
    source = Path(metrics.__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=source, check=True
    )
    assert result.stdout.strip() == "[]"
