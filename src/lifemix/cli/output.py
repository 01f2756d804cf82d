"""What a command writes: messages, results, warnings and errors, each where it belongs.

Messages and results go to stdout; warnings, errors and progress to stderr. ``quiet`` leaves out messages, warnings and
progress; ``json`` leaves stdout to one JSON document.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Screen", "at_times", "plain", "settings_text", "shown_number"]

_SECONDS_PER_LINE = 10.0  # of progress, where no bar can be drawn
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

    def say(self, thing: Any = "", *, markup: bool = True) -> None:
        """Show a message: what is being done and how the input was understood."""
        if not self.quiet:
            self.show(thing, markup=markup)

    def show(self, thing: Any, *, markup: bool = True) -> None:
        """Show a result, with ``--quiet`` too."""
        if not self.as_json:
            self._out.print(thing, soft_wrap=isinstance(thing, str), highlight=False, markup=markup)

    def result(self, data: Any) -> None:
        """Write the result as JSON, with ``--json``."""
        if self.as_json:
            sys.stdout.write(
                json.dumps(plain(data), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
            )

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
        """Yield a function to call with how much was just done: a bar where someone is watching, else lines."""
        if not self.progress:
            yield self.lines(title, total)
            return
        from rich.progress import Progress

        with Progress(console=self._err, transient=True) as progress:
            task = progress.add_task(title, total=total)
            yield lambda done: progress.advance(task, done)

    def lines(self, title: str, total: int, *, share: bool = False) -> Callable[[int], None]:
        """Return a function that writes a line to stderr every few seconds; none with ``quiet``.

        What is done appears as a number or as a share of the total.
        """
        done, start = 0, monotonic()
        last = start

        def advance(more: int) -> None:
            nonlocal done, last
            done += more
            now = monotonic()
            if not self.quiet and now - last >= _SECONDS_PER_LINE:
                last = now
                far = f"{done / total:.0%}" if share else f"{done:,} of {total:,}"
                left = f", about {(now - start) * (total - done) / done:.0f} s left" if done else ""
                self._err.print(f"{title}: {far}{left}", highlight=False, markup=False)

        return advance

    @contextmanager
    def follow(self) -> Iterator[None]:
        """Show how far the work inside is, as it tells: a bar with the time left where someone is watching, or lines.

        The work tells by ``lifemix.progress``.
        """
        from ..progress import listening

        if not self.progress:
            with listening(self._lines_of_each()):
                yield
            return
        from rich.progress import Progress, TaskID

        tasks: dict[str, TaskID] = {}
        with Progress(console=self._err, transient=True) as progress:

            def move(title: str, done: int, total: int) -> None:
                if title not in tasks:
                    tasks[title] = progress.add_task(title, total=total)
                progress.update(tasks[title], completed=done, total=total)

            with listening(move):
                yield

    def _lines_of_each(self) -> Callable[[str, int, int], None]:
        known: dict[str, tuple[Callable[[int], None], int]] = {}

        def tell(title: str, done: int, total: int) -> None:
            advance, before = known.get(title) or (self.lines(title, total, share=True), 0)
            advance(done - before)
            known[title] = (advance, done)

        return tell

    def note(self, line: str) -> None:
        """Write a line of progress to stderr; none with ``quiet``."""
        if not self.quiet:
            self._err.print(line, highlight=False, markup=False)

    def wrote(self, path: Path, note: str) -> None:
        """Say that a file was written."""
        from rich.markup import escape

        self.say(f"[green]Wrote {escape(str(path))}[/]{escape(note)}")

    def wrote_page(self, path: Path) -> None:
        """Say that a page was written, and give its size as the result."""
        size = path.stat().st_size
        self.wrote(path, f" ({size / 1e6:.1f} MB); open it in a browser.")
        self.result({"output": str(path), "bytes": size})

    def trace(self) -> None:
        """Show the traceback of the current exception."""
        self._err.print_exception(width=_WIDTH)

    def table(self, *columns: str, right: Iterable[int] = ()) -> Table:
        """Return an empty table in the style of all of them; ``right`` are the columns of numbers."""
        from rich.markup import escape
        from rich.table import Table

        table = Table(header_style="bold", box=None, padding=(0, 1))
        numbers = set(right)
        for place, name in enumerate(columns):
            table.add_column(
                escape(name), justify="right" if place in numbers else "left", overflow="fold"
            )
        return table


def _console(stderr: bool) -> Console:
    from rich.console import Console  # not at the top: it would slow down --help

    class Patient(Console):
        """A console whose reader may go: the work goes on without it."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())

    return Patient(stderr=stderr, width=None if Console(stderr=stderr).is_terminal else _WIDTH)


def plain(value: Any) -> Any:
    """Return a value in JSON's types; NaN and infinity become null."""
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


def shown_number(value: float | None, digits: int = 3) -> str:
    """Return a number as text; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def at_times(times: Iterable[float], unit: str) -> str:
    """Return times as a list with their unit: ``12, 24 months``."""
    return ", ".join(f"{time:g}" for time in times) + (f" {unit}" if unit else "")


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the settings of a model in one line."""
    words = {
        "primitive": "distribution",
        "k": "components",
        "hidden": "hidden layers",
        "n_members": "members",
    }
    order = [
        *(name for name in words if name in settings),
        *(name for name in settings if name not in words),
    ]
    shown = []
    for name in order:
        value = settings[name]
        text = (
            ("none (linear)" if not value else ", ".join(map(str, value)))
            if name == "hidden"
            else str(value)
        )
        shown.append(f"{words.get(name, name.replace('_', ' '))} {text}")
    return "; ".join(shown) or "defaults"
