"""``lifemix predict``: a model's survival, incidence and quantiles for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .files import check_model, check_output, check_table
from .formats import TABLES
from .options import Data, Encoding, Id, Missing, Model, Times, parse_numbers
from .screen import Screen

__all__ = ["predict"]


def predict(
    screen: Screen,
    model: Model,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write: .csv, .tsv or .parquet. Default: the screen.")
    ] = None,
    times: Times = None,
    quantiles: Annotated[
        list[str] | None, typer.Option(help="Quantiles of the time besides the median, say 0.1,0.9.")
    ] = None,
    subject: Id = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Predict survival for the rows of a table.

    One row for each row of the table: the probability of no event by each time, with several kinds of event also the
    probability of each by then, and the median time to the first.

    [bold]lifemix predict model.safetensors new.csv --times 365,730 -o predictions.csv[/]
    """
    at = parse_numbers(times, "--times", 0, 1e300)
    levels = parse_numbers(quantiles, "--quantiles", 0, 1)
    check_model(model)
    check_table(data)
    if output is not None:
        check_output(output, TABLES, (model, data))
    from .predicting import run_predict

    run_predict(screen, model, data, output, at, levels, subject, missing or [], encoding)
