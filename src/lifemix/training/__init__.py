"""Training: warm start, batches, the loop over epochs, early stopping, checkpoints; for many models at once."""

from __future__ import annotations

from .batches import steps_per_epoch
from .callbacks import Callback, TrainingState, check_callbacks
from .checkpoint import Checkpoint
from .config import Data, Job, TrainConfig
from .distributed import Ranks
from .fleet import Fit, Fleet
from .module_fleet import ModuleFleet
from .optimizers import check_optimizer, trains_alone
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
    "check_callbacks",
    "check_optimizer",
    "steps_per_epoch",
    "trains_alone",
    "warm_start",
]
