"""Checkpoints: the whole state of a fleet in one file, so that a killed run goes on exactly where it was.

The file is safetensors with a JSON header, written beside its name first and then moved over it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ..errors import ModelFileError
from .fleet import Fit, Fleet

__all__ = ["Checkpoint"]

_NAME = "lifemix-checkpoint.safetensors"
_FORMAT = 1


class Checkpoint:
    """A place for the state of one fleet; it belongs to one set of data and settings, by their fingerprint."""

    def __init__(self, folder: str | os.PathLike[str], fleet: Fleet, every: int = 1) -> None:
        self.path = Path(folder) / _NAME
        self.every = every
        self.fingerprint = _fingerprint(fleet)

    def save_if_due(self, fleet: Fleet) -> None:
        """Write the state every so many epochs."""
        if fleet.epoch % self.every == 0 and fleet.running:
            self.save(fleet)

    def save(self, fleet: Fleet) -> None:
        """Write the state; a kill while writing leaves the file before it whole."""
        tensors = {"values": fleet.values, "best": fleet.best, "torch_random": torch.get_rng_state()}
        tensors |= {f"moment.{i}": moment for i, moment in enumerate(fleet.optimizer.moments)}
        for number, fit in enumerate(fleet.fits):
            if fit.parameters is not None:
                tensors[f"done.{number}"] = fit.parameters
        if fleet.architecture.module is not None:
            tensors |= {f"buffer.{name}": buffer for name, buffer in fleet.architecture.module.named_buffers()}
            tensors |= {f"best_buffer.{name}": buffer for name, buffer in fleet.best_buffers.items()}
        state = {
            "epoch": fleet.epoch,
            "steps": fleet.optimizer.steps,
            "running": fleet.running,
            "fits": [asdict(fit) | {"parameters": None} for fit in fleet.fits],
            "randoms": [[r.shuffle.bit_generator.state, r.dropout.bit_generator.state] for r in fleet.randoms],
        }
        header = {"format": str(_FORMAT), "fingerprint": self.fingerprint, "state": json.dumps(state)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(f".{os.getpid()}.part")
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, partial, header)
        os.replace(partial, self.path)

    def restore(self, fleet: Fleet) -> bool:
        """Put the fleet where the file says, if there is one; a file of another fit is refused."""
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


def _put_back(fleet: Fleet, state: dict[str, Any], tensors: dict[str, Any]) -> None:
    device = fleet.values.device
    fleet.epoch, fleet.running = state["epoch"], state["running"]
    fleet.values, fleet.best = tensors["values"].to(device), tensors["best"].to(device)
    fleet.optimizer.steps = state["steps"]
    fleet.optimizer.moments = [tensors[f"moment.{i}"].to(device) for i in range(fleet.optimizer.n_moments)]
    fleet.fits = [Fit(**fit) for fit in state["fits"]]
    for number, fit in enumerate(fleet.fits):
        done = tensors.get(f"done.{number}")
        fit.parameters = None if done is None else done.to(device)
    for random, (shuffle, dropout) in zip(fleet.randoms, state["randoms"], strict=True):
        random.shuffle.bit_generator.state, random.dropout.bit_generator.state = shuffle, dropout
    if fleet.architecture.module is not None:
        torch.set_rng_state(tensors["torch_random"])
        for name, buffer in fleet.architecture.module.named_buffers():
            buffer.copy_(tensors[f"buffer.{name}"])
            fleet.best_buffers[name] = tensors[f"best_buffer.{name}"].to(device)
    fleet.gather_settings()


def _fingerprint(fleet: Fleet) -> str:
    """Return a hash of the data, the jobs and the settings."""
    digest = hashlib.sha256()
    config = [asdict(fleet.config), str(fleet.architecture)]
    jobs = [[value for value in astuple(job) if not isinstance(value, torch.Tensor)] for job in fleet.jobs]
    digest.update(json.dumps([config, jobs], sort_keys=True, default=str).encode())
    arrays = [fleet.data.x, fleet.data.observed.time, fleet.data.observed.event, fleet.data.observed.weight]
    arrays += [rows for job in fleet.jobs for rows in (job.train_rows, job.validation_rows, job.warm_start)]
    for array in arrays:
        digest.update(np.ascontiguousarray(array.cpu().numpy()).tobytes())
    return digest.hexdigest()
