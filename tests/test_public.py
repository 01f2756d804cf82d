"""What a user imports."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import lifemix

PACKAGE = Path(lifemix.__file__).parent
SOURCE = str(PACKAGE.parent)
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)


def run(code):
    environment = os.environ | {"PYTHONPATH": SOURCE}
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
    assert sorted(lifemix.__all__) == lifemix.__all__
    assert set(dir(lifemix)) == {*lifemix.__all__, "__version__"}
    for name in lifemix.__all__:
        assert getattr(lifemix, name) is not None
    space = {}
    exec("from lifemix import *", space)
    assert set(space) - {"__builtins__"} == set(lifemix.__all__)


def test_unknown_names_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'lifemix' has no attribute 'DeepHit'"):
        _ = lifemix.DeepHit
    with pytest.raises(ImportError):
        exec("from lifemix import nothing")


def test_importing_the_package_does_not_import_torch():
    assert run("import lifemix, sys; print('torch' in sys.modules)") == "False"
    assert (
        run("from lifemix import make_target, metrics; import sys; print('torch' in sys.modules)")
        == "False"
    )
    assert (
        run("from lifemix import DeepSurvivalMachines; import sys; print('torch' in sys.modules)")
        == "True"
    )


@pytest.mark.filterwarnings("ignore")  # of optional packages when they are imported
@pytest.mark.parametrize("module", MODULES)
def test_every_module_lists_names_that_it_has(module):
    loaded = import_module(module)
    assert loaded.__all__
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def test_version_is_that_of_the_project():
    root = Path(SOURCE).parent
    if not (root / "pyproject.toml").exists():
        pytest.skip("not run from the project's folder")
    assert (
        lifemix.__version__
        == tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    )
    assert f"\nversion: {lifemix.__version__}\n" in (root / "CITATION.cff").read_text()
    assert f"\n## {lifemix.__version__} - " in (root / "CHANGELOG.md").read_text()
