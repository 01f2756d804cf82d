"""Checkpoints: the state of a fleet in one file, from which an interrupted fit resumes exactly.

The file is written atomically by ``files.write_arrays``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..checks import warn_user
from ..errors import ModelFileError
from ..files import read_arrays, write_arrays
from ..likelihood import Observations
from .config import Callback, TrainingState
from .fleet import Fit, Fleet, ModuleFleet

__all__ = ["Checkpoint"]

_FORMAT = 7


class Checkpoint(Callback):
    """The file with the state of a fleet, signed with a fingerprint of its data and settings."""

    def __init__(self, path: str | os.PathLike[str], fleet: Fleet, writes: bool = True) -> None:
        self.path, self.writes = Path(path), writes
        self.key = _fingerprint(fleet)
        self._has_warned = False

    def on_epoch_end(self, state: TrainingState) -> None:
        """Write the state."""
        self.save(state.fleet)

    def save(self, fleet: Fleet) -> None:
        """Write the state atomically; if the disk is full or read-only, warn once and continue."""
        if not self.writes:
            return
        state = {
            "epoch": fleet.epoch,
            "n_steps": fleet.optimizer.n_steps,
            "running": fleet.running,
            "fits": [asdict(fit) | {"parameters": None} for fit in fleet.fits],
            "randoms": [
                [random.shuffle.bit_generator.state, random.dropout.bit_generator.state]
                for random in fleet.randoms
            ],
        }
        arrays = {
            f"{group}.{name}": tensor.detach().cpu().numpy()
            for group, tensors in _tensor_groups(fleet).items()
            for name, tensor in tensors.items()
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(self.path, {"state": state}, arrays, self.key, flush=False)
        except (OSError, ModelFileError) as error:
            if not self._has_warned:
                warn_user(f"no checkpoint is written, the fit goes on without: {error}")
            self._has_warned = True

    def restore(self, fleet: Fleet) -> bool:
        """Restore the state if there is a file; raise ModelFileError if it is of another fit."""
        try:
            content, arrays = read_arrays(self.path, self.key)
            new_groups = _tensor_groups(fleet)
            groups: dict[str, dict[str, Tensor]] = {name: {} for name in new_groups}
            for key, array in arrays.items():
                group, name = key.split(".", 1)
                tensor = torch.from_numpy(np.array(array, order="C"))
                device = "cpu" if group == "random" else fleet.data.x.device
                groups[group][name] = tensor.to(device)
                if group in ("random", "buffer", "best_buffer"):
                    _check_like(tensor, new_groups[group][name])
            _restore(fleet, content["state"], groups)
        except FileNotFoundError:
            return False
        except Exception as error:  # a forged state may fail anywhere
            raise ModelFileError(
                f"the checkpoint {self.path} is damaged or belongs to another fit (other data, "
                f"settings, seed or version): remove it, or give another folder. ({error!r:.500})"
            ) from None
        return True

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        if self.writes:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)


def _tensor_groups(fleet: Fleet) -> dict[str, dict[str, Tensor]]:
    """Return the tensors of the state, in groups."""
    finished = {str(i): fit.parameters for i, fit in enumerate(fleet.fits)}
    groups = {
        "fleet": {"parameters": fleet.parameters.flat, "best": fleet.best},
        "optimizer": fleet.optimizer.state(),
        "finished": {name: tensor for name, tensor in finished.items() if tensor is not None},
    }
    if isinstance(fleet, ModuleFleet):
        groups["random"] = {str(i): state for i, state in enumerate(fleet.random_states)}
        groups["buffer"], groups["best_buffer"] = fleet.buffers(), fleet.best_buffers
    return groups


def _restore(
    fleet: Fleet, state: Mapping[str, Any], groups: Mapping[str, dict[str, Tensor]]
) -> None:
    """Put what ``Checkpoint.save`` wrote into a new fleet."""
    fleet.epoch, fleet.running = state["epoch"], state["running"]
    fleet.best = groups["fleet"]["best"]
    fleet.optimizer.n_steps = state["n_steps"]
    fleet.optimizer.restore(groups["optimizer"])
    fleet.fits = [Fit(**fit) for fit in state["fits"]]
    for name, parameters in groups["finished"].items():
        fleet.fits[int(name)].parameters = parameters
    for random, (shuffle, dropout) in zip(fleet.randoms, state["randoms"], strict=True):
        random.shuffle.bit_generator.state, random.dropout.bit_generator.state = shuffle, dropout
    if isinstance(fleet, ModuleFleet):
        fleet.random_states = [groups["random"][str(i)] for i in range(len(groups["random"]))]
        fleet.set_buffers(groups["buffer"])
        fleet.best_buffers = groups["best_buffer"]
    if fleet.running:
        fleet.set_parameters(groups["fleet"]["parameters"])
    _check(fleet)


def _check_like(tensor: Tensor, expected: Tensor) -> None:
    if tensor.shape != expected.shape or tensor.dtype != expected.dtype:
        raise ValueError(f"a tensor must be like {expected.dtype} {tuple(expected.shape)}")


def _check(fleet: Fleet) -> None:
    """Raise ``ValueError`` if a restored state does not fit the jobs of its fleet."""
    n_running = len(fleet.running)
    finished = {i: fit.parameters for i, fit in enumerate(fleet.fits) if fit.parameters is not None}
    models = list(range(len(fleet.jobs)))
    if len(fleet.fits) != len(models) or sorted([*fleet.running, *finished]) != models:
        raise ValueError("every model must be running or finished")
    vector = torch.empty(fleet.architecture.layout.size)
    _check_like(fleet.best, vector.expand(n_running, -1))
    for parameters in finished.values():
        _check_like(parameters, vector)
    if n_running:
        for values in (fleet.parameters.flat, *fleet.optimizer.moments):
            _check_like(values, vector.repeat(n_running))
    counts = [fleet.epoch, fleet.optimizer.n_steps, *(fit.best_epoch for fit in fleet.fits)]
    if any(type(count) is not int or count < 0 for count in counts):
        raise ValueError("epochs and steps must be counts")
    for fit in fleet.fits:
        losses = np.array([fit.train_loss, fit.validation_loss], dtype=np.float64)
        if losses.shape != (2, len(fit.train_loss)) or type(fit.best_loss) is not float:
            raise ValueError("every epoch must have its losses")


def _fingerprint(fleet: Fleet) -> bytes:
    """Return a hash of format, data, jobs, settings and starting parameters of a new fleet."""
    tensors = [fleet.parameters.flat, fleet.data.x]
    tensors += [getattr(fleet.data.observed, field.name) for field in fields(Observations)]
    settings = [_FORMAT, asdict(fleet.config), fleet.architecture.description()]
    for job in fleet.jobs:
        values = dict(vars(job))
        tensors += [values.pop(name) for name in ("train_rows", "validation_rows", "warm_start")]
        settings.append(values)
    if isinstance(fleet, ModuleFleet):
        tensors += fleet.best_buffers.values()
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for tensor in tensors:
        if tensor is not None:
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            digest.update(np.ascontiguousarray(tensor.detach().cpu().numpy()).data)
        digest.update(b";")
    return digest.digest()
