"""What a command shows: talk, results, warnings and errors, each where it belongs.

Talk and results go to stdout; warnings, errors and progress to stderr. ``quiet`` leaves out talk, warnings and
progress; ``json`` leaves stdout to one JSON document.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Screen", "plain"]

_WIDTH = 120  # of a pipe or a file, which has none of its own


class Screen:
    """Where a command's output goes."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self._out, self._err = _console(stderr=False), _console(stderr=True)
        self._warned: set[str] = set()

    @property
    def progress(self) -> bool:
        """Whether to draw progress bars: only where someone is watching."""
        return not self.quiet and self._err.is_terminal

    def say(self, *things: Any) -> None:
        """Show talk: what is being done and what was understood."""
        if not self.quiet and not self.as_json:
            self._out.print(*things, soft_wrap=all(isinstance(thing, str) for thing in things), highlight=False)

    def show(self, *things: Any) -> None:
        """Show a result, also where the user asked for quiet."""
        if not self.as_json:
            self._out.print(*things, soft_wrap=all(isinstance(thing, str) for thing in things), highlight=False)

    def result(self, data: Any) -> None:
        """Write the result as JSON where that was asked for."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(data), indent=2, allow_nan=False, ensure_ascii=False) + "\n")

    def warn(self, message: str) -> None:
        """Show a warning, each only once."""
        if not self.quiet and message not in self._warned:
            self._warned.add(message)
            self._print_line("[yellow]Note:[/]", message)

    def fail(self, message: str, kind: str = "error") -> None:
        """Show why a command could not do its work."""
        self._print_line("[bold red]Error:[/]", message)
        self.result({"error": {"kind": kind, "message": message}})

    def _print_line(self, mark: str, message: str) -> None:
        from rich.markup import escape

        self._err.print(f"{mark} {escape(message)}", soft_wrap=True, highlight=False)

    @contextmanager
    def bar(self, title: str, total: int) -> Iterator[Callable[[int], None]]:
        """Yield a function to call with how much was just done; draws a bar where someone is watching."""
        if not self.progress:
            yield lambda done: None
            return
        from rich.progress import Progress

        with Progress(console=self._err, transient=True) as progress:
            task = progress.add_task(title, total=total)
            yield lambda done: progress.advance(task, done)

    def trace(self) -> None:
        """Show where the exception in hand came from."""
        self._err.print_exception(width=_WIDTH)

    def table(self, title: str, *columns: str, right: tuple[int, ...] = ()) -> Table:
        """Return an empty table in the style of all of them; ``right`` are the columns of numbers."""
        from rich.markup import escape
        from rich.table import Table

        table = Table(
            title=escape(title), title_justify="left", title_style="bold", header_style="bold", box=None, padding=(0, 2)
        )
        for number, name in enumerate(columns):
            table.add_column(escape(name), justify="right" if number in right else "left", overflow="fold")
        return table


def _console(stderr: bool) -> Console:
    from rich.console import Console  # not at the top: it would slow down --help

    console = Console(stderr=stderr)
    if not console.is_terminal:
        console = Console(stderr=stderr, width=_WIDTH)
    return console


def plain(value: Any) -> Any:
    """Return a value in JSON's types; what is no number (NaN, infinity) becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
