"""Training: from jobs to trained parameters, for many models at once."""

from __future__ import annotations

from .batches import steps_per_epoch
from .checkpoint import Checkpoint
from .config import Callback, Data, Job, TrainConfig, TrainingState
from .distributed import Ranks
from .fleet import Fit, Fleet, ModuleFleet
from .warm_start import warm_start

__all__ = [
    "Callback",
    "Checkpoint",
    "Data",
    "Fit",
    "Fleet",
    "Job",
    "ModuleFleet",
    "Ranks",
    "TrainConfig",
    "TrainingState",
    "steps_per_epoch",
    "warm_start",
]
