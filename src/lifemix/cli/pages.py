"""The pages about a model: its report and its calculator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from rich.markup import escape

from ..files import atomic_write
from .opening import SavedModel
from .screen import Screen

__all__ = ["write_calculator_page", "write_report_page"]


def write_report_page(
    screen: Screen,
    saved: SavedModel,
    model_file: Path,
    X: pd.DataFrame,
    y: Any,
    output: Path,
    times: list[float],
    seed: int,
) -> None:
    """Write the report on a model and rows with outcomes."""
    from ..report.model_report import write_report

    screen.say(f"Writing the report on {len(X):,} rows ...")
    with atomic_write(output) as partial:
        write_report(
            saved.model,
            X,
            y,
            partial,
            time_unit=saved.roles.time_unit or None,
            event_names=saved.events,
            horizons=times or None,
            random_state=seed,
            model_file=model_file,
        )
    _done(screen, output)


def write_calculator_page(
    screen: Screen, saved: SavedModel, output: Path, times: list[float], title: str | None, unit: str | None
) -> None:
    """Write the calculator of a model."""
    from ..report.calculator import write_calculator

    with atomic_write(output) as partial:
        write_calculator(
            saved.model,
            partial,
            horizons=times or None,
            title=title,
            time_unit=unit or saved.roles.time_unit or None,
            event_names=dict(enumerate(saved.events, 1)),
        )
    _done(screen, output)


def _done(screen: Screen, output: Path) -> None:
    size = output.stat().st_size
    screen.say(f"[green]Wrote {escape(str(output))}[/] ({size / 1e6:.1f} MB); open it in a browser.")
    screen.result({"output": str(output), "bytes": size})
