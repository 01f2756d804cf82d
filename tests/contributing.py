"""The examples of CONTRIBUTING.md, written into a copy of the package word for word."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

_STEP = re.compile(
    r"`(src/[\w/]+\.py)`:\n\n((?:```(?:python|diff)\n.*?^```\n\n?)+)",
    flags=re.DOTALL | re.MULTILINE,
)
_BLOCK = re.compile(r"^```(python|diff)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def follow(page: Path, package: Path, root: Path) -> list[str]:
    """Copy the package below a folder and do there what the page says; return the files written or changed."""
    shutil.copytree(package, root / "src" / "lifemix", ignore=shutil.ignore_patterns("__pycache__"))
    done = []
    for path, blocks in _STEP.findall(page.read_text(encoding="utf-8")):
        for kind, text in _BLOCK.findall(blocks):
            if kind == "python":
                assert not (root / path).exists(), f"{path} exists already"
                (root / path).write_text(text, encoding="utf-8")
            else:
                _apply(root / path, text)
        done.append(path)
    return done


def _apply(path: Path, diff: str) -> None:
    """Change a file as a diff of whole lines, or of the beginnings of lines, says."""
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line[0] in " -")
    new = "\n".join(line[1:] for line in lines if line[0] in " +")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name} has {text.count(old)} times: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")
