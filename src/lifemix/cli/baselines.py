"""The models that a user's model is shown beside."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from ..baselines import AalenJohansen, CauseSpecific, CoxPH, KaplanMeier
from ..errors import LifemixError, LifemixWarning
from ..target import as_target

__all__ = ["baselines_for", "floor_for"]

_MOST_ROWS = 200_000  # that Cox regression is fitted to here


def floor_for(y: Any) -> dict[str, Any]:
    """Return the model without covariates, by name, not fitted; none for intervals."""
    target = as_target(y)
    if target.interval.any():
        return {}
    return {"Kaplan-Meier": KaplanMeier()} if target.n_events == 1 else {"Aalen-Johansen": AalenJohansen()}


def baselines_for(X: pd.DataFrame, y: Any) -> dict[str, Any]:
    """Return the fitted baselines that this kind of data allows, by name."""
    target = as_target(y)
    models = {}
    if not target.interval.any() and len(target) <= _MOST_ROWS:
        models["Cox regression"] = CoxPH() if target.n_events == 1 else CauseSpecific(CoxPH())
    models |= floor_for(y)
    fitted = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # they are about the same columns as those of the model
        for name, model in models.items():
            try:
                fitted[name] = model.fit(X, y)
            except LifemixError:  # a model that cannot be fitted is no comparison
                continue
    return fitted
