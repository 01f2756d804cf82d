"""What is published: the source archive has all that its tests need, the wheel its data, pages and licences."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lifemix"
pytest.importorskip("hatchling", reason="packages are built with hatchling")


def built(kind, folder):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    (path,) = folder.iterdir()
    return path


def files_in_git():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("the list of files comes from git, and this is no clone")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return {name for name in names.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.mark.slow
def test_the_source_archive_has_every_file_of_the_repository_and_no_cache(tmp_path):
    expected = files_in_git()
    with tarfile.open(built("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert expected - names == set()
    caches = (".venv", "build/", "dist/")
    assert [name for name in names if "__pycache__" in name or name.startswith(caches)] == []


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_its_licences(tmp_path):
    with zipfile.ZipFile(built("wheel", tmp_path)) as wheel:
        names = wheel.namelist()
        (metadata,) = (
            message_from_bytes(wheel.read(name))
            for name in names
            if name.endswith(".dist-info/METADATA")
        )
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    expected = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    package_names = {name for name in names if ".dist-info/" not in name}
    assert package_names == expected
    assert {"lifemix/py.typed", "lifemix/datasets/data/NOTICE.md"} <= package_names
    licences = metadata.get_all("License-File")
    assert licences == ["LICENSE", "src/lifemix/datasets/data/NOTICE.md"]
    for licence in licences:
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names)
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT AND BSD-3-Clause AND ODbL-1.0"
    assert metadata["Author"]
    assert metadata["Project-URL"]
