"""The program ``lifemix``: its commands in the order of their use."""

from __future__ import annotations

from typing import Annotated

import typer

import lifemix

from .calculator import calculator
from .command import command
from .compare import compare
from .datasets import datasets
from .describe import describe
from .doctor import doctor
from .evaluate import evaluate
from .fit import fit
from .predict import predict
from .report import report

__all__ = ["app", "main"]

app = typer.Typer(
    name="lifemix",
    help="Survival curves from a table: Deep Survival Machines for censored data with competing risks.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _function in (fit, predict, evaluate, compare, describe, report, calculator, doctor, datasets):
    app.command(_function.__name__, no_args_is_help=_function is not datasets)(command(_function))


def _show_version(asked: bool) -> None:
    if asked:
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
