"""Checkpoints: the whole state of a fleet in one file, from which an interrupted run continues exactly.

The file is safetensors with a JSON header and a checksum, written atomically.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..checks import warn_user
from ..errors import ModelFileError
from ..files import read_arrays, write_arrays
from .callbacks import Callback, TrainingState
from .fleet import Fit, Fleet
from .module_fleet import ModuleFleet

__all__ = ["Checkpoint"]

_FORMAT = "5"
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Checkpoint(Callback):
    """The file that holds the state of one fleet; it belongs to one set of data and settings, by their fingerprint."""

    def __init__(
        self, path: str | os.PathLike[str], fleet: Fleet, every: int = 1, writes: bool = True
    ) -> None:
        self.path = Path(path)
        self.every, self.writes = every, writes
        self.fingerprint = _fingerprint(fleet)
        self._warned = False

    def on_epoch_end(self, state: TrainingState) -> None:
        """Write the state every so many epochs, and when all models have stopped."""
        if state.epoch % self.every == 0 or state.n_running == 0:
            self.save(state.fleet)

    def save(self, fleet: Fleet) -> None:
        """Write the state atomically: an interruption leaves the previous file intact.

        Where it cannot be written (a disk that is full or read-only) there is one warning, and training goes on.
        """
        if not self.writes:
            return
        state = {
            "epoch": fleet.epoch,
            "steps": fleet.optimizer.steps,
            "running": fleet.running,
            "fits": [asdict(fit) | {"parameters": None} for fit in fleet.fits],
            "randoms": [
                [r.shuffle.bit_generator.state, r.dropout.bit_generator.state]
                for r in fleet.randoms
            ],
        }
        content = {"checkpoint": _FORMAT, "fingerprint": self.fingerprint, "state": state}
        arrays = {name: _to_array(tensor) for name, tensor in _tensors(fleet).items()}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(self.path, content, arrays, flush=False)
        except (OSError, ModelFileError) as error:
            if not self._warned:
                warn_user(f"no checkpoint is written, the fit goes on without: {error}")
            self._warned = True

    def restore(self, fleet: Fleet) -> bool:
        """Restore the state of the fleet from the file, if there is one; a file of another fit is refused."""
        try:
            content, arrays = read_arrays(self.path)
        except FileNotFoundError:
            return False
        except ModelFileError as error:
            raise ModelFileError(
                f"this checkpoint cannot be read: {error} Remove it to start the fit again."
            ) from None
        if [content.get(name) for name in ("checkpoint", "fingerprint")] != [
            _FORMAT,
            self.fingerprint,
        ]:
            raise ModelFileError(
                f"the checkpoint {self.path} belongs to another fit (other data, settings, seed or version); "
                "remove it, or give another folder."
            )
        try:
            _put_back(fleet, content["state"], arrays)
        except _MALFORMED as error:
            raise ModelFileError(
                f"the checkpoint {self.path} does not fit this model: {error!r}. Remove it."
            ) from None
        return True

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        if not self.writes:
            return
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def _to_array(tensor: Tensor) -> Any:
    """Return the numbers of a tensor; of a type that NumPy does not have, its bytes."""
    tensor = tensor.detach().cpu().contiguous()
    try:
        return tensor.numpy()
    except TypeError:
        return tensor.reshape(-1).view(torch.uint8).numpy()


def _to_tensor(
    array: Any, like: Tensor | None = None, shape: tuple[int, ...] | None = None
) -> Tensor:
    """Return a copy of the numbers, of the type and device of a tensor and of a shape, by default that tensor's."""
    tensor = torch.from_numpy(np.array(array, order="C"))
    if like is None:
        return tensor
    if tensor.dtype != like.dtype:
        tensor = tensor.view(like.dtype).reshape(like.shape)
    expected = tuple(like.shape) if shape is None else shape
    if tuple(tensor.shape) != expected:
        raise ValueError(f"an array of shape {tuple(tensor.shape)}, not {expected}")
    return tensor.to(like.device)


def _tensors(fleet: Fleet) -> dict[str, Tensor]:
    tensors = {"values": fleet.values, "best": fleet.best}
    tensors |= {f"moment.{name}": moment for name, moment in fleet.optimizer.state().items()}
    tensors |= {
        f"done.{i}": fit.parameters
        for i, fit in enumerate(fleet.fits)
        if fit.parameters is not None
    }
    if isinstance(fleet, ModuleFleet):
        tensors |= {f"random.{i}": state for i, state in enumerate(fleet.random_states)}
        tensors |= {f"buffer.{name}": buffer for name, buffer in fleet.buffers().items()}
        tensors |= {f"best_buffer.{name}": buffer for name, buffer in fleet.best_buffers.items()}
    return tensors


