"""SEER: the user's own export of breast cancer patients, with the cause of death."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..checks import Choice, Number, warn_user
from ..errors import CovariateError, SettingError
from ..target import make_target
from .base import Dataset

__all__ = ["load_seer"]

RECORD_LENGTH = 362  # of the ASCII releases 1973-2014 and 1973-2015

# Covariates that fit the paper's text and its table of missing values; it names only some of them.
COVARIATES = (
    "AGE_DX RACE1V SEX MAR_STAT PRIMSITE LATERAL HISTO3V BEHO3V GRADE DX_CONF REPT_SRC EOD10_SZ "
    "EOD10_EX EOD10_ND MALIGCOUNT NO_SURG SS_SURG SURGPRIF SURGSITF SURGSITE NUMNODES"
).split()
REGISTRIES = {
    "Alaska": "1529",
    "San Jose-Monterey": "1531",
    "Los Angeles": "1535",
    "Rural Georgia": "1537",
}
# Causes of death, as codes of the ASCII release and as labels of SEER*Stat.
ALIVE = ("00000", "Alive")
BREAST = ("26000", "Breast")
HEART = ("50060", "Diseases of Heart")
VESSELS = (
    *("50070", "Hypertension without Heart Disease"),
    *("50080", "Cerebrovascular Diseases"),
    *("50090", "Atherosclerosis"),
    *("50100", "Aortic Aneurysm and Dissection"),
    *("50110", "Other Diseases of Arteries, Arterioles, Capillaries"),
)
_OUTCOME = ("CODPUB", "STAT_REC", "SRV_TIME_MON")
_READ_ALWAYS = ("PUBCSNUM", "YEAR_DX", "SEQ_NUM", "REG", *_OUTCOME)
_NEEDED_IN_LISTING = ("PUBCSNUM", "YEAR_DX", "CODPUB", "SRV_TIME_MON")
_UNKNOWN_LABELS = ("Unknown", "Recode not available")


def load_seer(
    path: str | PathLike[str],
    *,
    layout: Literal["auto", "ascii", "listing"] = "auto",
    positions: Mapping[str, tuple[int, int]] | None = None,
    years: tuple[int, int] | None = (1992, 2007),
    registries: Sequence[str] | None = tuple(REGISTRIES),
    cvd: Literal["narrow", "wide"] = "narrow",
    max_months: float = 120,
    covariates: Sequence[str] | None = None,
    numeric: Sequence[str] = (),
    unknown: Literal["missing", "kept"] = "missing",
) -> Dataset:
    """Read a SEER export of breast cancer patients.

    Event 1 is death from breast cancer, event 2 death from cardiovascular disease.

    SEER requires an agreement with the National Cancer Institute and cannot be part of a package.
    The paper used the file ``BREAST.TXT`` of the old ASCII release, registries Alaska, San
    Jose-Monterey, Los Angeles and rural Georgia: 65,481 patients, 13,564 and 4,245 events. Deaths
    from other causes count as censored. The first record of each patient within the chosen years
    and registries is kept; patients of unknown survival time are left out. How many were left out,
    and why, is in ``description``.

    Parameters
    ----------
    path : path
        The file, plain or compressed with gzip.
    layout : {"auto", "ascii", "listing"}, default "auto"
        The fixed-width ASCII release, or a SEER*Stat case listing with labels (or codes); detected
        if ``"auto"``.
    positions : mapping, optional
        For ``"ascii"``, ``{field: (start, width)}`` with starts counted from 1, as in the SAS
        program of the release. None: the positions in records of 362 characters.
    years : tuple of int or None, default (1992, 2007)
        First and last year of diagnosis; None for all.
    registries : sequence of str or None, default the paper's four
        Names or codes of the registries; None for all.
    cvd : {"narrow", "wide"}, default "narrow"
        ``"narrow"`` is diseases of the heart (50060); ``"wide"`` adds hypertension, cerebrovascular
        diseases, atherosclerosis, aortic aneurysm and other arteries (50070 to 50110). The paper
        does not say which it used.
    max_months : float, default 120
        Follow-up ends here, ten years in the paper: later rows are censored at this time.
    covariates : sequence of str, optional
        Names of fields (``AGE_DX``) or of columns of the listing; None for the 21 that fit the
        paper best.
    numeric : sequence of str, default ()
        Covariates beyond the known fields that hold numbers; all others hold labels.
    unknown : {"missing", "kept"}, default "missing"
        SEER's codes for unknown (9, 99, 999, node counts from 95) become missing, or are kept as
        values, which is apparently what the paper did. Blank fields are always missing.

    Returns
    -------
    Dataset
        Two competing event types, times in months.

    Raises
    ------
    CovariateError
        Where the file is not readable as SEER, or lacks a field.

    References
    ----------
    Surveillance, Epidemiology, and End Results (SEER) Program, National Cancer Institute.
    https://seer.cancer.gov

    Examples
    --------
    An invented case listing of three patients:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> path = Path(tempfile.mkdtemp()) / "listing.csv"
    >>> names = "Patient ID,Year of diagnosis,SEER registry,COD to site recode,Survival months,Sex"
    >>> _ = path.write_text(names + '''
    ... 1,1999,Los Angeles,Alive,130,Female
    ... 2,2001,Los Angeles,Breast,14,Female
    ... 3,2003,Los Angeles,Diseases of Heart,60,Female
    ... ''')
    >>> data = datasets.load_seer(path, covariates=["SEX"])
    >>> data.y["time"], data.y["event"]
    (array([120.,  14.,  60.]), array([0, 1, 2]))
    """
    fields = read_fields()
    names = list(COVARIATES if covariates is None else covariates)
    field_names = [_field_name(name, fields) for name in names]
    Choice("auto", "ascii", "listing")("layout", layout)
    Choice("narrow", "wide")("cvd", cvd)
    Choice("missing", "kept")("unknown", unknown)
    Number(above=0.0)("max_months", max_months)
    leaks = [name for name, field in zip(names, field_names, strict=True) if field in _OUTCOME]
    if leaks:
        raise SettingError(
            f"covariates must be known at diagnosis; got the outcome {leaks}. Leave it out."
        )
    lines = _read_lines(Path(path))
    wanted = list(dict.fromkeys((*_READ_ALWAYS, *names)))
    if layout == "listing" or (layout == "auto" and ("\t" in lines[0] or "," in lines[0])):
        records = _parse_listing(lines, wanted, names, fields)
    else:
        records = _parse_ascii(lines, positions, wanted, fields)
    patients, notes = _select_patients(records, years, registries, fields)
    X = pd.DataFrame(
        {
            name: _covariate(patients[name], name, name in numeric, unknown, fields.get(field))
            for name, field in zip(names, field_names, strict=True)
        }
    )
    return Dataset(
        name="SEER",
        X=X.reset_index(drop=True),
        y=_outcome(patients, HEART if cvd == "narrow" else HEART + VESSELS, max_months),
        features={
            name: fields[field]["meaning"] if field in fields else name
            for name, field in zip(names, field_names, strict=True)
        },
        time_unit="months",
        event_names={1: "death of breast cancer", 2: "death of cardiovascular disease"},
        source="the user's own SEER export",
        citation=(
            "Surveillance, Epidemiology, and End Results (SEER) Program, National Cancer Institute."
        ),
        licence="the user's copy, under the SEER data-use agreement; it may not be passed on",
        description=(
            "Breast cancer patients; deaths of other causes count as censored. "
            f"Records: {', '.join(notes)}."
        ),
    )


def read_fields() -> dict[str, dict[str, Any]]:
    """Return the known fields by name: position, meaning, codes for unknown, names in listings."""
    file = resources.files(__package__) / "data" / "seer_fields.csv"
    fields: dict[str, dict[str, Any]] = {}
    for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        fields[row["name"]] = {
            "position": (int(row["start"]), int(row["width"])),
            "meaning": row["meaning"],
            "is_numeric": row["is_numeric"] == "1",
            "unknown": row["unknown"].split("|") if row["unknown"] else [],
            "listing": row["listing"].split("|"),
        }
    return fields


def _field_name(name: str, fields: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the field that has this name, itself or in a listing."""
    matches = (field for field, facts in fields.items() if name in facts["listing"])
    return name if name in fields else next(matches, name)


