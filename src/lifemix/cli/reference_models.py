"""The models by their names on the command line, and those that a fit is shown beside."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..errors import LifemixError, LifemixWarning

__all__ = ["MODEL_NAMES", "fit_references", "make_reference", "marginal_curve"]

MODEL_NAMES = {
    "lifemix": "LifeMix",
    "dsm": "Deep Survival Machines",
    "cox": "Cox regression",
    "fine-gray": "Fine-Gray",
    "forest": "random survival forest",
    "boosting": "gradient boosting",
    "deepsurv": "DeepSurv",
    "deephit": "DeepHit",
    "martingale-forest": "martingale forest",
    "curve": "no covariates",
}
_MOST_ROWS = 200_000  # that Cox regression is fitted to beside a fit


def make_reference(name: str, y: Any, seed: int = 0, jobs: int = 1) -> Any:
    """Return an unfitted model for a target; models of one event type are fitted to each type apart."""
    from .. import baselines
    from ..estimators import LifeMix
    from ..target import as_target

    several = as_target(y).n_events > 1
    of_one_type: dict[str, Callable[[], Any]] = {
        "cox": baselines.CoxPH,
        "forest": lambda: baselines.RandomSurvivalForest(min_samples_leaf=15, random_state=seed),
        "boosting": lambda: baselines.GradientBoosting(random_state=seed),
        "deepsurv": lambda: baselines.DeepSurv(random_state=seed),
    }
    if name in of_one_type:
        return baselines.CauseSpecific(of_one_type[name]()) if several else of_one_type[name]()
    of_all_types: dict[str, Callable[[], Any]] = {
        "lifemix": lambda: LifeMix(random_state=seed, n_jobs=jobs),
        "fine-gray": baselines.FineGray,
        "deephit": lambda: baselines.DeepHit(random_state=seed),
        "martingale-forest": lambda: baselines.MartingaleForest(random_state=seed, n_jobs=jobs),
        "curve": baselines.AalenJohansen if several else baselines.KaplanMeier,
    }
    return of_all_types[name]()


def marginal_curve(X: Any, y: Any) -> dict[str, Any]:
    """Return the fitted model without covariates by its name; none for interval-censored events."""
    from ..target import as_target

    target = as_target(y)
    if target.interval.any():
        return {}
    return {
        "Kaplan-Meier" if target.n_events == 1 else "Aalen-Johansen": make_reference(
            "curve", y
        ).fit(X, y)
    }


def fit_references(X: Any, y: Any, without: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fitted models that a fit is shown beside, by name: Cox regression and the marginal curve.

    One of them may be the model that is fitted itself: ``without`` leaves it out. Also, by name, why models are not
    among them: a table that another model cannot take is no reason to end.
    """
    from ..target import as_target

    target = as_target(y)
    fitted: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", LifemixWarning
        )  # about the same rows and columns as those of the model itself
        if without != "cox" and not target.interval.any() and len(target) <= _MOST_ROWS:
            try:
                fitted[MODEL_NAMES["cox"]] = make_reference("cox", y).fit(X, y)
            except LifemixError as error:
                left_out[MODEL_NAMES["cox"]] = str(error)
            except Exception as error:
                left_out[MODEL_NAMES["cox"]] = f"{type(error).__name__}: {error}"
        return fitted | ({} if without == "curve" else marginal_curve(X, y)), left_out
