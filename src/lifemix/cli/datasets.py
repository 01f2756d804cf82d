"""``lifemix datasets``: the data sets of the package, as tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SettingError
from .output import Screen
from .paths import TABLES, check_output

if TYPE_CHECKING:
    import pandas as pd

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
    screen: Screen,
    name: Annotated[
        str | None,
        typer.Argument(
            help="One of them; without a name all are listed.",
            autocompletion=lambda: list(_LOADERS),
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv or .parquet.")
    ] = None,
) -> None:
    """List the data sets of the package, or write one as a table.

    [bold]lifemix datasets support -o support.csv[/]
    """
    if name is not None and name not in _LOADERS:
        raise SettingError(f"there is no data set {name!r}; expected one of {', '.join(_LOADERS)}.")
    if output is not None:
        check_output(output, TABLES)
        if name is None:
            raise SettingError("name the data set to write: lifemix datasets NAME -o FILE.")
    found = _load(screen, [name] if name else list(_LOADERS))
    facts = [_facts(each, data) for each, data in found.items()]
    if name is None:
        _show_all(screen, facts)
        screen.result(facts)
    elif output is None:
        _show_one(screen, found[name])
        screen.result(facts[0])
    else:
        _write(screen, found[name], output)
        screen.result(facts[0] | {"output": str(output)})


def _load(screen: Screen, names: list[str]) -> dict[str, Any]:
    """Return data sets by name; in a list, one that needs a package which is not installed is left out."""
    from .. import datasets as loaders
    from ..errors import MissingExtraError

    found = {}
    for name in names:
        try:
            found[name] = getattr(loaders, _LOADERS[name])()
        except MissingExtraError as error:
            if len(names) == 1:
                raise
            screen.warn(str(error))
    return found


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


def _write(screen: Screen, data: Any, output: Path) -> None:
    from .read_table import write_table

    write_table(_table(data), output)
    screen.wrote(output, f": {len(data.X):,} rows, time in column time, event in column event.")
    codes = "".join(f" --categorical {name}" for name in _numbers_as_labels(data.X))
    unit = f" --unit {data.time_unit}" if data.time_unit else ""
    screen.say(
        f"Next: lifemix fit {output} --time time --event event{unit}{codes} -o model.safetensors",
        markup=False,
    )


def _numbers_as_labels(X: pd.DataFrame) -> list[str]:
    """Return the columns of labels that look like numbers in a text file."""
    from ..preprocessing import TableData

    return [
        column.name
        for column in TableData(X).data
        if any(level.isdecimal() for level in column.levels)
    ]


def _table(data: Any) -> pd.DataFrame:
    import pandas as pd

    names = [field for field in data.y.dtype.names if field not in data.X.columns]
    return pd.concat([data.X, pd.DataFrame({name: data.y[name] for name in names})], axis=1)


def _show_all(screen: Screen, facts: list[dict[str, Any]]) -> None:
    table = screen.table(
        "name", "rows", "covariates", "events", "censored", "time in", right=(1, 2, 4)
    )
    for fact in facts:
        events = ", ".join(f"{name} {count:,}" for name, count in fact["events"].items())
        sizes = (f"{fact['rows']:,}", str(fact["covariates"]))
        table.add_row(fact["name"], *sizes, events, f"{fact['censored']:,}", fact["time_unit"])
    screen.show(table)
    screen.say("\nWrite one as a table: lifemix datasets support -o support.csv")


def _show_one(screen: Screen, data: Any) -> None:
    screen.show(repr(data)[1:-1])
    screen.show(
        f"{data.description}\nSource: {data.source}.\nCite: {data.citation}\nLicence: {data.licence}."
    )
    screen.show("\n[bold]Covariates[/]")
    table = screen.table("name", "meaning")
    for name, meaning in data.features.items():
        table.add_row(name, meaning)
    screen.show(table)
