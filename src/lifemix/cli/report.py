"""``lifemix report``: a model and its quality as one page."""

from __future__ import annotations

from .options import Data, Model, Page, Seed, Times
from .output import Screen
from .paths import PAGES, check_model_path, check_output, check_table_path
from .table_options import OutcomeOptions
from .time_units import TimeList

__all__ = ["report"]


def report(
    screen: Screen,
    model: Model,
    data: Data,
    output: Page,
    table: OutcomeOptions,
    times: Times = None,
    seed: Seed = 0,
) -> None:
    """Write a page about a model: data, settings, quality, calibration, curves.

    [bold]lifemix report model.safetensors test.csv -o report.html[/]
    """
    at = TimeList.parse(times)
    check_model_path(model)
    check_table_path(data)
    check_output(output, PAGES, (model, data))
    from ..files import atomic_write
    from ..report import write_report
    from .model_file import open_outcomes

    saved, X, y = open_outcomes(screen, model, data, table)
    screen.say(f"Writing the report on {len(X):,} rows ...")
    with atomic_write(output) as partial:
        write_report(
            saved.model,
            X.frame,
            y,
            partial,
            time_unit=saved.options.time_unit or None,
            event_names=saved.event_names,
            horizons=at.within(saved.options.time_unit) or saved.horizons,
            random_state=seed,
            model_file=model,
        )
    screen.wrote_page(output)
