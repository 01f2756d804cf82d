"""Names that users of lifelines, scikit-survival and pycox import: what they mean is called otherwise here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import SettingError

__all__ = ["elsewhere_named"]

_OURS = {
    "concordance_index": "concordance(y, risk), where a higher risk means an earlier event",
    "concordance_index_censored": "concordance(y, risk), where y holds times and events",
    "concordance_index_ipcw": "concordance_td(y_train, y_test, risk, horizons)",
    "cumulative_dynamic_auc": "auc_td(y_train, y_test, risk, horizons)",
    "EvalSurv": "evaluate(model, y_train, X_test, y_test)",
}


def elsewhere_named(name: str) -> Callable[..., Any]:
    """Return a function in place of one of another package, which says what to call; raise where there is none."""
    if name not in _OURS:
        raise AttributeError(f"module 'lifemix.metrics' has no attribute {name!r}")

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise SettingError(f"lifemix.metrics has no {name}; use lifemix.metrics.{_OURS[name]}.")

    return refuse
