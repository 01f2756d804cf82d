"""``lifemix datasets``: the data sets of the package, as tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import MissingExtraError, SettingError
from .console import Console
from .options import TableOutput

__all__ = ["datasets"]

_LOADERS = {
    "support": "load_support",
    "metabric": "load_metabric",
    "metabric-causes": "load_metabric_causes",
    "flchain": "load_flchain",
    "ebmt": "load_ebmt",
    "synthetic": "make_synthetic",
}


def datasets(
    console: Console,
    name: Annotated[
        str | None,
        typer.Argument(
            help="One of them; without a name all are listed.",
            autocompletion=lambda: list(_LOADERS),
        ),
    ] = None,
    output: TableOutput = None,
) -> None:
    """List the data sets of the package, or write one as a table.

    [bold]lifemix datasets support -o support.csv[/]
    """
    from .. import datasets as loaders

    if output is not None and name is None:
        raise SettingError("name the data set to write: lifemix datasets NAME -o FILE.")
    if name is not None and name not in _LOADERS:
        raise SettingError(f"there is no data set {name!r}; expected one of {', '.join(_LOADERS)}.")
    facts = []
    for key in [name] if name else _LOADERS:
        try:
            data = getattr(loaders, _LOADERS[key])()
        except MissingExtraError as error:
            if name is not None:
                raise
            console.warn(str(error))
            continue
        events = {label: data.counts[code] for code, label in data.event_names.items()}
        facts.append(
            {"name": key, "rows": len(data.X), "covariates": data.X.shape[1], "events": events}
            | {"censored": data.counts[0], "time_unit": data.time_unit}
            | {"licence": data.licence, "source": data.source}
        )
    if name is None:
        names = ["name", "rows", "covariates", "censored", "time_unit", "events"]
        console.show_table(names, [[str(fact[key]).strip("{}") for key in names] for fact in facts])
    elif output is not None:
        _write(console, data, output, facts[0])
    else:
        console.show(f"{str(data)[1:-1]}\n{data.description}\nSource: {data.source}.")
        console.show(f"Cite: {data.citation}\nLicence: {data.licence}.\n")
        console.show_table(("covariate", "meaning"), data.features.items())
    if output is None:
        console.result(facts if name is None else facts[0])


def _write(console: Console, data: Any, output: Path, facts: dict[str, Any]) -> None:
    """Write a data set as a table, and say how to fit a model to it."""
    from ..preprocessing import TableData
    from .read_table import write_table

    outcome = {field: data.y[field] for field in data.y.dtype.names if field not in data.X}
    write_table(data.X.assign(**outcome), output)
    console.wrote(
        output, f": {len(data.X):,} rows, time in column time, event in column event.", **facts
    )
    # In a text file these labels look like numbers.
    codes = [
        f" --categorical {column.name}"
        for column in TableData(data.X).data
        if any(level.isdecimal() for level in column.levels)
    ]
    unit = f" --unit {data.time_unit}" if data.time_unit else ""
    console.say(
        f"Next: lifemix fit {output} --time time --event event{unit}{''.join(codes)} -o model.safetensors"
    )
