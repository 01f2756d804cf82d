"""The two layouts of SEER, read into a table of text: one row per record, one column per field, indexed by line."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TextIO

import pandas as pd

from ..errors import CovariateError
from .seer_fields import FIELDS, RECORD_LENGTH

__all__ = ["find_columns", "looks_like_listing", "read_ascii", "read_listing"]

Positions = Mapping[str, tuple[int, int]]

_BLANK = ("", "Blank(s)")


def _open(path: str | PathLike[str]) -> TextIO:
    path = Path(path)
    return (
        gzip.open(path, "rt", encoding="latin-1")
        if path.suffix == ".gz"
        else path.open(encoding="latin-1")
    )


def _lines(path: str | PathLike[str]) -> list[str]:
    with _open(path) as file:
        lines = [line.rstrip("\r\n") for line in file]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise CovariateError(
            f"{Path(path).name} holds no records; expected a SEER file with one record per line."
        )
    return lines


def looks_like_listing(path: str | PathLike[str]) -> bool:
    """Tell a case listing, whose fields are separated by tabs or commas, from the fixed-width release."""
    with _open(path) as file:
        first = file.readline()
    return "\t" in first or "," in first


def read_ascii(
    path: str | PathLike[str],
    positions: str | PathLike[str] | Positions | None,
    names: Iterable[str],
) -> pd.DataFrame:
    """Read fields of the fixed-width release.

    Parameters
    ----------
    path : path
        The file, plain or compressed with gzip.
    positions : path or mapping or None
        The SAS program that came with the release, or ``{field: (start, width)}`` with starts counted from 1; None
        for the built-in positions, which hold for records of 362 characters.
    names : iterable of str
        The fields to read.

    Returns
    -------
    DataFrame of text
        One row per record, line numbers as index.
    """
    lines = _lines(path)
    places = _places(positions, len(lines[0]))
    absent = [name for name in names if name not in places]
    if absent:
        raise CovariateError(
            f"positions must tell where {absent} are; got {sorted(places)}. Give the SAS program of your release, or "
            "choose other covariates."
        )
    wanted = {name: places[name] for name in names}
    needed = max(start + width - 1 for start, width in wanted.values())
    short = [i for i, line in enumerate(lines, start=1) if len(line) < needed]
    if short:
        raise CovariateError(
            f"a record must have at least {needed} characters; got {len(lines[short[0] - 1])} at line {short[0]} "
            f"({len(short)} such lines). Give the SAS program of your release as positions."
        )
    text = pd.Series(lines, index=range(1, len(lines) + 1), dtype=object)
    return pd.DataFrame(
        {
            name: _clean(text.str.slice(start - 1, start - 1 + width))
            for name, (start, width) in wanted.items()
        }
    )


def _places(positions: str | PathLike[str] | Positions | None, length: int) -> Positions:
    if positions is None:
        if length != RECORD_LENGTH:
            raise CovariateError(
                f"the built-in positions are those of records with {RECORD_LENGTH} characters; got {length}. Give the "
                "SAS program of your release: positions='read.seer.research....sas'."
            )
        return {field.name: (field.start, field.width) for field in FIELDS.values()}
    if isinstance(positions, Mapping):
        return positions
    # @ 39  YEAR_DX   $char4.  /* Year of diagnosis */
    found = re.findall(
        r"@\s*(\d+)\s+(\w+)\s+(?:\$char|\$)?(\d+)\.", Path(positions).read_text(encoding="latin-1")
    )
    if not found:
        raise CovariateError(
            f"{Path(positions).name} must be a SAS program with lines such as '@ 39 YEAR_DX $char4.'; found none."
        )
    return {name.upper(): (int(start), int(width)) for start, name, width in found}


def read_listing(
    path: str | PathLike[str], columns: str | PathLike[str] | Sequence[str] | None
) -> pd.DataFrame:
    """Read a SEER*Stat case listing, tab or comma separated.

    Parameters
    ----------
    path : path
        The file, plain or compressed with gzip.
    columns : path or sequence of str or None
        For a file without names in its first line, the names or the path of its dictionary (.dic).

    Returns
    -------
    DataFrame of text
        One row per record, line numbers as index.
    """
    lines = _lines(path)
    delimiter = "\t" if "\t" in lines[0] else ","
    rows = list(csv.reader(lines, delimiter=delimiter))
    has_header = any(_same(cell, "Survival months") for cell in rows[0])
    if has_header:
        names = [cell.strip() for cell in rows[0]]
    elif columns is None:
        raise CovariateError(
            f"the first line must hold the names of the columns, 'Survival months' among them; got {rows[0][:5]}. "
            "Export with 'Variable names included', or give columns=: the names or the path of the .dic file."
        )
    else:
        names = _column_names(columns)
    first = 1 if has_header else 0
    uneven = [i for i, row in enumerate(rows[first:], start=first + 1) if len(row) != len(names)]
    if uneven:
        raise CovariateError(
            f"every line must have {len(names)} fields, one per column; got {len(rows[uneven[0] - 1])} at line "
            f"{uneven[0]} ({len(uneven)} such lines). Check the delimiter and the names of the columns."
        )
    frame = pd.DataFrame(
        rows[first:], columns=names, index=range(first + 1, len(rows) + 1), dtype=object
    )
    return frame.apply(_clean)


def _column_names(columns: str | PathLike[str] | Sequence[str]) -> list[str]:
    if not isinstance(columns, (str, PathLike)):
        return list(columns)
    names = re.findall(
        r"^Var\d+Name=(.*?)\s*$", Path(columns).read_text(encoding="latin-1"), flags=re.MULTILINE
    )
    if not names:
        raise CovariateError(
            f"{Path(columns).name} must be a SEER*Stat dictionary with lines such as 'Var1Name=Sex'; found none."
        )
    return names


def find_columns(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Return the columns of a case listing that hold these fields, or have these names; absent ones are left out."""
    found = {}
    for name in names:
        candidates = (*FIELDS[name].listing, name) if name in FIELDS else (name,)
        matches = (
            str(column)
            for wanted in candidates
            for column in frame.columns
            if _same(str(column), wanted)
        )
        column = next(matches, None)
        if column is not None:
            found[name] = column
    return found


def _same(left: str, right: str) -> bool:
    return " ".join(left.split()).casefold() == " ".join(right.split()).casefold()


def _clean(text: pd.Series[str]) -> pd.Series[str]:
    stripped = text.str.strip()
    return stripped.mask(stripped.isin(_BLANK), None)
