"""Where the output of a command goes.

Messages and results go to stdout; warnings, errors and progress to stderr. ``quiet`` drops messages, warnings and
progress; ``as_json`` reserves stdout for one JSON document.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console as RichConsole
from rich.table import Table
from rich.text import Text

from ..progress import listening

__all__ = ["Console", "to_json"]

_SECONDS_PER_LINE = 10.0  # of progress without a terminal
_WIDTH = 120  # of a pipe or a file


class _PatientConsole(RichConsole):
    """A console that continues without output when its reader is gone."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class Console:
    """The output of a command."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self._stdout, self._stderr = (
            _PatientConsole(
                stderr=stderr, width=None if RichConsole(stderr=stderr).is_terminal else _WIDTH
            )
            for stderr in (False, True)
        )
        self._warnings: set[str] = set()

    @property
    def is_watched(self) -> bool:
        """Whether to draw progress bars: only on a terminal."""
        return not self.quiet and self._stderr.is_terminal

    def say(self, text: str = "", style: str | None = None) -> None:
        """Show a message: what is being done and how the input was understood."""
        if not self.quiet:
            self.show(text, style)

    def show(self, text: str, style: str | None = None) -> None:
        """Show a result, also with ``--quiet``."""
        if not self.as_json:
            self._stdout.print(text, style=style, soft_wrap=True, highlight=False, markup=False)

    def show_table(self, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Show a table; columns of numbers are aligned on the right."""
        if self.as_json:
            return
        rows = list(rows)
        table = Table(header_style="bold", box=None, padding=(0, 1), show_header=any(names))
        for i, name in enumerate(names):
            is_numeric = all(row[i][:1] in "0123456789-–" and len(row[i]) < 30 for row in rows)
            justify: Any = "right" if is_numeric else "left"
            table.add_column(Text(name), justify=justify, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        self._stdout.print(table, highlight=False)

    def result(self, data: Any) -> None:
        """Write the result as JSON, with ``--json``."""
        if self.as_json:
            text = json.dumps(to_json(data), indent=2, allow_nan=False, ensure_ascii=False)
            sys.stdout.write(f"{text}\n")

    def warn(self, message: str) -> None:
        """Show a warning, each only once."""
        if not self.quiet and message not in self._warnings:
            self._warnings.add(message)
            self._print_line("Note:", "yellow", message)

    def fail(self, message: str, kind: str) -> None:
        """Show why a command failed."""
        self._print_line("Error:", "bold red", message)
        self.result({"error": {"kind": kind, "message": message}})

    def _print_line(self, label: str, style: str, message: str) -> None:
        text = Text.assemble((label, style), " ", message)
        self._stderr.print(text, soft_wrap=True, highlight=False)

    def show_traceback(self) -> None:
        """Show the traceback of the current exception."""
        self._stderr.print_exception(width=_WIDTH)

    def wrote(self, path: Path, note: str, **facts: Any) -> None:
        """Say that a file was written, and give facts as the result."""
        self.say(f"Wrote {path}{note}", style="green")
        self.result({"output": path, **facts})

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show the progress that the work inside reports: bars on a terminal, else lines."""
        from rich.progress import Progress

        bars = Progress(console=self._stderr, transient=True, disable=not self.is_watched)
        tasks: dict[str, Any] = {}
        last_line = monotonic()

        def show(title: str, completed: int, total: int) -> None:
            nonlocal last_line
            if title not in tasks:
                tasks[title] = bars.add_task(title, total=total)
            bars.update(tasks[title], completed=completed, total=total)
            if bars.disable and not self.quiet and monotonic() - last_line >= _SECONDS_PER_LINE:
                last_line = monotonic()
                line = f"{title}: {completed / total:.0%}"
                self._stderr.print(line, highlight=False, markup=False)

        with bars, listening(show):
            yield


def to_json(value: Any) -> Any:
    """Return a value in JSON's types; NaN and infinity become null."""
    if is_dataclass(value) and not isinstance(value, type):
        return to_json(asdict(value))
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if hasattr(value, "to_dict"):  # DataFrame
        return to_json(value.to_dict("records"))
    if hasattr(value, "tolist"):  # array, number of NumPy
        return to_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (int, float, str)) else str(value)