def _read_lines(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="latin-1") as file:
        lines = file.read().rstrip("\n").splitlines()
    if not lines:
        raise CovariateError(
            f"{path.name} holds no records; expected a SEER file with one record per line."
        )
    return lines


def _parse_ascii(
    lines: list[str],
    positions: Mapping[str, tuple[int, int]] | None,
    wanted: Sequence[str],
    fields: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Return the fields of fixed-width records as text, with line numbers as index."""
    if positions is None:
        if len(lines[0]) != RECORD_LENGTH:
            raise CovariateError(
                f"the built-in positions are those of records with {RECORD_LENGTH} characters; got "
                f"{len(lines[0])}. Give positions={{field: (start, width)}} from the SAS program "
                "of your release."
            )
        positions = {name: field["position"] for name, field in fields.items()}
    absent = [name for name in wanted if name not in positions]
    if absent:
        raise CovariateError(
            f"positions must say where {absent} are; got {sorted(positions)}. Add them, or choose "
            "other covariates."
        )
    n_needed = max(sum(positions[name]) - 1 for name in wanted)
    short = [number for number, line in enumerate(lines, 1) if len(line) < n_needed]
    if short:
        raise CovariateError(
            f"a record must have at least {n_needed} characters; got {len(lines[short[0] - 1])} at "
            f"line {short[0]} ({len(short)} such lines). Give the positions of your release."
        )
    text = pd.Series(lines, index=range(1, len(lines) + 1), dtype=object)
    columns = {}
    for name in wanted:
        start, width = positions[name]
        columns[name] = _strip(text.str.slice(start - 1, start - 1 + width))
    records = pd.DataFrame(columns)
    status = records["STAT_REC"]
    _refuse(~status.isin(["1", "4"]), status, "1 (alive) or 4 (dead)")
    return records.assign(CODPUB=records["CODPUB"].where(status == "4", ALIVE[0]))


def _parse_listing(
    lines: list[str],
    wanted: Sequence[str],
    covariates: Sequence[str],
    fields: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Return the columns of a SEER*Stat case listing as text, with line numbers as index."""
    rows = list(csv.reader(lines, delimiter="\t" if "\t" in lines[0] else ","))
    columns = rows[0]
    column_by_name = {_normalised(column): column for column in columns}
    if "survival months" not in column_by_name:
        raise CovariateError(
            "the first line must hold the names of the columns, 'Survival months' among them; got "
            f"{columns[:5]}. Export with 'Variable names included'."
        )
    uneven = [line for line, row in enumerate(rows, 1) if len(row) != len(columns)]
    if uneven:
        raise CovariateError(
            f"every line must have {len(columns)} fields, one per column; got "
            f"{len(rows[uneven[0] - 1])} at line {uneven[0]} ({len(uneven)} such lines). Check the "
            "delimiter and the names of the columns."
        )
    index = range(2, len(rows) + 1)
    listing = pd.DataFrame(rows[1:], columns=columns, index=index, dtype=object)
    records = {}
    for name in wanted:
        names = [*fields[name]["listing"], name] if name in fields else [name]
        matches = (column_by_name.get(_normalised(candidate)) for candidate in names)
        column = next((column for column in matches if column is not None), None)
        if column is not None:
            records[name] = _strip(listing[column])
    absent = {
        name: fields[name]["listing"] if name in fields else name
        for name in dict.fromkeys((*_NEEDED_IN_LISTING, *covariates))
        if name not in records
    }
    if absent:
        raise CovariateError(
            f"the listing lacks columns for {absent}; it has {columns}. Export them as well, "
            "or choose other covariates with covariates=[...]."
        )
    return pd.DataFrame(records)


def _select_patients(
    records: pd.DataFrame,
    years: tuple[int, int] | None,
    registries: Sequence[str] | None,
    fields: Mapping[str, Mapping[str, Any]],
) -> tuple[pd.DataFrame, list[str]]:
    """Return the first record of each patient, and how many records each step removed."""
    notes = [f"{len(records):,} read"]
    _refuse(records["PUBCSNUM"].isna(), records["PUBCSNUM"], "the number of a patient")
    _refuse(records["YEAR_DX"].isna(), records["YEAR_DX"], "a year")
    months = records["SRV_TIME_MON"]
    is_unknown = months.isin([*_UNKNOWN_LABELS, *fields["SRV_TIME_MON"]["unknown"]])
    order = pd.Series(0.0, index=records.index)
    if "SEQ_NUM" in records:  # 0 for the only tumour of a patient; unknown comes last
        sequence = records["SEQ_NUM"]
        order = sequence.str.extract(r"^(\d+)", expand=False).astype(float).fillna(np.inf)
        order = order.mask(sequence.str.casefold() == "one primary only", 0.0)
    records = records.assign(
        year=_to_numbers(records["YEAR_DX"], "YEAR_DX"),
        months=_to_numbers(months.mask(is_unknown), "SRV_TIME_MON"),
        order=order,
    )
    steps = []
    if years is not None:
        is_inside = records["year"].between(*years)
        steps.append((is_inside, f"diagnosed outside of {years[0]}-{years[1]}"))
    if registries is not None and "REG" not in records:
        warn_user(
            f"the listing has no column {fields['REG']['listing']}: records of all registries are "
            "kept."
        )
    elif registries is not None:
        # A code (0000001535), or a label that begins with the name (Los Angeles - 1992+).
        codes = {REGISTRIES.get(name, name).lstrip("0") for name in registries}
        labels = tuple(name.casefold() for name in registries)
        registry = records["REG"].fillna("")
        is_wanted = registry.str.lstrip("0").isin(codes) | registry.str.casefold().map(
            lambda label: label.startswith(labels)
        )
        steps.append((is_wanted, "of other registries"))
    for is_kept, reason in steps:
        notes.append(f"{int((~is_kept[records.index]).sum()):,} {reason}")
        records = records[is_kept[records.index]]
    n_records = len(records)
    first = records.sort_values(["year", "order"], kind="stable").drop_duplicates("PUBCSNUM")
    patients = first[first["months"].notna()].sort_index()
    notes.append(f"{n_records - len(first):,} later ones of the same patient")
    notes.append(f"{len(first) - len(patients):,} of unknown survival time")
    if patients.empty:
        raise CovariateError(f"no record is left: {', '.join(notes)}. Check years and registries.")
    return patients, notes


def _outcome(
    patients: pd.DataFrame, cardiovascular: Sequence[str], max_months: float
) -> NDArray[np.void]:
    """Return the target: event 1 breast cancer, 2 cardiovascular disease."""
    cause = patients["CODPUB"]
    _refuse(cause.isna(), cause, "a cause of death, or Alive")
    if not cause.isin([*ALIVE, *BREAST]).any():
        raise CovariateError(
            f"column CODPUB ('COD to site recode') must hold {ALIVE[1]!r}, {BREAST[1]!r} and other "
            f"causes, or codes; got {sorted(set(cause))[:5]}. Export the labels of the variable."
        )
    event = np.select([cause.isin(BREAST), cause.isin(cardiovascular)], [1, 2], 0)
    months = patients["months"]
    return make_target(months.clip(upper=max_months), np.where(months > max_months, 0, event))


def _covariate(
    text: pd.Series[str],
    name: str,
    is_numeric: bool,
    unknown: str,
    field: Mapping[str, Any] | None,
) -> pd.Series[Any]:
    """Return a column as numbers or categories."""
    if unknown == "missing":
        codes = field["unknown"] if field else []
        text = text.mask(text.isin(_UNKNOWN_LABELS) | text.str.lstrip("0").isin(codes))
    if field and field["is_numeric"]:
        has_age_groups = text.str.fullmatch(r"\d+-\d+ years").any()
        is_numeric = is_numeric or not has_age_groups
    if not is_numeric:
        return text.astype("category")
    ages = text.str.extract(r"^(\d+)\+? years$", expand=False)  # "063 years", "90+ years"
    return _to_numbers(ages.fillna(text).mask(text.isin(_UNKNOWN_LABELS)), name)


def _to_numbers(text: pd.Series[str], name: str) -> pd.Series[float]:
    numbers = pd.to_numeric(text, errors="coerce").astype(np.float64)
    _refuse(numbers.isna() & text.notna(), text.rename(name), "a number")
    return numbers


def _strip(text: pd.Series[str]) -> pd.Series[str]:
    stripped = text.str.strip()
    return stripped.mask(stripped.isin(["", "Blank(s)"]), None)


def _normalised(name: str) -> str:
    return " ".join(str(name).split()).casefold()


def _refuse(is_wrong: pd.Series[bool], values: pd.Series[str], expected: str) -> None:
    """Raise an error that names the column and the first line of unusable values."""
    if is_wrong.any():
        line = is_wrong.index[is_wrong][0]
        raise CovariateError(
            f"column {values.name} must hold {expected}; got {values[line]!r} at line {line} "
            f"({int(is_wrong.sum())} such lines). Correct the file, or check positions and columns."
        )
