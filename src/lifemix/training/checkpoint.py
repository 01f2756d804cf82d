"""Checkpoints: the state of a fleet in one file, from which an interrupted fit resumes exactly."""

from __future__ import annotations

import contextlib
import hmac
import io
import os
from pathlib import Path
from typing import Any

import joblib
import torch
from torch import Tensor

from ..checks import warn_user
from ..errors import InputError, ModelFileError
from ..files import atomic_write
from .config import Callback, TrainingState
from .fleet import Fleet

__all__ = ["Checkpoint"]

_FORMAT = 8
_SIGNATURE_BYTES = 32


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
        buffer = io.BytesIO()
        torch.save(fleet.state(), buffer)
        content = buffer.getvalue()
        try:
            with atomic_write(self.path, flush=False, make_folder=True) as partial:
                partial.write_bytes(self._signature(content) + content)
        except InputError as error:
            if not self._has_warned:
                warn_user(f"no checkpoint is written, the fit goes on without: {error}")
            self._has_warned = True

    def restore(self, fleet: Fleet) -> bool:
        """Restore the state if there is a file; raise ModelFileError if it is of another fit."""
        if not self.path.exists():
            return False
        saved = self.path.read_bytes()
        signature, content = saved[:_SIGNATURE_BYTES], saved[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(content)):
            raise ModelFileError(
                f"the checkpoint {self.path} is damaged or belongs to another fit (other data, "
                "settings, seed or version): remove it, or give another folder."
            )
        device = fleet.data.x.device
        fleet.restore(torch.load(io.BytesIO(content), map_location=device, weights_only=True))
        return True

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        if self.writes:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _signature(self, content: bytes) -> bytes:
        return hmac.digest(self.key, content, "sha256")


def _fingerprint(fleet: Fleet) -> bytes:
    """Return a hash of format, data, jobs, settings and starting parameters of a new fleet."""
    content: list[Any] = [_FORMAT, fleet.config, fleet.architecture.description()]
    inputs = {"x": fleet.data.x, "start": fleet.parameters.flat}
    module = fleet.architecture.module_state()
    jobs = [vars(job) for job in fleet.jobs]
    for group in (inputs, module, vars(fleet.data.observed), *jobs):
        content.append({name: _as_array(value) for name, value in group.items()})
    return str(joblib.hash(content)).encode()


def _as_array(value: Any) -> Any:
    return value.numpy(force=True) if isinstance(value, Tensor) else value
