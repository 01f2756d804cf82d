"""What is asked of a fitted survival model, whoever wrote it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["FittedSurvivalModel"]


@runtime_checkable
class FittedSurvivalModel(Protocol):
    """What metrics, reports, comparisons and averages ask of a fitted model, whoever wrote it."""

    def predict_survival_function(self, X: Any, times: Any) -> Any:
        """Return ``P(T > t | x)``, T the time of the first event of any type, ``(n_rows, n_times)``."""

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> Any:
        """Return the probability that the event comes first and by each time, ``(n_rows, n_times)``."""
