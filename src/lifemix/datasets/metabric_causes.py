"""METABRIC with the cause of death: breast cancer or another."""

from __future__ import annotations

from ..target import make_target
from .base import Dataset, read_bundled

__all__ = ["load_metabric_causes"]

_NUMBERS = {
    "AGE_AT_DIAGNOSIS": "age at diagnosis in years",
    "LYMPH_NODES_EXAMINED_POSITIVE": "number of positive lymph nodes",
    "NPI": "Nottingham prognostic index",
}
_LABELS = {
    "CELLULARITY": "tumour content",
    "CHEMOTHERAPY": "chemotherapy",
    "COHORT": "cohort (5)",
    "ER_IHC": "oestrogen receptor status by immunohistochemistry",
    "HER2_SNP6": "HER2 status by SNP6 array",
    "HORMONE_THERAPY": "hormone therapy",
    "INFERRED_MENOPAUSAL_STATE": "menopausal state, inferred",
    "INTCLUST": "integrative cluster (11)",
    "CLAUDIN_SUBTYPE": "PAM50 and claudin-low subtype",
    "THREEGENE": "subtype of the three-gene classifier",
    "LATERALITY": "side of the tumour",
    "RADIO_THERAPY": "radiotherapy",
    "HISTOLOGICAL_SUBTYPE": "histological subtype",
    "BREAST_SURGERY": "kind of surgery",
}


def load_metabric_causes() -> Dataset:
    """Return METABRIC with causes of death: 1,980 patients, 17 covariates, 646 and 497 deaths, times in months.

    Event 1 is death from breast cancer, event 2 death from another cause. All patients with a known vital status are
    kept. The spelling of the source ("Positve") is kept. One row has time 0.

    Returns
    -------
    Dataset
        Three numeric and 14 categorical covariates, two competing event types.

    Notes
    -----
    The file is bundled because its licence allows it: the cBioPortal data hub offers its public studies under the
    Open Database License 1.0, which requires attribution and the same licence for the file. The file, a selection of
    rows and columns, is under that licence; the code of this package is not.

    References
    ----------
    Pereira et al. (2016). The somatic mutation profiles of 2,433 breast cancers refine their genomic and transcriptomic
    landscapes. Nature Communications 7, 11479. https://doi.org/10.1038/ncomms11479

    Examples
    --------
    >>> from lifemix import datasets
    >>> data = datasets.load_metabric_causes()
    >>> data.counts
    {0: 837, 1: 646, 2: 497}
    """
    frame = read_bundled("metabric_causes", _LABELS)
    features = _NUMBERS | _LABELS
    return Dataset(
        name="METABRIC with causes",
        X=frame[list(features)],
        y=make_target(frame["time"], frame["event"]),
        features=features,
        time_unit="months",
        event_names={1: "death of breast cancer", 2: "death of another cause"},
        source="metabric.tsv in the wheel of survivors 1.8.0; patient table of the cBioPortal study brca_metabric",
        citation=(
            "Curtis et al. (2012). The genomic and transcriptomic architecture of 2,000 breast tumours reveals novel "
            "subgroups. Nature 486, 346-352. Pereira et al. (2016). Nature Communications 7, 11479. Through "
            "cBioPortal: Cerami et al. (2012). Cancer Discovery 2, 401-404."
        ),
        licence=(
            "contains information from the cBioPortal study brca_metabric, which is made available under the Open "
            "Database License (ODbL) 1.0; this file is offered under the same licence. The package survivors is "
            "under BSD-3."
        ),
        description=(
            "Breast cancer patients of the United Kingdom and Canada, with the cause of death as the clinicians gave "
            "it."
        ),
    )
