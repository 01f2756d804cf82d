"""The table of a search, with the names that scikit-learn gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

__all__ = ["cv_results"]


def cv_results(
    candidates: Sequence[Mapping[str, Any]],
    results: Mapping[tuple[int, int], Mapping[str, float]],
    n_folds: int,
) -> dict[str, Any]:
    """Return ``cv_results_`` from the scores and times of every (candidate, fold)."""
    table: dict[str, Any] = {}
    for name in ("fit_time", "score_time", "test_score"):
        values = np.array(
            [[results[c, f][name] for f in range(n_folds)] for c in range(len(candidates))]
        )
        if name == "test_score":
            for fold in range(n_folds):
                table[f"split{fold}_test_score"] = values[:, fold]
        table[f"mean_{name}"], table[f"std_{name}"] = values.mean(1), values.std(1)
    mean = table["mean_test_score"]
    table["rank_test_score"] = rankdata(
        -np.where(np.isnan(mean), -np.inf, mean), method="min"
    ).astype(np.int32)
    for name in sorted({name for candidate in candidates for name in candidate}):
        column = np.empty(len(candidates), dtype=object)
        for number, candidate in enumerate(candidates):
            column[number] = candidate.get(name)
        table[f"param_{name}"] = np.ma.MaskedArray(
            column, mask=[name not in candidate for candidate in candidates]
        )
    table["params"] = [dict(candidate) for candidate in candidates]
    return table
