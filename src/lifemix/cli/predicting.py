"""The work of ``lifemix predict``: rows in blocks, so that long tables need little memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.markup import escape

from .opening import SavedModel, open_model, open_table
from .quality import event_horizons
from .roles import Roles, check_columns
from .screen import Screen
from .showing import number
from .tables import TableFile, write_table

__all__ = ["run_predict"]

_BLOCK = 20_000
_SHOWN = 20


def run_predict(
    screen: Screen,
    model: Path,
    data: Path,
    output: Path | None,
    times: list[float],
    quantiles: list[float],
    subject: str | None,
    missing: Sequence[str],
    encoding: str | None,
) -> None:
    """Predict for the rows of a table; write, or show."""
    saved = open_model(model)
    roles = saved.roles.override(id=subject, missing=tuple(missing))
    table = open_table(data, roles, encoding)
    if subject is not None:
        check_columns(list(table.frame.columns), [("--id", subject)])
    X = saved.take(table, screen)
    times = times or event_horizons(saved.model.training_target_)
    blocks = []
    with screen.bar("predicting", len(X)) as advance:
        for start in range(0, len(X), _BLOCK):
            blocks.append(_predict(saved, X.iloc[start : start + _BLOCK], times, quantiles))
            advance(len(blocks[-1]))
    result = pd.concat([_names(table, roles), pd.concat(blocks, ignore_index=True)], axis=1)
    _warn_beyond(screen, saved, times, result)
    if output is None:
        _show(screen, result)
        screen.result(result.to_dict("records"))
        return
    write_table(result, output)
    screen.say(
        f"[green]Wrote {escape(str(output))}[/]: {len(result):,} rows, columns {escape(', '.join(result.columns))}."
    )
    screen.result({"output": str(output), "rows": len(result), "columns": list(result.columns)})


def _names(table: TableFile, roles: Roles) -> pd.DataFrame:
    """Return the column that tells the rows apart: the identifier, or the row's number from 1."""
    if roles.id is not None and roles.id in table.frame.columns:
        return table.frame[[roles.id]].reset_index(drop=True)
    return pd.DataFrame({"row": np.arange(1, len(table.frame) + 1)})


def _predict(saved: SavedModel, X: pd.DataFrame, times: list[float], quantiles: list[float]) -> pd.DataFrame:
    law: Any = saved.model.predict_distribution(X)
    columns: dict[str, Any] = {}
    survival = law.survival(times)
    columns |= {f"survival_{t:.10g}": survival[:, i] for i, t in enumerate(times)}
    if saved.model.n_events_ > 1:
        for event, name in enumerate(saved.events, 1):
            incidence = law.cumulative_incidence(times, event)
            columns |= {f"incidence_{_word(name)}_{t:.10g}": incidence[:, i] for i, t in enumerate(times)}
    columns["median"] = law.median()
    if quantiles:
        values = law.quantile(quantiles)
        columns |= {f"quantile_{q:g}": values[:, i] for i, q in enumerate(quantiles)}
    return pd.DataFrame(columns)


def _word(name: str) -> str:
    """Return the name of an event without spaces."""
    return "_".join(name.removeprefix("event ").split())


def _warn_beyond(screen: Screen, saved: SavedModel, times: list[float], result: pd.DataFrame) -> None:
    """Say where the model speaks about times that no training row has seen."""
    last = float(np.nanmax(saved.model.training_target_.time))
    far = [t for t in times if t > last]
    if far:
        screen.warn(
            f"times beyond the training rows' last, {last:g}, are extrapolated: {', '.join(f'{t:g}' for t in far)}."
        )
    beyond = int((result["median"] > last).sum())
    if beyond:
        screen.warn(
            f"{beyond:,} of {len(result):,} medians lie beyond the training rows' last time, {last:g}: extrapolated."
        )


def _show(screen: Screen, result: pd.DataFrame) -> None:
    table = screen.table("", *result.columns, right=tuple(range(1, len(result.columns))))
    for row in result.head(_SHOWN).itertuples(index=False):
        table.add_row(
            escape(str(row[0])), *(_cell(name, value) for name, value in zip(result.columns[1:], row[1:], strict=True))
        )
    screen.show(table)
    if len(result) > _SHOWN:
        screen.say(f"  ... {len(result) - _SHOWN:,} more rows; -o predictions.csv writes them all.")


def _cell(name: str, value: float) -> str:
    return number(value) if name.startswith(("survival", "incidence")) else f"{value:.5g}"
