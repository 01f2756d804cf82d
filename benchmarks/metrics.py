"""How much faster the metrics are than scikit-survival's, with equal results."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sksurv.metrics import brier_score as sksurv_brier_score
from sksurv.metrics import concordance_index_ipcw
from sksurv.util import Surv

from lifemix.metrics import brier_score, concordance_td

from .harness import Call, Table, alternate


def run(quick: bool) -> list[Table]:
    """Return one row per metric; a quick run skips 100,000 rows, for which scikit-survival takes minutes."""
    rows = []
    sizes = [20_000] if quick else [20_000, 100_000]
    for n_rows in sizes:
        cases = {
            f"concordance_td, {n_rows:,} rows, tied risks": concordance(n_rows, 2),
            f"concordance_td, {n_rows:,} rows, distinct risks": concordance(n_rows, 16),
            f"brier_score, {n_rows:,} rows, 100 horizons": brier(n_rows),
        }
        repeats = 3 if n_rows == 20_000 else 1
        for case, (ours, theirs) in cases.items():
            np.testing.assert_allclose(ours(), theirs(), rtol=0, atol=1e-10)
            timings = alternate({"ours": ours, "theirs": theirs}, repeats)
            our_seconds = timings["ours"]["wall"]
            their_seconds = timings["theirs"]["wall"]
            ratio = their_seconds / our_seconds
            rows.append([case, our_seconds, their_seconds, ratio])
    columns = ["", "seconds", "theirs", "times faster"]
    return [Table("Against scikit-survival", columns, rows)]


def draw(n_rows: int, decimals: int) -> tuple[Any, np.ndarray]:
    """Return a target with tied times, and a risk rounded to so many decimals."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_rows)
    scale = np.exp(-0.7 * x)
    event_time = rng.exponential(scale)
    censoring = np.minimum(rng.exponential(2, size=n_rows), 4)
    time = np.minimum(event_time, censoring).round(2)
    y = Surv.from_arrays(event_time <= censoring, np.maximum(time, 0.01))
    risk = x + rng.normal(size=n_rows)
    return y, risk.round(decimals)


def concordance(n_rows: int, decimals: int) -> tuple[Call, Call]:
    """Return both packages' concordance at the median event time."""
    y, risk = draw(n_rows, decimals)
    horizon = float(np.median(y["time"][y["event"]]))
    ours = partial(concordance_td, y, y, risk, horizon, compat="sksurv")
    return ours, lambda: concordance_index_ipcw(y, y, risk, tau=horizon)[0]


def brier(n_rows: int) -> tuple[Call, Call]:
    """Return both packages' Brier score at 100 horizons."""
    y, risk = draw(n_rows, 2)
    horizons = np.quantile(y["time"], np.linspace(0.02, 0.9, 200))
    horizons = np.unique(horizons)[:100]
    hazard = np.exp(0.5 * risk)
    survival = np.exp(-np.outer(hazard, horizons))
    ours = partial(brier_score, y, y, survival, horizons, compat="sksurv")
    return ours, lambda: sksurv_brier_score(y, y, survival, horizons)[1]
