"""The interface of a fitted survival model, from this package or another."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["FittedSurvivalModel"]


@runtime_checkable
class FittedSurvivalModel(Protocol):
    """The methods that metrics, reports and averages need of a fitted model, from this package or another."""

    def predict_survival_function(self, X: Any, times: Any) -> Any:
        """Return ``P(T > t | x)``, T the time of the first event of any type, ``(n_rows, n_times)``."""

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> Any:
        """Return the probability that the event happens first, and by each time, ``(n_rows, n_times)``."""
