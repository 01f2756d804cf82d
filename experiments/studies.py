"""The experiments by name, and the studies of which each consists."""

from __future__ import annotations

from lifemix.errors import SettingError

from .horizon_tables import horizon_study
from .protocol import DATA_SETS, Protocol
from .run import Study
from .scaling import scaling_study
from .transfer import transfer_study

__all__ = ["EXPERIMENTS", "studies"]

EXPERIMENTS = (*DATA_SETS, "transfer", "scaling")


def studies(
    experiment: str, quick: bool = False, path: str | None = None, full_grid: bool = False
) -> list[Study]:
    """Return the studies of an experiment, one per data set."""
    if experiment == "transfer":
        return [transfer_study(quick, path)]
    if experiment == "scaling":
        return [scaling_study(data, quick) for data in ("support", "metabric")]
    if experiment in DATA_SETS:
        return [horizon_study(Protocol.of(experiment, quick, path, full_grid))]
    raise SettingError(
        f"unknown experiment; got {experiment!r}, expected one of {', '.join(EXPERIMENTS)} or all."
    )
