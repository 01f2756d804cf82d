"""One number of a result table: what the paper published and what a run measured have the same form."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cell"]


@dataclass(frozen=True)
class Cell:
    """The mean of a measure over folds, and its standard error.

    data: ``"support"``, ``"metabric"``, ``"synthetic"``, ``"seer"`` or a stand-in.
    model: ``"dsm"`` (the paper's settings), ``"lifemix"`` (our best), ``"cph"``, ``"rsf"``, ``"deepsurv"``, ...
    measure: ``"ctd"``, ``"brier"`` (G from the rows trained on), ``"brier_original"`` (G from the original), ...
    selection: ``"paper"`` (best cross-validated score), ``"nested"`` (inner validation part), ``"fixed"`` (no choice),
    ``"published"`` (the paper's own number).
    values: one number a fold, empty where the paper does not tell.
    """

    data: str
    model: str
    measure: str
    event: int
    horizon: float  # quantile of the event times, 0.25 to 1
    censoring: float  # share of the training events that were censored artificially: 0, 0.25 or 0.5
    selection: str
    mean: float
    error: float  # standard error of the mean
    values: tuple[float, ...] = ()
