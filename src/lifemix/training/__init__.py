"""Training: warm start, batches, the loop over epochs, early stopping, checkpoints; for many models at once."""

from __future__ import annotations

from .batches import steps_per_epoch
from .checkpoint import Checkpoint
from .config import Data, Job, TrainConfig
from .fleet import Fit, Fleet
from .module_fleet import ModuleFleet
from .optimizers import OPTIMIZERS
from .warm_start import warm_start

__all__ = [
    "OPTIMIZERS",
    "Checkpoint",
    "Data",
    "Fit",
    "Fleet",
    "Job",
    "ModuleFleet",
    "TrainConfig",
    "steps_per_epoch",
    "warm_start",
]
