"""What a user imports."""

import os
import subprocess
import sys
import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import lifemix

PACKAGE = Path(lifemix.__file__).parent
SOURCE = PACKAGE.parent
ROOT = SOURCE.parent


def run(code):
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_names_of_the_design():
    from lifemix import DeepSurvivalMachines, datasets, load, make_target, metrics, save

    assert callable(DeepSurvivalMachines)
    assert all(callable(function) for function in (load, make_target, save))
    assert callable(datasets.load_support)
    assert callable(metrics.concordance_td)


def test_all_is_what_is_exported():
    assert len(lifemix.__all__) <= 14
    assert sorted(lifemix.__all__) == lifemix.__all__
    assert set(dir(lifemix)) == {*lifemix.__all__, "__version__"}
    for name in lifemix.__all__:
        assert getattr(lifemix, name) is not None
    namespace = {}
    exec("from lifemix import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(lifemix.__all__)


def test_unknown_names_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'lifemix' has no attribute 'DeepHit'"):
        _ = lifemix.DeepHit
    with pytest.raises(ImportError):
        exec("from lifemix import nothing")


def test_importing_the_package_does_not_import_torch():
    is_loaded = "import sys; print('torch' in sys.modules)"
    assert run(f"import lifemix; {is_loaded}") == "False"
    assert run(f"from lifemix import make_target, metrics; {is_loaded}") == "False"
    assert run(f"from lifemix import DeepSurvivalMachines; {is_loaded}") == "True"


def test_every_module_lists_names_that_it_has():
    problems = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        with warnings.catch_warnings():  # of optional packages when they are imported
            warnings.simplefilter("ignore")
            module = import_module(name)
        missing = [public for public in module.__all__ if not hasattr(module, public)]
        if not module.__all__ or missing:
            problems.append(f"{name}: __all__ is empty or lists {missing}")
    assert problems == []


def test_version_is_that_of_the_project():
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("not run from the project's folder")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert lifemix.__version__ == project["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {lifemix.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {lifemix.__version__} - " in changes
