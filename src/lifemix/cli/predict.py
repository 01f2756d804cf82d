"""``lifemix predict``: survival, incidence and quantiles for the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SettingError
from ..progress import report_progress
from .console import Console
from .options import (
    Data,
    FromDisk,
    ModelFilePath,
    RowOptions,
    TableOptions,
    TableOutput,
    Times,
    parse_times,
    refuse_missing,
)

if TYPE_CHECKING:
    import pandas as pd

    from .model_file import ModelFile

__all__ = ["predict"]

_BLOCK = 20_000  # rows predicted at once, so that long tables need little memory
_MAX_ROWS, _MAX_COLUMNS = 20, 5  # of a table on the screen
_NO_END = 1e300  # of the last visit in a table without the end of observation


def predict(
    console: Console,
    model: ModelFilePath,
    data: Data,
    table: RowOptions,
    output: TableOutput = None,
    times: Times = None,
    quantiles: Annotated[
        list[str] | None,
        typer.Option(help="Quantiles of the time besides the median, such as 0.1,0.9."),
    ] = None,
    landmark: Annotated[
        str | None,
        typer.Option(
            help="Predict given survival to this time, such as 3y, from what is known then. --times count from the "
            "origin."
        ),
    ] = None,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend", help="Along start-stop rows: keep the last row of a subject beyond its end."
        ),
    ] = False,
    from_disk: FromDisk = False,
) -> None:
    """Predict survival for the rows of a table.

    One row for each row of the table: the probability of no event by each time, with several event types also the
    probability of each type by then, and the median time to the first event. A model of start-stop rows follows the
    rows of each subject, if the table has its start, stop and identifier: one row for each subject.

    [bold]lifemix predict model.safetensors new.csv --times 365,730 -o predictions.csv[/]
    """
    from ..streaming import write_predictions
    from .model_file import open_model, table_source
    from .read_table import read_table, write_table

    saved = open_model(model, table)
    unit, at = saved.options.unit, saved.times(times)
    levels = parse_times(quantiles, None, "--quantiles")
    if from_disk:
        if output is None:
            raise SettingError("--from-disk needs a file: add -o predictions.parquet.")
        source = table_source(data, TableOptions(missing=saved.options.missing), None, saved)
        n_rows = write_predictions(saved.model, source, output, at, levels)
        console.wrote(output, f": {n_rows:,} rows.", rows=n_rows)
        return
    frame = read_table(data, saved.options)
    if table.id is not None:
        refuse_missing(table.id, "--id", list(frame.columns))
    frame = _with_intervals(console, saved.with_covariates(console, frame, data.name), saved)
    if landmark is not None:
        start = parse_times([landmark], unit, "--landmark")[0]
        result = _predict_at_landmark(console, saved, frame, at, levels, start)
    elif _has_intervals(frame, saved):
        result = _predict_paths(console, saved, frame, at, extend)
    else:
        result = _predict_rows(console, saved, frame, at, levels)
    _warn_of_extrapolation(console, saved, at, result)
    if output is None:
        _show(console, result)
        console.result(result)
        return
    write_table(result, output)
    console.wrote(output, f": {len(result):,} rows.", rows=len(result))


def _has_intervals(frame: pd.DataFrame, saved: ModelFile) -> bool:
    options = saved.options
    columns = {options.start, options.time, options.id}
    return options.has_intervals and columns <= set(frame.columns)


def _with_intervals(console: Console, frame: pd.DataFrame, saved: ModelFile) -> pd.DataFrame:
    """Return a table whose columns of intervals are numbers; visits become intervals."""
    from .outcome import intervals_of_visits, read_times

    options = saved.options
    if options.visit in frame and options.id in frame:
        if options.time not in frame:
            console.say(
                f"The table has no column {options.time!r}: the last visit of each subject holds on."
            )
            frame = frame.assign(**{str(options.time): _NO_END})
        frame = frame.assign(**{str(options.event): 0})
    if not _has_intervals(frame, saved):
        return frame
    columns = [str(options.start), str(options.time)]
    frame = frame.assign(**{column: read_times(frame, column, options) for column in columns})
    frame = frame.fillna({columns[0]: 0.0})
    return intervals_of_visits(frame, options) if options.visit else frame


def _predict_rows(
    console: Console,
    saved: ModelFile,
    frame: pd.DataFrame,
    times: list[float],
    quantiles: list[float],
    landmark: float | None = None,
) -> pd.DataFrame:
    """Return predictions for each row, after the column that identifies it."""
    import pandas as pd

    from ..scoring import predicted_columns

    columns, blocks = saved.columns, []
    with console.progress():
        for start in range(0, len(frame), _BLOCK):
            rows = frame[columns].iloc[start : start + _BLOCK]
            model, names = saved.model, saved.event_names
            blocks.append(predicted_columns(model, rows, times, names, quantiles, landmark))
            report_progress("predicting", start + len(rows), len(frame))
    name = saved.options.id
    identifier: Any = (
        frame[name] if name in frame else pd.Series(range(1, len(frame) + 1), name="row")
    )
    return pd.concat(
        [identifier.reset_index(drop=True), pd.concat(blocks, ignore_index=True)], axis=1
    )


def _predict_at_landmark(
    console: Console,
    saved: ModelFile,
    frame: pd.DataFrame,
    times: list[float],
    quantiles: list[float],
    landmark: float,
) -> pd.DataFrame:
    """Return predictions given survival to a landmark, from the rows that hold there."""
    if min(times) <= landmark:
        raise SettingError(
            f"--times must lie after --landmark {landmark:g}; got {', '.join(f'{t:g}' for t in times)}. Times count "
            "from the origin."
        )
    if _has_intervals(frame, saved):
        holds = (frame[saved.options.start] <= landmark) & (landmark < frame[saved.options.time])
        frame = frame[holds]
    if frame.empty:
        raise SettingError(
            f"--landmark {landmark:g} lies in no row of the table. Use an earlier one."
        )
    console.say(f"Given survival to {landmark:g}, from the {len(frame):,} rows that hold there.")
    return _predict_rows(console, saved, frame, times, quantiles, landmark)


def _predict_paths(
    console: Console,
    saved: ModelFile,
    frame: pd.DataFrame,
    times: list[float],
    extend: bool,
) -> pd.DataFrame:
    """Return one row per subject: survival and incidences along its rows."""
    import warnings

    import numpy as np
    import pandas as pd

    from ..errors import LifemixWarning
    from ..scoring import predicted_columns

    options, model = saved.options, saved.model
    subjects = frame[options.id].unique()
    console.say(
        f"Along the rows of {len(subjects):,} subjects, from the first start of each; empty beyond the last end, "
        "unless --extend keeps the last row."
    )
    X = frame[saved.columns]
    intervals = X, frame[options.start], frame[options.time], frame[options.id], times
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # the message above says it
        curves = [model.predict_path(*intervals, extend=extend)]
        for event in range(1, model.n_events_ + 1) if model.n_events_ > 1 else ():
            curves.append(model.predict_path(*intervals, event=event, extend=extend))
    names = predicted_columns(model, X[:1], times, saved.event_names).columns.drop("median")
    paths = pd.DataFrame(np.hstack(curves), columns=names)
    paths.insert(0, str(options.id), subjects)
    return paths


def _warn_of_extrapolation(
    console: Console, saved: ModelFile, times: list[float], result: pd.DataFrame
) -> None:
    last = float(saved.model.training_target_.time.max())
    beyond = ", ".join(f"{t:g}" for t in times if t > last)
    n_medians = int((result["median"] > last).sum()) if "median" in result else 0
    if beyond or n_medians:
        console.warn(
            f"extrapolated beyond the last training time, {last:g}: times {beyond or 'none'}; {n_medians:,} of "
            f"{len(result):,} medians."
        )


def _show(console: Console, result: pd.DataFrame) -> None:
    """Show the first rows; many columns in several tables."""
    columns = list(result.columns)
    for first in range(1, len(columns), _MAX_COLUMNS):
        names = [columns[0], *columns[first : first + _MAX_COLUMNS]]
        rows = result[names].head(_MAX_ROWS).itertuples(index=False)
        console.show_table(names, [(str(key), *map("{:.4g}".format, row)) for key, *row in rows])
    if len(result) > _MAX_ROWS:
        console.say(
            f"  ... {len(result) - _MAX_ROWS:,} more rows; -o predictions.csv writes all of them."
        )
