"""From SEER records to patients: selection of the cohort, outcome and covariates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..checks import warn_user
from ..errors import CovariateError
from ..target import make_target
from .seer_fields import BREAST, FIELDS, HEART, REGISTRIES, VESSELS, field_of

__all__ = ["ALIVE", "covariate", "outcome", "refuse", "select"]

ALIVE = ("00000", "Alive")
_UNKNOWN_LABELS = ("Unknown", "Recode not available")


def select(
    records: pd.DataFrame, years: tuple[int, int] | None, registries: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return one record per patient, and how many records each step left out."""
    notes = [f"{len(records):,} read"]

    def keep(frame: pd.DataFrame, rows: pd.Series[bool], reason: str) -> pd.DataFrame:
        notes.append(f"{int((~rows).sum()):,} {reason}")
        return frame[rows]

    refuse(records["PUBCSNUM"].isna(), records["PUBCSNUM"], "the number of a patient")
    refuse(records["YEAR_DX"].isna(), records["YEAR_DX"], "a year")
    kept = records.assign(
        _year=_numbers(records["YEAR_DX"], "YEAR_DX"), _months=_months(records["SRV_TIME_MON"])
    )
    if years is not None:
        kept = keep(
            kept, kept["_year"].between(*years), f"diagnosed outside of {years[0]}-{years[1]}"
        )
    if registries is not None and "REG" not in kept:
        warn_user(
            f"the listing has no column {list(FIELDS['REG'].listing)}: records of all registries are kept."
        )
    elif registries is not None:
        kept = keep(kept, _in_registries(kept["REG"], registries), "of other registries")
    ordered = kept.assign(_order=_order(kept)).sort_values(["_year", "_order"], kind="stable")
    kept = keep(
        kept,
        ~ordered["PUBCSNUM"].duplicated().reindex(kept.index),
        "later ones of the same patient",
    )
    kept = keep(kept, kept["_months"].notna(), "of unknown survival time")
    if kept.empty:
        raise CovariateError(f"no record is left: {', '.join(notes)}. Check years and registries.")
    return kept, notes


def _in_registries(registry: pd.Series[str], registries: Sequence[str]) -> pd.Series[bool]:
    """Match a code (0000001535), or a label that begins with the name (Los Angeles - 1992+)."""
    codes = {REGISTRIES.get(name, name).lstrip("0") for name in registries}
    names = tuple(name.casefold() for name in registries)
    return registry.map(
        lambda text: text.lstrip("0") in codes or text.casefold().startswith(names), "ignore"
    ).eq(True)


def _order(records: pd.DataFrame) -> pd.Series[float]:
    """Return the place of a tumour among those of its patient: 0 for the only one, unknown last."""
    if "SEQ_NUM" not in records:
        return pd.Series(0.0, index=records.index)
    number = records["SEQ_NUM"].str.extract(r"^(\d+)", expand=False).astype(float)
    return number.mask(records["SEQ_NUM"].str.casefold() == "one primary only", 0.0).fillna(np.inf)


def _months(text: pd.Series[str]) -> pd.Series[float]:
    return _numbers(
        text.mask(text.isin([*_UNKNOWN_LABELS, *FIELDS["SRV_TIME_MON"].unknown])), "SRV_TIME_MON"
    )


def outcome(patients: pd.DataFrame, cvd: str, max_months: float) -> NDArray[np.void]:
    """Return the target: event 1 breast cancer, 2 cardiovascular disease, follow-up to ``max_months``."""
    cause = patients["CODPUB"]
    refuse(cause.isna(), cause, "a cause of death, or Alive")
    if not cause.isin([*ALIVE, *BREAST]).any():
        raise CovariateError(
            f"column CODPUB ('COD to site recode') must hold {ALIVE[1]!r}, {BREAST[1]!r} and other causes, or codes; "
            f"got {sorted(set(cause))[:5]}. Export the labels of the variable."
        )
    heart = HEART if cvd == "narrow" else HEART + VESSELS
    event = np.select([cause.isin(BREAST), cause.isin(heart)], [1, 2], 0)
    time = patients["_months"]
    return make_target(time.clip(upper=max_months), np.where(time > max_months, 0, event))


def covariate(
    text: pd.Series[str], name: str, numeric: Sequence[str], unknown: str
) -> pd.Series[Any]:
    """Return one field as numbers or categories."""
    field = field_of(name)
    codes = field.unknown if field is not None else ()
    if unknown == "missing":
        text = text.mask(text.isin(_UNKNOWN_LABELS) | text.str.lstrip("0").isin(codes))
    if name in numeric or (field is not None and field.numeric and not _is_grouped(text)):
        years = text.str.extract(
            r"^(\d+)\+? years$", expand=False
        )  # ages of a listing: "063 years", "90+ years"
        return _numbers(years.fillna(text).mask(text.isin(_UNKNOWN_LABELS)), name)
    return text.astype("category")


def _is_grouped(age: pd.Series[str]) -> bool:
    """Tell ages in groups, as "65-69 years", which stay labels."""
    return bool(age.str.fullmatch(r"\d+-\d+ years").any())


def _numbers(text: pd.Series[str], name: str) -> pd.Series[float]:
    numbers = pd.to_numeric(text, errors="coerce").astype(np.float64)
    refuse(numbers.isna() & text.notna(), text.rename(name), "a number")
    return numbers


def refuse(bad: pd.Series[bool], values: pd.Series[str], expected: str) -> None:
    """Name the column and the first line of values that cannot be used."""
    if bad.any():
        line = bad.index[bad][0]
        raise CovariateError(
            f"column {values.name} must hold {expected}; got {values[line]!r} at line {line} ({int(bad.sum())} such "
            "lines). Correct the file, or check positions and columns."
        )
