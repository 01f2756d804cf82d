"""The program ``lifemix``: its commands, the options of all of them, errors and exit codes.

Exit codes: 0 success; 1 an error in the program; 2 input or options that cannot be used; 130 stopped by the user.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

import typer
from typer.core import TyperCommand

import lifemix

from ..errors import LifemixError, LifemixWarning, SettingError
from .compare import compare
from .console import Console
from .datasets import datasets
from .describe import describe
from .doctor import doctor
from .evaluate import evaluate
from .fit import fit
from .pages import calculator, report
from .predict import predict

__all__ = ["app", "command", "main"]

_COMMON_OPTIONS = {
    "json": Annotated[
        bool, typer.Option("--json", help="Write the result to stdout as JSON, and nothing else.")
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Show results and errors only.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function of options, as Typer takes it, from one of a console and options.

    A parameter whose type is a dataclass stands for one option per field.
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: dict[str, tuple[Any, Any]] = {}  # type and default
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name in groups:
            group = groups[parameter.name]
            types = get_type_hints(group, include_extras=True)
            options |= {field.name: (types[field.name], field.default) for field in fields(group)}
        else:
            options[parameter.name] = (hints[parameter.name], parameter.default)
    options |= {name: (hint, False) for name, hint in _COMMON_OPTIONS.items()}

    @wraps(function)
    def run(*, json: bool = False, quiet: bool = False, debug: bool = False, **values: Any) -> None:
        console = Console(as_json=json, quiet=quiet)
        with _errors_as_messages(console, debug), _warnings_as_notes(console):
            _refuse_overwriting(values)
            for name, group in groups.items():
                names = [field.name for field in fields(group)]
                values[name] = cast(Any, group)(**{key: values.pop(key) for key in names})
            function(console, **values)

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
            )
            for name, (hint, default) in options.items()
        ]
    )
    run.__annotations__ = {name: hint for name, (hint, _) in options.items()}
    return run


def _refuse_overwriting(values: dict[str, Any]) -> None:
    paths = [value.resolve() for value in values.values() if isinstance(value, Path)]
    if len(set(paths)) < len(paths):
        raise SettingError("an input would be overwritten. Choose another name for the output.")


@contextmanager
def _errors_as_messages(console: Console, debug: bool) -> Iterator[None]:
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise  # Typer ends quietly if nobody reads the output
    except (Exception, KeyboardInterrupt) as error:
        kind, message, code = type(error).__name__, str(error), 2
        if isinstance(error, KeyboardInterrupt):
            kind, message, code = "stopped", "stopped.", 130
        elif isinstance(error, ImportError) and not isinstance(error, LifemixError):
            message = f"{error} Run: pip install 'lifemix[tables]'"
        elif not isinstance(error, LifemixError):
            message, code = f"something went wrong inside lifemix: {kind}: {error}. ", 1
            message += "Run again with --debug to see where, and report it."
        if debug:
            console.show_traceback()
        console.fail(message, kind)
        raise typer.Exit(code) from None


@contextmanager
def _warnings_as_notes(console: Console) -> Iterator[None]:
    """Show the package's own warnings as notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", LifemixWarning)
        warnings.showwarning = lambda message, *_, **__: console.warn(str(message))
        yield


class _Command(TyperCommand):
    """A command that writes errors of usage as JSON, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        console = Console(as_json="--json" in args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if hasattr(error, "format_message"):
                console.result({"error": {"kind": "usage", "message": error.format_message()}})
            raise


app = typer.Typer(
    name="lifemix",
    help="Survival curves from a table: Deep Survival Machines for censored data with competing risks.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _function in (fit, predict, evaluate, compare, describe, report, calculator, doctor, datasets):
    app.command(_function.__name__, cls=_Command, no_args_is_help=_function is not datasets)(
        command(_function)
    )


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"lifemix {lifemix.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program."""
    app()
