"""``lifemix predict``: survival, incidence and quantiles for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SettingError
from .options import Data, FromDisk, Model, Times, parse_numbers
from .output import Screen, shown_number
from .paths import TABLES, check_model_path, check_output, check_table_path
from .table_options import FileOptions, TableOptions
from .time_units import TimeList

if TYPE_CHECKING:
    import pandas as pd

    from .model_file import SavedModel

__all__ = ["predict"]

_BLOCK = 20_000  # rows predicted at once, so that long tables need little memory
_SHOWN = 20
_MOST_COLUMNS = 8  # that can be read beside each other


def predict(
    screen: Screen,
    model: Model,
    data: Data,
    table: FileOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write: .csv, .tsv or .parquet. Default: the screen."
        ),
    ] = None,
    times: Times = None,
    quantiles: Annotated[
        list[str] | None,
        typer.Option(help="Quantiles of the time besides the median, such as 0.1,0.9."),
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="Put an apostrophe before texts that begin with = + - @, which a spreadsheet would run as formulas.",
        ),
    ] = False,
    from_disk: FromDisk = False,
) -> None:
    """Predict survival for the rows of a table.

    One row for each row of the table: the probability of no event by each time, with several event types also the
    probability of each type by then, and the median time to the first event. A model of start-stop rows follows the
    rows of each subject, where the table has its start, stop and identifier: one row for each subject.

    [bold]lifemix predict model.safetensors new.csv --times 365,730 -o predictions.csv[/]
    """
    at = TimeList.parse(times)
    levels = parse_numbers(quantiles, "--quantiles", 0, 1)
    check_model_path(model)
    if not (from_disk and data.is_dir()):
        check_table_path(data)
    if output is not None:
        check_output(output, TABLES, (model, data))
    if from_disk:
        if output is None or escape_formulas:
            raise SettingError(
                "--from-disk needs a file: add -o predictions.parquet, without --escape-formulas."
            )
        from .from_disk import predict_from_disk

        predict_from_disk(screen, model, data, table, at, levels, output)
        return
    result = _predict_table(screen, model, data, table, at, levels)
    if escape_formulas:
        result = _without_formulas(result)
    if output is None:
        _show(screen, result)
        screen.result(result.to_dict("records"))
        return
    from .read_table import write_table

    write_table(result, output)
    screen.wrote(output, f": {len(result):,} rows, columns {', '.join(result.columns)}.")
    screen.result({"output": str(output), "rows": len(result), "columns": list(result.columns)})


def _predict_table(
    screen: Screen,
    model: Path,
    data: Path,
    given: TableOptions,
    at: TimeList,
    quantiles: list[float],
) -> pd.DataFrame:
    import pandas as pd

    from ..scoring import predicted_columns
    from .model_file import open_model
    from .predict_paths import predict_subjects
    from .read_table import read_table
    from .table_options import check_columns
    from .visits import visits_to_predict

    saved = open_model(model)
    options = saved.options.override(given)
    table = read_table(data, options)
    if given.id is not None:
        check_columns(list(table.frame.columns), [("--id", given.id)])
    times = at.within(options.time_unit) or saved.horizons
    if "histories" in saved.metadata:
        from .predict_histories import predict_histories

        return predict_histories(screen, saved, table, options, times)
    table, options = visits_to_predict(screen, table, options)
    X = saved.covariates(table, screen, options.apart)
    followed = predict_subjects(screen, saved, table.frame, X, options, times, quantiles)
    if followed is not None:
        _warn_beyond(screen, saved, times, followed)
        return followed
    blocks = []
    with screen.bar("predicting", len(X)) as advance:
        for start in range(0, len(X), _BLOCK):
            block = X.iloc[start : start + _BLOCK]
            blocks.append(
                predicted_columns(saved.model, block, times, saved.event_names, quantiles)
            )
            advance(len(blocks[-1]))
    subjects = _subjects(table.frame, options)
    result = pd.concat([subjects, pd.concat(blocks, ignore_index=True)], axis=1)
    _warn_beyond(screen, saved, times, result)
    return result


def _subjects(frame: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return the column that identifies the rows: the identifier, or the row number from 1."""
    import pandas as pd

    if options.id is not None and options.id in frame.columns:
        return frame[[options.id]].reset_index(drop=True)
    return pd.DataFrame({"row": range(1, len(frame) + 1)})


def _warn_beyond(
    screen: Screen, saved: SavedModel, times: list[float], result: pd.DataFrame
) -> None:
    """Warn of predictions beyond the last time of the training data."""
    last = float(saved.model.training_target_.time.max())
    far = [t for t in times if t > last]
    if far:
        screen.warn(
            f"times beyond the last training time, {last:g}, are extrapolated: {', '.join(f'{t:g}' for t in far)}."
        )
    beyond = int((result["median"] > last).sum()) if "median" in result else 0
    if beyond:
        screen.warn(
            f"{beyond:,} of {len(result):,} medians lie beyond the last training time, {last:g}: extrapolated."
        )


def _without_formulas(result: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which no text, names of columns included, begins like a formula of a spreadsheet."""

    def plain(value: Any) -> Any:
        return (
            f"'{value}"
            if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
            else value
        )

    texts = {
        name: result[name].map(plain)
        for name in result.columns
        if result[name].dtype.kind not in "fi"
    }
    return result.assign(**texts).rename(columns=plain)


def _show(screen: Screen, result: pd.DataFrame) -> None:
    """Show the first rows; where there are many columns, survival and the incidence of each event apart."""
    first, *names = result.columns
    parts: dict[str, list[str]] = {}
    for name in names:
        curve = name.startswith(("survival_", "incidence_"))
        parts.setdefault(name.rsplit("_", 1)[0] if curve else "", []).append(name)
    for title, part in ({"": names} if len(names) <= _MOST_COLUMNS else parts).items():
        _show_part(screen, title, result[[first, *part]])
    if len(result) > _SHOWN:
        screen.say(
            f"  ... {len(result) - _SHOWN:,} more rows; -o predictions.csv writes all of them."
        )


def _show_part(screen: Screen, title: str, result: pd.DataFrame) -> None:
    from rich.markup import escape

    if title:
        screen.show(f"\n[bold]{escape(title)}[/]")
        heads = [name.removeprefix(f"{title}_") for name in result.columns[1:]]
    else:
        heads = [
            "\n".join(name.rsplit("_", 1)) for name in result.columns[1:]
        ]  # narrow, so that many columns fit
    table = screen.table(result.columns[0], *heads, right=range(1, len(result.columns)))
    for row in result.head(_SHOWN).itertuples(index=False):
        values = zip(result.columns[1:], row[1:], strict=True)
        table.add_row(escape(str(row[0])), *(_cell(name, value) for name, value in values))
    screen.show(table)


def _cell(name: str, value: float) -> str:
    return shown_number(value) if name.startswith(("survival", "incidence")) else f"{value:.5g}"
