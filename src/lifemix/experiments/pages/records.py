"""What a page takes from the records of a run."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["RecordLike"]


class RecordLike(Protocol):
    """What a page takes from the record of one model on one fold.

    calibration: for each kind of event and horizon ``[predicted, observed]``, one value a group of subjects, or None.
    """

    @property
    def data(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def censoring(self) -> float: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def parameters(self) -> int | None: ...  # noqa: D102
    @property
    def calibration(self) -> Any: ...  # noqa: D102