def _put_back(fleet: Fleet, state: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    running, size = list(state["running"]), fleet.architecture.layout.size
    if not set(running) <= set(range(len(fleet.jobs))) or len(state["fits"]) != len(fleet.jobs):
        raise ValueError(f"models {running}, of {len(fleet.jobs)}")
    if not all(
        type(state[name]) is int and 0 <= state[name] < 2**53 for name in ("epoch", "steps")
    ):
        raise ValueError("an epoch that never was")
    like = fleet.values
    fleet.epoch, fleet.running, fleet.optimizer.steps = state["epoch"], running, state["steps"]
    fleet.values = _to_tensor(arrays["values"], like, (len(running) * size,))
    fleet.best = _to_tensor(arrays["best"], like, (len(running), size))
    moments = {
        name.removeprefix("moment."): array
        for name, array in arrays.items()
        if name.startswith("moment.")
    }
    if fleet.optimizer.n_moments:
        kept = {
            name: _to_tensor(array, like, tuple(fleet.values.shape))
            for name, array in moments.items()
        }
    else:  # of a class of torch.optim: whatever it keeps
        kept = {name: _to_tensor(array).to(like.device) for name, array in moments.items()}
    fleet.optimizer.restore(kept)
    fleet.fits = [_fit_of(fit) for fit in state["fits"]]
    for number, fit in enumerate(fleet.fits):
        done = arrays.get(f"done.{number}")
        fit.parameters = None if done is None else _to_tensor(done, like, (size,))
        if (done is None) != (number in running):
            raise ValueError(f"model {number} is neither done nor running")
    for random, (shuffle, dropout) in zip(fleet.randoms, state["randoms"], strict=True):
        random.shuffle.bit_generator.state, random.dropout.bit_generator.state = shuffle, dropout
    if isinstance(fleet, ModuleFleet):
        fleet.random_states = [
            _to_tensor(arrays[f"random.{i}"], own) for i, own in enumerate(fleet.random_states)
        ]
        buffers = fleet.best_buffers
        fleet.put_buffers(
            {name: _to_tensor(arrays[f"buffer.{name}"], own) for name, own in buffers.items()}
        )
        fleet.best_buffers = {
            name: _to_tensor(arrays[f"best_buffer.{name}"], own) for name, own in buffers.items()
        }
    if fleet.running:
        fleet.gather_settings()


def _fit_of(saved: Mapping[str, Any]) -> Fit:
    """Return the record of one model; ``ValueError`` where it is none."""
    fit = Fit(**saved)
    numbers = [fit.best_loss, *fit.train_loss, *fit.validation_loss]
    if type(fit.best_epoch) is not int or any(
        type(number) not in (int, float) for number in numbers
    ):
        raise ValueError("losses that are no numbers")
    if not len(fit.train_loss) == len(fit.validation_loss) >= fit.best_epoch >= 0:
        raise ValueError(f"{len(fit.train_loss)} and {len(fit.validation_loss)} losses")
    return fit


def _fingerprint(fleet: Fleet) -> str:
    """Return a hash of the data, the jobs, the settings and where a new fleet starts."""
    digest = hashlib.sha256()
    config = [asdict(fleet.config), fleet.architecture.description()]
    jobs = [
        [value for value in astuple(job) if not isinstance(value, torch.Tensor)]
        for job in fleet.jobs
    ]
    digest.update(json.dumps([config, jobs], sort_keys=True, default=str).encode())
    observed = fleet.data.observed
    arrays = [fleet.values, *(job.warm_start for job in fleet.jobs)]
    arrays += [fleet.data.x, *(getattr(observed, field.name) for field in fields(observed))]
    arrays += [rows for job in fleet.jobs for rows in (job.train_rows, job.validation_rows)]
    if isinstance(fleet, ModuleFleet):
        arrays += list(fleet.best_buffers.values())
    for array in arrays:
        if array is not None:
            digest.update(f"{array.dtype}{tuple(array.shape)}".encode())
            digest.update(np.ascontiguousarray(array.detach().cpu().numpy()).data)
        digest.update(b";")
    return digest.hexdigest()
