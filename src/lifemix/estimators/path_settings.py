"""Settings that cannot go with several intervals per subject, as their loss depends on how a path is cut into rows."""

from __future__ import annotations

from typing import Any

from ..errors import SettingError
from ..target import Target

__all__ = ["check_path_settings", "prior_share"]


def check_path_settings(estimator: Any, target: Target) -> None:
    """Refuse settings whose loss depends on how a path is cut into rows."""
    if target.path is None:
        return
    refused = (
        (estimator.objective != "exact", f"objective={estimator.objective!r}", "the bound of a path is not the sum of "
         "the bounds of its intervals", "objective='exact'"),
        (estimator.discount != 1, f"discount={estimator.discount:g}", "every interval but the last ends without event, "
         "so that all would be discounted as if they were censored", "discount=1"),
        (estimator.t_max is not None, f"t_max={estimator.t_max}", "an interval that ends without event would mean that "
         "the event falls before t_max with the covariates of that interval", "t_max=None"),
    )  # fmt: skip
    for wrong, got, reason, instead in refused:
        if wrong:
            raise SettingError(
                f"{got} cannot go with several intervals per subject: {reason}. Use {instead}; got {len(target)} "
                f"intervals of {len(target.joined())} subjects."
            )


def prior_share(target: Target) -> float:
    """Return by what to scale priors: the loss is a mean over rows, while a prior counts once per subject."""
    return len(target.joined()) / len(target)
