"""The work of ``lifemix datasets``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rich.markup import escape

from .. import datasets
from ..errors import MissingExtraError
from .screen import Screen
from .tables import write_table

__all__ = ["run_datasets"]


def run_datasets(screen: Screen, loaders: Mapping[str, str], output: Path | None) -> None:
    """List data sets, describe one, or write it."""
    found: dict[str, Any] = {}
    for name, loader in loaders.items():
        try:
            found[name] = getattr(datasets, loader)()
        except MissingExtraError as error:
            if output is not None or len(loaders) == 1:
                raise
            screen.warn(str(error))
    facts = [_facts(name, data) for name, data in found.items()]
    if output is not None:
        data = next(iter(found.values()))
        write_table(_table(data), output)
        screen.say(
            f"[green]Wrote {escape(str(output))}[/]: {len(data.X):,} rows, time in column time, event in column event."
        )
        screen.say(f"Next: lifemix fit {escape(str(output))} --time time --event event -o model.safetensors")
    elif len(facts) == 1:
        _show_one(screen, next(iter(found.values())))
    else:
        _show_all(screen, facts)
    screen.result(facts[0] | ({"output": str(output)} if output else {}) if len(loaders) == 1 else facts)


def _facts(name: str, data: Any) -> dict[str, Any]:
    return {
        "name": name,
        "rows": len(data.X),
        "covariates": data.X.shape[1],
        "events": {data.event_names[code]: data.counts[code] for code in data.event_names},
        "censored": data.counts[0],
        "time_unit": data.time_unit,
        "licence": data.licence,
        "source": data.source,
    }


def _table(data: Any) -> pd.DataFrame:
    names = [field for field in data.y.dtype.names if field not in data.X.columns]
    return pd.concat([data.X, pd.DataFrame({name: data.y[name] for name in names})], axis=1)


def _show_all(screen: Screen, facts: list[dict[str, Any]]) -> None:
    table = screen.table("Data sets", "name", "rows", "covariates", "events", "censored", "time in", right=(1, 2, 4))
    for fact in facts:
        events = ", ".join(f"{name} {count:,}" for name, count in fact["events"].items())
        table.add_row(
            fact["name"],
            f"{fact['rows']:,}",
            str(fact["covariates"]),
            events,
            f"{fact['censored']:,}",
            fact["time_unit"],
        )
    screen.show(table)
    screen.say("\nWrite one as a table: lifemix datasets support -o support.csv")


def _show_one(screen: Screen, data: Any) -> None:
    screen.show(repr(data)[1:-1])
    screen.show(f"{data.description}\nSource: {data.source}.\nCite: {data.citation}\nLicence: {data.licence}.")
    table = screen.table("\nCovariates", "name", "meaning")
    for name, meaning in data.features.items():
        table.add_row(name, meaning)
    screen.show(table)
