"""What every command has: ``--json``, ``--quiet``, ``--debug``, the options of a table, clear errors and exit codes.

Exit codes: 0 done; 1 an error inside the program; 2 input or options that cannot be used; 130 stopped by the user.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from ..errors import LifemixError, LifemixWarning
from .output import Screen
from .table_options import option_parameters, options_from

__all__ = ["command"]

_COMMON = {
    "json": Annotated[
        bool,
        typer.Option("--json", help="Write the result to stdout as JSON, and nothing else there."),
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Show results and errors only.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn a function of a screen and options into one of options alone, for typer.

    A parameter of type ``TableOptions`` becomes the options of a table.
    """
    hints = get_type_hints(function, include_extras=True)
    first, *own = inspect.signature(function).parameters.values()
    parameters: list[inspect.Parameter] = []
    tables: dict[str, list[str]] = {}
    for parameter in own:
        expanded = option_parameters(hints[parameter.name])
        if expanded is None:
            parameters.append(
                parameter.replace(annotation=hints[parameter.name], kind=parameter.KEYWORD_ONLY)
            )
        else:
            parameters += expanded
            tables[parameter.name] = [option.name for option in expanded]
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation
        )
        for name, annotation in _COMMON.items()
    ]

    @wraps(function)
    def run(*, json: bool = False, quiet: bool = False, debug: bool = False, **values: Any) -> None:
        for name, options in tables.items():
            values[name] = options_from(
                {option: values.pop(option) for option in options if option in values}
            )
        screen = Screen(as_json=json, quiet=quiet)
        with _errors_shown(screen, debug), _warnings_shown(screen, debug):
            function(screen, **values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


@contextmanager
def _errors_shown(screen: Screen, debug: bool) -> Iterator[None]:
    try:
        yield
    except typer.Exit:
        raise
    except LifemixError as error:
        _stop(screen, str(error), type(error).__name__, 2, debug)
    except KeyboardInterrupt:
        _stop(screen, "stopped.", "stopped", 130, debug)
    except BrokenPipeError:
        raise  # typer ends quietly where the reader has gone
    except MemoryError:
        _stop(
            screen,
            "there is not enough memory for this table. Use fewer rows or columns.",
            "MemoryError",
            1,
            debug,
        )
    except Exception as error:
        message = f"something went wrong inside lifemix: {type(error).__name__}: {error}. "
        _stop(
            screen,
            message + "Run again with --debug to see where, and report it.",
            type(error).__name__,
            1,
            debug,
        )


def _stop(screen: Screen, message: str, kind: str, code: int, debug: bool) -> None:
    if debug:
        screen.trace()
    screen.fail(message, kind)
    raise typer.Exit(code)


@contextmanager
def _warnings_shown(screen: Screen, debug: bool) -> Iterator[None]:
    """Show the package's own warnings as notes, those of other packages with ``--debug`` only."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **rest: Any) -> None:
        screen.warn(
            str(message)
            if issubclass(category, LifemixWarning)
            else f"{category.__name__}: {message}"
        )

    with warnings.catch_warnings():
        warnings.simplefilter("default" if debug else "ignore")
        warnings.simplefilter("always", LifemixWarning)
        warnings.showwarning = show
        yield
