"""The code blocks of a Markdown page, run in order as a reader would type them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(r"^```console\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def code_blocks(page: Path) -> list[tuple[int, str]]:
    """Return the line where each block begins, and its code."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in _BLOCK.finditer(text)]


def commands(page: Path) -> list[list[str]]:
    """Return the commands of the console blocks, those lines that begin with a dollar sign, as lists of words."""
    text = page.read_text(encoding="utf-8")
    return [
        shlex.split(line[2:])
        for found in _CONSOLE.finditer(text)
        for line in found[1].splitlines()
        if line[:2] == "$ "
    ]


def run_blocks(page: Path) -> dict[str, Any]:
    """Run the blocks one after the other with common names, and return them; errors name the line of the page."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for line, code in code_blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), names)
    return names
