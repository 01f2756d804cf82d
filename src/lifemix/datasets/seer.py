"""SEER: the user's own export of breast cancer patients; death from breast cancer or cardiovascular disease."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal

import pandas as pd

from ..errors import CovariateError, SettingError
from .base import Dataset
from .seer_cohort import ALIVE, covariate, outcome, refuse, select
from .seer_fields import COVARIATES, FIELDS, REGISTRIES, field_of
from .seer_files import Positions, find_columns, looks_like_listing, read_ascii, read_listing

__all__ = ["load_seer"]

_OUTCOME = ("PUBCSNUM", "YEAR_DX", "SEQ_NUM", "REG", "CODPUB", "STAT_REC", "SRV_TIME_MON")
_AFTER_DIAGNOSIS = ("CODPUB", "STAT_REC", "SRV_TIME_MON")
_NEEDED_IN_LISTING = ("PUBCSNUM", "YEAR_DX", "CODPUB", "SRV_TIME_MON")


def load_seer(
    path: str | PathLike[str],
    *,
    layout: Literal["auto", "ascii", "listing"] = "auto",
    positions: str | PathLike[str] | Positions | None = None,
    columns: str | PathLike[str] | Sequence[str] | None = None,
    years: tuple[int, int] | None = (1992, 2007),
    registries: Sequence[str] | None = tuple(REGISTRIES),
    cvd: Literal["narrow", "wide"] = "narrow",
    max_months: float = 120,
    covariates: Sequence[str] | None = None,
    numeric: Sequence[str] = (),
    unknown: Literal["missing", "kept"] = "missing",
) -> Dataset:
    """Read a SEER export of breast cancer patients: event 1 is death from breast cancer, 2 from cardiovascular disease.

    SEER requires an agreement with the National Cancer Institute and cannot be part of a package. The paper used the
    file ``BREAST.TXT`` of the old ASCII release, registries Alaska, San Jose-Monterey, Los Angeles and rural Georgia:
    65,481 patients, 13,564 and 4,245 events. Deaths from other causes count as censored. The first record of each
    patient within the chosen years and registries is kept; patients of unknown survival time are left out. How many
    were left out, and why, is in ``description``.

    Parameters
    ----------
    path : path
        The file, plain or compressed with gzip.
    layout : {"auto", "ascii", "listing"}, default "auto"
        The fixed-width ASCII release, or a SEER*Stat case listing with labels (or codes); detected if ``"auto"``.
    positions : path or mapping, optional
        For ``"ascii"``, the SAS program of the release or ``{field: (start, width)}``; None: records of 362 characters.
    columns : path or sequence of str, optional
        For ``"listing"`` without names in the first line, the names or the path of the .dic file.
    years : tuple of int or None, default (1992, 2007)
        First and last year of diagnosis; None for all.
    registries : sequence of str or None, default the paper's four
        Names or codes of the registries; None for all.
    cvd : {"narrow", "wide"}, default "narrow"
        ``"narrow"`` is diseases of the heart (50060); ``"wide"`` adds hypertension, cerebrovascular diseases,
        atherosclerosis, aortic aneurysm and other arteries (50070 to 50110). The paper does not say which it used.
    max_months : float, default 120
        Follow-up ends here, ten years in the paper: later rows are censored at this time.
    covariates : sequence of str, optional
        Names of fields (``AGE_DX``) or of columns of the listing; None for the 21 that fit the paper best.
    numeric : sequence of str, default ()
        Covariates beyond the known fields that hold numbers; all others hold labels.
    unknown : {"missing", "kept"}, default "missing"
        SEER's codes for unknown (9, 99, 999, node counts from 95) become missing, or are kept as values, which is
        apparently what the paper did. Blank fields are always missing.

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
    Surveillance, Epidemiology, and End Results (SEER) Program, National Cancer Institute. https://seer.cancer.gov

    Examples
    --------
    An invented case listing of three patients:

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lifemix import datasets
    >>> path = Path(tempfile.mkdtemp()) / "listing.csv"
    >>> _ = path.write_text('''Patient ID,Year of diagnosis,SEER registry,COD to site recode,Survival months,Sex
    ... 1,1999,Los Angeles,Alive,130,Female
    ... 2,2001,Los Angeles,Breast,14,Female
    ... 3,2003,Los Angeles,Diseases of Heart,60,Female
    ... ''')
    >>> data = datasets.load_seer(path, covariates=["SEX"])
    >>> data.y["time"], data.y["event"]
    (array([120.,  14.,  60.]), array([0, 1, 2]))
    """
    chosen = list(COVARIATES if covariates is None else covariates)
    _check_settings(layout, cvd, unknown, max_months, chosen)
    listing = layout == "listing" or (layout == "auto" and looks_like_listing(path))
    records = (
        _from_listing(path, columns, chosen) if listing else _from_ascii(path, positions, chosen)
    )
    patients, notes = select(records, years, registries)
    X = pd.DataFrame({name: covariate(patients[name], name, numeric, unknown) for name in chosen})
    return Dataset(
        name="SEER",
        X=X.reset_index(drop=True),
        y=outcome(patients, cvd, max_months),
        features={name: field.meaning if (field := field_of(name)) else name for name in chosen},
        time_unit="months",
        event_names={1: "death of breast cancer", 2: "death of cardiovascular disease"},
        source="the user's own SEER export",
        citation="Surveillance, Epidemiology, and End Results (SEER) Program, National Cancer Institute.",
        licence="the user's copy, under the SEER data-use agreement; it may not be passed on",
        description=f"Breast cancer patients; deaths of other causes count as censored. Records: {', '.join(notes)}.",
    )


def _check_settings(
    layout: str, cvd: str, unknown: str, max_months: float, chosen: list[str]
) -> None:
    for name, value, legal in (
        ("layout", layout, ("auto", "ascii", "listing")),
        ("cvd", cvd, ("narrow", "wide")),
        ("unknown", unknown, ("missing", "kept")),
    ):
        if value not in legal:
            raise SettingError(f"{name} must be one of {list(legal)}; got {value!r}.")
    if not max_months > 0:
        raise SettingError(f"max_months must be positive; got {max_months}.")
    leaks = [
        name for name in chosen if (field := field_of(name)) and field.name in _AFTER_DIAGNOSIS
    ]
    if leaks:
        raise SettingError(
            f"covariates must be known at diagnosis; got the outcome {leaks}. Leave it out."
        )


def _from_ascii(
    path: str | PathLike[str], positions: str | PathLike[str] | Positions | None, chosen: list[str]
) -> pd.DataFrame:
    records = read_ascii(path, positions, dict.fromkeys((*_OUTCOME, *chosen)))
    refuse(~records["STAT_REC"].isin(["1", "4"]), records["STAT_REC"], "1 (alive) or 4 (dead)")
    return records.assign(CODPUB=records["CODPUB"].where(records["STAT_REC"] == "4", ALIVE[0]))


def _from_listing(
    path: str | PathLike[str],
    columns: str | PathLike[str] | Sequence[str] | None,
    chosen: list[str],
) -> pd.DataFrame:
    listing = read_listing(path, columns)
    found = find_columns(listing, dict.fromkeys((*_OUTCOME, *chosen)))
    absent = [name for name in dict.fromkeys((*_NEEDED_IN_LISTING, *chosen)) if name not in found]
    if absent:
        names = {name: list(FIELDS[name].listing) if name in FIELDS else name for name in absent}
        raise CovariateError(
            f"the listing lacks columns for {names}; it has {list(listing.columns)}. Export them as well, or choose "
            "other covariates with covariates=[...]."
        )
    return pd.DataFrame({name: listing[column] for name, column in found.items()})
