"""Checkpoints: the whole state of a fleet in one file, from which an interrupted run continues exactly.

The file is safetensors with a JSON header, written atomically.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..errors import ModelFileError
from .callbacks import Callback, TrainingState
from .fleet import Fit, Fleet
from .module_fleet import ModuleFleet

__all__ = ["Checkpoint"]

_FORMAT = 2


class Checkpoint(Callback):
    """The file that holds the state of one fleet; it belongs to one set of data and settings, by their fingerprint."""

    def __init__(self, path: str | os.PathLike[str], fleet: Fleet, every: int = 1) -> None:
        self.path = Path(path)
        self.every = every
        self.fingerprint = _fingerprint(fleet)

    @property
    def _partial(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part")

    def on_epoch_end(self, state: TrainingState) -> None:
        """Write the state every so many epochs, and when all models have stopped."""
        if state.epoch % self.every == 0 or state.n_running == 0:
            self.save(state.fleet)

    def save(self, fleet: Fleet) -> None:
        """Write the state atomically: an interruption leaves the previous file intact."""
        state = {
            "epoch": fleet.epoch,
            "steps": fleet.optimizer.steps,
            "running": fleet.running,
            "fits": [asdict(fit) | {"parameters": None} for fit in fleet.fits],
            "randoms": [[r.shuffle.bit_generator.state, r.dropout.bit_generator.state] for r in fleet.randoms],
        }
        header = {"format": str(_FORMAT), "fingerprint": self.fingerprint, "state": json.dumps(state)}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in _tensors(fleet).items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, self._partial, header)
        os.replace(self._partial, self.path)

    def restore(self, fleet: Fleet) -> bool:
        """Restore the state of the fleet from the file, if there is one; a file of another fit is refused."""
        if not self.path.exists():
            return False
        header, tensors = self._read()
        if header.get("format") != str(_FORMAT) or header.get("fingerprint") != self.fingerprint:
            raise ModelFileError(
                f"the checkpoint {self.path} belongs to another fit (other data, settings or seed); "
                "remove it, or give another folder."
            )
        _put_back(fleet, json.loads(header["state"]), tensors)
        return True

    def _read(self) -> tuple[dict[str, str], dict[str, Any]]:
        try:
            with safe_open(self.path, framework="pt") as file:
                return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise ModelFileError(f"the checkpoint {self.path} cannot be read: {error}. Remove it.") from None

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        self.path.unlink(missing_ok=True)
        self._partial.unlink(missing_ok=True)


def _tensors(fleet: Fleet) -> dict[str, Tensor]:
    tensors = {"values": fleet.values, "best": fleet.best}
    tensors |= {f"moment.{name}": moment for name, moment in fleet.optimizer.state().items()}
    tensors |= {f"done.{i}": fit.parameters for i, fit in enumerate(fleet.fits) if fit.parameters is not None}
    if isinstance(fleet, ModuleFleet):
        tensors |= {f"random.{i}": state for i, state in enumerate(fleet.random_states)}
        tensors |= {f"buffer.{name}": buffer for name, buffer in fleet.buffers().items()}
        tensors |= {f"best_buffer.{name}": buffer for name, buffer in fleet.best_buffers.items()}
    return tensors


def _put_back(fleet: Fleet, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    device = fleet.values.device
    fleet.epoch, fleet.running = state["epoch"], state["running"]
    fleet.values, fleet.best = tensors["values"].to(device), tensors["best"].to(device)
    fleet.optimizer.steps = state["steps"]
    kept = {name.removeprefix("moment."): t.to(device) for name, t in tensors.items() if name.startswith("moment.")}
    fleet.optimizer.restore(kept)
    fleet.fits = [Fit(**fit) for fit in state["fits"]]
    for number, fit in enumerate(fleet.fits):
        done = tensors.get(f"done.{number}")
        fit.parameters = None if done is None else done.to(device)
    for random, (shuffle, dropout) in zip(fleet.randoms, state["randoms"], strict=True):
        random.shuffle.bit_generator.state, random.dropout.bit_generator.state = shuffle, dropout
    if isinstance(fleet, ModuleFleet):
        fleet.random_states = [tensors[f"random.{i}"] for i in range(len(fleet.random_states))]
        fleet.put_buffers({name: tensors[f"buffer.{name}"] for name in fleet.best_buffers})
        fleet.best_buffers = {name: tensors[f"best_buffer.{name}"].to(device) for name in fleet.best_buffers}
    if fleet.running:
        fleet.gather_settings()


def _fingerprint(fleet: Fleet) -> str:
    """Return a hash of the data, the jobs, the settings and where a new fleet starts."""
    digest = hashlib.sha256()
    config = [asdict(fleet.config), fleet.architecture.description()]
    jobs = [[value for value in astuple(job) if not isinstance(value, torch.Tensor)] for job in fleet.jobs]
    digest.update(json.dumps([config, jobs], sort_keys=True, default=str).encode())
    observed = fleet.data.observed
    arrays = [fleet.data.x, fleet.values, *(getattr(observed, field.name) for field in fields(observed))]
    arrays += [rows for job in fleet.jobs for rows in (job.train_rows, job.validation_rows, job.warm_start)]
    if isinstance(fleet, ModuleFleet):
        arrays += list(fleet.best_buffers.values())
    for array in arrays:
        if array is not None:
            digest.update(f"{array.dtype}{tuple(array.shape)}".encode())
            digest.update(np.ascontiguousarray(array.detach().cpu().numpy()).tobytes())
        digest.update(b";")
    return digest.hexdigest()
